/// The campaigns that this worker declines because every push of them would fail here, with the reasons. The cause may
/// be the settings of this worker or of the campaign, so other workers may be able to send the campaigns. Pure.
struct Declines {
  struct Decline: Equatable {
    /// The campaign's round (its number of resumes) at the decline. In a later round, this worker tries the campaign
    /// again.
    var round: Int
    /// The reason, as text for operators.
    var reason: String
    /// Advice for the operator. It follows the reason if all workers decline the campaign, so that the campaign is
    /// paused.
    var hint: String
    /// `EventLoop.now` at which this worker declined it.
    var since: UInt64
  }

  private(set) var declined: [String: Decline] = [:]

  /// The campaigns from which this worker must not take a slice.
  var campaigns: Set<String> { Set(declined.keys) }

  /// Adds a campaign.
  ///
  /// - Returns: `false` if this worker has already declined the campaign in this round.
  mutating func add(_ id: String, round: Int, reason: String, hint: String, at now: UInt64) -> Bool {
    guard declined[id].map({ $0.round < round }) ?? true else { return false }
    declined[id] = Decline(round: round, reason: reason, hint: hint, since: now)
    return true
  }

  func applies(to id: String, round: Int) -> Bool { declined[id].map { $0.round >= round } ?? false }

  /// Removes a campaign.
  ///
  /// - Returns: whether this worker had declined the campaign.
  mutating func drop(_ id: String) -> Bool { declined.removeValue(forKey: id) != nil }
}
