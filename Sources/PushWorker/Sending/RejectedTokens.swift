import PushCore

/// Which device tokens the push service has rejected lately, as far as this worker has seen. Pure, bounded.
///
/// A table of fingerprints: what a new rejection displaces is forgotten, and so is all of it when the worker ends. Two
/// tokens with one fingerprint (64 bits) do no harm: the other one only goes over the connection for unproven pushes.
struct RejectedTokens: Sendable {
  /// Half a megabyte of fingerprints: more rejections than any campaign has before its guard pauses it, and than most
  /// lists of tokens have dead ones between two campaigns.
  static let standardCapacity = 1 << 16

  private let capacity: Int
  /// Empty until the first rejection; 0 is no fingerprint.
  private var fingerprints: [UInt64] = []

  /// - Parameter capacity: a power of two.
  init(capacity: Int = RejectedTokens.standardCapacity) {
    self.capacity = capacity
  }

  /// Takes note of a rejection.
  mutating func insert(_ token: ArraySlice<UInt8>) {
    if fingerprints.isEmpty { fingerprints = Array(repeating: 0, count: capacity) }
    let fingerprint = Self.fingerprint(token)
    fingerprints[Int(truncatingIfNeeded: fingerprint) & (capacity - 1)] = fingerprint
  }

  /// Whether a token was rejected lately.
  func contains(_ token: ArraySlice<UInt8>) -> Bool {
    if fingerprints.isEmpty { return false }
    let fingerprint = Self.fingerprint(token)
    return fingerprints[Int(truncatingIfNeeded: fingerprint) & (capacity - 1)] == fingerprint
  }

  /// FNV-1a (Fowler, Noll, Vo), its upper half folded in: tokens come from jobs too, and need not be random.
  private static func fingerprint(_ token: ArraySlice<UInt8>) -> UInt64 {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in token { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
    return max(1, hash ^ hash >> 32)
  }
}
