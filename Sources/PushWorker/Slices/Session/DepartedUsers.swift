import CampaignStore

/// Users who departed after a slice was expanded: they lost a device or opted out. The worker checks the targets of
/// these users before it sends them.
struct DepartedUsers {
  /// Number of departures that the fingerprints below cover; `nil` for the number from before the expansion.
  private(set) var number: Int?
  private var fingerprints: Set<UInt32> = []
  /// Whether every user counts as departed, because there were more departures than the store or this type can list.
  private var isAnybody = false

  /// Maximum number of fingerprints, about 100 kB. If there are more, every target of the slice is checked.
  static let most = 8_192

  /// Whether no user has departed.
  var isEmpty: Bool { fingerprints.isEmpty && !isAnybody }

  /// Adds the departures that a commit returned.
  mutating func note(_ news: DepartureNews?) {
    guard let news else { return }
    number = news.number
    if let users = news.users, fingerprints.count + users.count <= Self.most {
      fingerprints.formUnion(users)
    } else {
      isAnybody = true
    }
  }

  /// Resets the number, because Redis may have lost it. The next commit then returns all departures since the
  /// expansion.
  mutating func forgetNumber() { number = nil }

  /// Returns whether a user may have departed. A raw token of a job has no user.
  func mayInclude(_ user: some Collection<UInt8>) -> Bool {
    !user.isEmpty && (isAnybody || fingerprints.contains(UserFingerprint.of(user)))
  }
}
