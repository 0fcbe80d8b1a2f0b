/// Which campaigns this worker has said of that they can't be sent, so that it takes it back. Pure.
struct WaitingReports {
  /// Something to tell the store.
  enum Change: Equatable {
    /// The campaign waits, still or from now on.
    case waits(id: String, reason: String, since: UInt64)
    case goesOn(id: String)
  }

  private var told: Set<String> = []

  /// Whether there is nothing to take back.
  var isIdle: Bool { told.isEmpty }

  /// - Parameter stuck: the campaigns that can't be sent now, why, and since when by `EventLoop.now`.
  mutating func update(_ stuck: [(id: String, reason: String, since: UInt64)]) -> [Change] {
    let now = Set(stuck.map(\.id))
    defer { told = now }
    return stuck.map { .waits(id: $0.id, reason: $0.reason, since: $0.since) }
      + told.subtracting(now).sorted().map { .goesOn(id: $0) }
  }
}
