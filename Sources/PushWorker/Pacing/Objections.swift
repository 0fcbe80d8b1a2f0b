/// Campaigns that this worker can't send, by its own fault or theirs: they are left to the others. Pure.
struct Objections {
  struct Objection: Equatable {
    /// How often the campaign had been resumed: whoever resumes it wants it tried again.
    var round: Int
    /// For people.
    var reason: String
    /// What is to be done when all workers say so, after the reason.
    var remedy: String
    /// `EventLoop.now` when it was raised.
    var since: UInt64
  }

  private(set) var raised: [String: Objection] = [:]

  /// The campaigns that nothing is to be taken of.
  var campaigns: Set<String> { Set(raised.keys) }

  /// - Returns: false when that is known.
  mutating func raise(_ id: String, round: Int, reason: String, remedy: String, at now: UInt64) -> Bool {
    guard raised[id].map({ $0.round < round }) ?? true else { return false }
    raised[id] = Objection(round: round, reason: reason, remedy: remedy, since: now)
    return true
  }

  func applies(to id: String, round: Int) -> Bool { raised[id].map { $0.round >= round } ?? false }

  /// - Returns: whether there was one.
  mutating func drop(_ id: String) -> Bool { raised.removeValue(forKey: id) != nil }
}
