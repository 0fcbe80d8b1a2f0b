import CampaignStore

/// The users who have departed since a slice was expanded: their targets are checked before they are sent.
struct DepartedUsers {
  /// The number of departures that the users below account for; `nil` for the number from before the expansion.
  private(set) var number: Int?
  private var fingerprints: Set<UInt32> = []
  /// Whether anybody may have departed: more than the store remembers, or than are kept here.
  private var isAnybody = false

  /// The most fingerprints that are kept: some 100 kB. With more, every target of the slice is checked.
  static let most = 8_192

  /// Whether nobody has departed.
  var isEmpty: Bool { fingerprints.isEmpty && !isAnybody }

  /// Takes account of what a commit has told.
  mutating func note(_ news: DepartureNews?) {
    guard let news else { return }
    number = news.number
    if let users = news.users, fingerprints.count + users.count <= Self.most {
      fingerprints.formUnion(users)
    } else {
      isAnybody = true
    }
  }

  /// Forgets the number, which Redis may have lost: the next commit tells everything since the expansion again.
  mutating func forgetNumber() { number = nil }

  /// Returns whether a user may have departed; nobody owns a raw token of a job.
  func mayInclude(_ user: some Collection<UInt8>) -> Bool {
    !user.isEmpty && (isAnybody || fingerprints.contains(UserFingerprint.of(user)))
  }
}
