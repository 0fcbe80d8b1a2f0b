/// The times at which provider tokens are issued: every half hour, at the same instant on all workers of a fleet.
///
/// The claims of a token depend only on the time and the key. So all workers issue equal tokens without communication,
/// and restarts can't cause `TooManyProviderTokenUpdates`. APNs accepts a token for an hour and allows a change every
/// 20 minutes (Apple, "Establishing a token-based connection to APNs"). APNs sees tokens that are 5 to 35 minutes old.
/// Each key has an offset derived from its id, so that the tokens of different keys do not change at the same time. The
/// offset also makes it unlikely that a token changes at the full hour, a time at which many pushes are sent.
enum ProviderTokenGrid {
  /// Seconds between two tokens.
  static let period: Int64 = 1800
  /// Seconds by which `iat`, the time of issue in a token, is set back. A worker's clock may therefore be ahead of
  /// Apple's clock by up to this time.
  static let lag: Int64 = 300

  /// Returns the `iat` of the token for the time `now`, both in UNIX seconds.
  static func issuedAt(now: Int64, keyID: String) -> Int64 {
    let offset = offset(of: keyID)
    let passed = now - lag - offset
    return passed - remainder(passed) + offset
  }

  /// Returns the key's offset in the period, in seconds. The hash FNV-1a gives the same result in all processes, unlike
  /// Swift's `Hasher`.
  static func offset(of keyID: String) -> Int64 {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in keyID.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
    return Int64(hash % UInt64(period))
  }

  /// Returns the remainder of a division that rounds down, so that the result is also right for times before 1970.
  private static func remainder(_ seconds: Int64) -> Int64 {
    let remainder = seconds % period
    return remainder < 0 ? remainder + period : remainder
  }
}
