import PushCore

/// Device tokens whose recent rejection this worker has seen. Pure and bounded.
///
/// The type is a table of fingerprints of tokens. A new rejection may replace an old one, and the table is lost when
/// the worker ends. Two tokens with the same fingerprint (64 bits) do no harm: the second one only uses the connection
/// for unproven pushes.
struct RejectedTokens: Sendable {
  /// Number of fingerprints; the table takes 512 kB. No campaign gets more rejections before its guard pauses it. Most
  /// token lists gain fewer dead tokens between two campaigns.
  static let standardCapacity = 1 << 16

  private let capacity: Int
  /// Empty before the first rejection. A fingerprint is never 0.
  private var fingerprints: [UInt64] = []

  /// - Parameter capacity: a power of two.
  init(capacity: Int = RejectedTokens.standardCapacity) {
    self.capacity = capacity
  }

  /// Records a rejection.
  mutating func insert(_ token: ArraySlice<UInt8>) {
    if fingerprints.isEmpty { fingerprints = Array(repeating: 0, count: capacity) }
    let fingerprint = Self.fingerprint(token)
    fingerprints[Int(truncatingIfNeeded: fingerprint) & (capacity - 1)] = fingerprint
  }

  /// Returns whether a token was rejected recently.
  func contains(_ token: ArraySlice<UInt8>) -> Bool {
    if fingerprints.isEmpty { return false }
    let fingerprint = Self.fingerprint(token)
    return fingerprints[Int(truncatingIfNeeded: fingerprint) & (capacity - 1)] == fingerprint
  }

  /// The hash is FNV-1a (Fowler, Noll, Vo) with the upper half folded in. A hash is necessary, because tokens from jobs
  /// need not be random.
  private static func fingerprint(_ token: ArraySlice<UInt8>) -> UInt64 {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in token { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
    return max(1, hash ^ hash >> 32)
  }
}
