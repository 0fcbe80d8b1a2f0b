/// Campaigns that this worker declines. The cause may be the settings of this worker or of the campaign, so other
/// workers may be able to send the campaigns. Pure.
struct Declines {
  struct Decline: Equatable {
    /// Number of resumes of the campaign before the decline. After a later resume, this worker tries the campaign
    /// again.
    var round: Int
    /// For operators.
    var reason: String
    /// Advice for the operator, after the reason, if all workers decline the campaign.
    var hint: String
    /// `EventLoop.now` at which this worker declined it.
    var since: UInt64
  }

  private(set) var declined: [String: Decline] = [:]

  /// The campaigns from which this worker must not take a slice.
  var campaigns: Set<String> { Set(declined.keys) }

  /// - Returns: `false` if the campaign is already declined in this round.
  mutating func add(_ id: String, round: Int, reason: String, hint: String, at now: UInt64) -> Bool {
    guard declined[id].map({ $0.round < round }) ?? true else { return false }
    declined[id] = Decline(round: round, reason: reason, hint: hint, since: now)
    return true
  }

  func applies(to id: String, round: Int) -> Bool { declined[id].map { $0.round >= round } ?? false }

  /// - Returns: Whether the campaign was declined.
  mutating func drop(_ id: String) -> Bool { declined.removeValue(forKey: id) != nil }
}
