/// When provider tokens are issued: every half hour, at the same instant in every worker of a fleet.
///
/// The claims follow from the time and the key alone, so workers need not talk to each other and restarts can't cause
/// `TooManyProviderTokenUpdates`. APNs takes a token for an hour and allows a change every 20 minutes (Apple,
/// "Establishing a token-based connection to APNs"); on this grid its age is 5 to 35 minutes. Keys are offset against
/// each other by their id, so that they don't all change at once, nor at the full hour when news is sent.
enum ProviderTokenGrid {
  /// Seconds between two tokens.
  static let period: Int64 = 1800
  /// Seconds that a token is older than it need be: how far a clock may be ahead of Apple's.
  static let lag: Int64 = 300

  /// `iat` of the token to use at `now`, both in UNIX seconds.
  static func issuedAt(now: Int64, keyID: String) -> Int64 {
    let offset = offset(of: keyID)
    let passed = now - lag - offset
    return passed - remainder(passed) + offset
  }

  /// When the token to use at `now` gives way to the next.
  static func nextChange(after now: Int64, keyID: String) -> Int64 {
    issuedAt(now: now, keyID: keyID) + period + lag
  }

  /// The key's own offset into the period, in seconds. FNV-1a: stable between processes, unlike Swift's `Hasher`.
  static func offset(of keyID: String) -> Int64 {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in keyID.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
    return Int64(hash % UInt64(period))
  }

  /// The remainder of division rounding down, so that instants before the epoch are on the grid too.
  private static func remainder(_ seconds: Int64) -> Int64 {
    let remainder = seconds % period
    return remainder < 0 ? remainder + period : remainder
  }
}
