import CampaignStore
import PushCore
import TLS

/// A 32-byte digest of a campaign's targets. It does not depend on the order of targets or on the number of slices and
/// workers.
///
/// The digest is the sum modulo 2²⁵⁶ of the SHA-256 of each target's user, a zero byte and the token.
struct AudienceDigest {
  private(set) var targets = 0
  private(set) var users = 0
  /// The words of the sum, the most significant word first.
  private var sum: [UInt64] = [0, 0, 0, 0]
  private var lastUser = ""
  private let digest = Digest(.sha256)

  mutating func add(_ target: TargetResult) {
    targets += 1
    // The targets of a user follow each other, so a comparison with the last user is enough to count users.
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

  /// The digest in hex.
  var text: String {
    let bytes = sum.flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> UInt64(56 - 8 * $0)) } }
    return String(decoding: Hex.encode(bytes), as: UTF8.self)
  }
}

/// Number of finished targets per time interval.
struct OutcomeRate {
  /// Length of an interval, in seconds.
  private(set) var seconds = 60
  private var counts: [Int: Int] = [:]

  /// Maximum number of intervals. If there are more, the length of the intervals doubles.
  private static let most = 1000

  mutating func add(_ milliseconds: UInt64) {
    counts[Int(milliseconds) / 1000 / seconds, default: 0] += 1
    guard counts.count > Self.most else { return }
    seconds *= 2
    counts = Dictionary(counts.map { ($0.key / 2, $0.value) }, uniquingKeysWith: +)
  }

  /// The start of each interval in ms since 1970, and the number of its targets.
  var stretches: [(at: Int, count: Int)] {
    counts.sorted { $0.key < $1.key }.map { ($0.key * seconds * 1000, $0.value) }
  }
}
