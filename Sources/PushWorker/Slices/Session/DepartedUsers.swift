import CampaignStore

/// Users who departed after a slice was expanded: they lost a device or opted out. The worker checks the targets of
/// these users before it sends them.
struct DepartedUsers {
  /// The number of departures that Redis had counted at the last update of this value. The next commit
  /// (``SliceCommitter``) returns only later departures. With `nil`, the next commit returns all departures since the
  /// expansion began.
  private(set) var number: Int?
  private var fingerprints: Set<UInt32> = []
  /// Bits for a quick test: for each fingerprint, the bit at the index of its low bits is set. Empty without
  /// fingerprints. Nearly all users have not departed, and reading a bit costs a tenth of a search in the set of
  /// fingerprints.
  private var bits: [UInt64] = []
  /// Whether every user counts as departed. This is the case if there were more departures than the store or this type
  /// can list.
  private var isAnybody = false
  /// Number of changes so far: it grows whenever more users count as departed.
  private(set) var changes = 0

  /// Maximum number of fingerprints of departed users, about 100 kB. If there are more, every target of the slice is
  /// checked.
  static let most = 8_192
  /// Number of bits in ``bits``, a power of two. With 80 fingerprints, one in 100 users who have not departed passes
  /// this test.
  private static let bitCount: UInt32 = 8_192

  /// Whether no user has departed.
  var isEmpty: Bool { fingerprints.isEmpty && !isAnybody }

  /// Adds the departures that a commit returned.
  mutating func add(_ news: NewDepartures?) {
    guard let news else { return }
    number = news.number
    guard !isAnybody, news.users?.isEmpty != true else { return }
    changes += 1
    guard let users = news.users, fingerprints.count + users.count <= Self.most else {
      isAnybody = true
      return
    }
    fingerprints.formUnion(users)
    if bits.isEmpty { bits = Array(repeating: 0, count: Int(Self.bitCount / 64)) }
    for user in users { bits[Int(user % Self.bitCount / 64)] |= 1 << UInt64(user % 64) }
  }

  /// Resets the number, because Redis may have lost it. The next commit then returns all departures since the
  /// expansion.
  mutating func forgetNumber() { number = nil }

  /// Returns whether a user may have departed. A raw token of a job has no user.
  func mayInclude(_ user: some Collection<UInt8>) -> Bool {
    guard !user.isEmpty, !isAnybody else { return !user.isEmpty }
    guard !bits.isEmpty else { return false }
    let print = UserFingerprint.of(user)
    return bits[Int(print % Self.bitCount / 64)] >> UInt64(print % 64) & 1 == 1 && fingerprints.contains(print)
  }
}
