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

  /// The partition of a token without a user, and of a token's owner: CRC16 of its lower-case hex, modulo `count`.
  ///
  /// Of the hex, not of the raw bytes: the hex is what other languages hold and what `redis-cli` shows.
  public static func of(token: DeviceToken, count: Int) -> Int {
    Int(CRC16.of(token.hexBytes)) % count
  }
}
