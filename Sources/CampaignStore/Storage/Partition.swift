public import PushCore
import Redis

/// Which partition of the store something lives in. Producers in other languages compute the same.
public enum Partition {
  /// The partition of a user: CRC16 of the id's UTF-8, modulo `count`.
  public static func of(user: String, count: Int) -> Int {
    Int(CRC16.of(user)) % count
  }

  /// The partition of a user id given as bytes.
  public static func of(user bytes: [UInt8], count: Int) -> Int {
    Int(CRC16.of(bytes)) % count
  }

  /// The partition of a token without a user, and of a token's owner: CRC16 of its canonical text, modulo `count`.
  ///
  /// Of the text, not of the bytes: the text is what other languages hold and what `redis-cli` shows.
  public static func of(token bytes: [UInt8], of service: any PushService, count: Int) -> Int {
    bytes.withUnsafeBytes { token in
      withUnsafeTemporaryAllocation(byteCount: 2 * token.count, alignment: 1) { buffer in
        let length = service.writeText(of: token, to: buffer)
        return Int(CRC16.of(UnsafeRawBufferPointer(rebasing: buffer[..<length]))) % count
      }
    }
  }
}
