public import PushCore
import Redis

/// Computes the partition of a user or token. Producers in other languages compute the same number.
public enum Partition {
  /// Returns the partition of a user: CRC16 of the id's UTF-8, modulo `count`.
  public static func of(user: String, count: Int) -> Int {
    Int(CRC16.of(user)) % count
  }

  /// Returns the partition of a user whose id is given as bytes.
  public static func of(user bytes: [UInt8], count: Int) -> Int {
    Int(CRC16.of(bytes)) % count
  }

  /// Returns the partition of a token: CRC16 of the token's canonical text, modulo `count`. This partition has the
  /// token's entry in the owner index, and the target of a raw token.
  ///
  /// The hash uses the text, not the bytes, because other languages store the text and `redis-cli` shows it.
  public static func of(token bytes: [UInt8], of service: any PushService, count: Int) -> Int {
    bytes.withUnsafeBytes { token in
      withUnsafeTemporaryAllocation(byteCount: 2 * token.count, alignment: 1) { buffer in
        let length = service.writeText(of: token, to: buffer)
        return Int(CRC16.of(UnsafeRawBufferPointer(rebasing: buffer[..<length]))) % count
      }
    }
  }
}
