import CampaignStore
import PushCore
import TLS

/// Whom a campaign went to, in 32 bytes: the same whatever the order, and the number of slices and workers.
///
/// It is the sum, modulo 2²⁵⁶, of SHA-256 over each target's user, a zero byte, and token.
struct AudienceDigest {
  private(set) var targets = 0
  private(set) var users = 0
  /// The most significant first.
  private var sum: [UInt64] = [0, 0, 0, 0]
  private var lastUser = ""
  private let digest = Digest(.sha256)

  mutating func add(_ target: TargetResult) {
    targets += 1
    // Devices of a user stand one behind the other.
    if !target.user.isEmpty, target.user != lastUser {
      users += 1
      lastUser = target.user
    }
    let hash = digest.hash(Array(target.user.utf8) + [0] + (target.token?.bytes ?? []))
    var carry: UInt64 = 0
    for word in (0..<4).reversed() {
      let value = hash[(8 * word)..<(8 * word + 8)].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
      let (partial, first) = sum[word].addingReportingOverflow(value)
      let (total, second) = partial.addingReportingOverflow(carry)
      sum[word] = total
      carry = first || second ? 1 : 0
    }
  }

  /// In hex.
  var text: String {
    let bytes = sum.flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> UInt64(56 - 8 * $0)) } }
    return String(decoding: Hex.encode(bytes), as: UTF8.self)
  }
}

/// How many targets ended in each stretch of time.
struct OutcomeRate {
  /// Seconds of a stretch.
  private(set) var seconds = 60
  private var counts: [Int: Int] = [:]

  /// Stretches at most: then each becomes twice as long.
  private static let most = 1000

  mutating func add(_ milliseconds: UInt64) {
    counts[Int(milliseconds) / 1000 / seconds, default: 0] += 1
    guard counts.count > Self.most else { return }
    seconds *= 2
    counts = Dictionary(counts.map { ($0.key / 2, $0.value) }, uniquingKeysWith: +)
  }

  /// When each began, in ms since the epoch, and how many.
  var stretches: [(at: Int, count: Int)] {
    counts.sorted { $0.key < $1.key }.map { ($0.key * seconds * 1000, $0.value) }
  }
}
