/// The campaigns that this worker has reported to Redis as waiting, because they can't be sent now. The worker
/// withdraws a report when its campaign continues. Pure.
struct WaitingReports {
  /// A change of a report, to write to the store.
  enum Change: Equatable {
    /// The campaign waits, still or from now on.
    case waits(id: String, reason: String, since: UInt64)
    case continues(id: String)
  }

  private var reported: Set<String> = []

  /// Whether all reports are withdrawn.
  var isIdle: Bool { reported.isEmpty }

  /// Compares the reports with the campaigns that wait now, and returns the changes.
  ///
  /// - Parameter stuck: The campaigns that can't be sent now, each with the reason and the start of the wait
  ///   (`EventLoop.now`).
  mutating func update(_ stuck: [(id: String, reason: String, since: UInt64)]) -> [Change] {
    let now = Set(stuck.map(\.id))
    defer { reported = now }
    return stuck.map { .waits(id: $0.id, reason: $0.reason, since: $0.since) }
      + reported.subtracting(now).sorted().map { .continues(id: $0) }
  }
}
