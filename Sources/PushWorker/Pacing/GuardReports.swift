import PushCore

/// The answers to a campaign with an open guard that this worker has not reported to the fleet yet. Until the worker
/// has reported them, it may change only a limited number of devices. If a setting becomes wrong in the middle of a
/// campaign, the damage therefore does not grow with the fleet.
///
/// If the fleet has only one worker, this worker reports nothing.
struct GuardReports {
  /// The latest answers since the last report. Old answers are removed in a way that keeps the proportion of bad
  /// answers.
  private var unreported = GuardCounts()
  /// All bad answers since the last report.
  private var bad = GuardCounts()
  /// The values of ``unreported`` and ``bad`` in the report in flight.
  private var reported = (news: GuardCounts(), bad: GuardCounts())
  private(set) var isReporting = false
  private var reportedAt: UInt64 = 0
  /// The number of the next report, from 1. Answers that arrive now are part of that report.
  private(set) var report = 1

  /// Minimum time between two reports, in ns.
  private static let pace: UInt64 = 20_000_000

  /// Counts an answer. A report covers only the latest answers, at most `guard.minimum` of them, because older answers
  /// would hide a change. Counts of bad and good answers are halved together. Otherwise a worker with many answers
  /// between two reports would report too large a share of bad answers.
  ///
  /// - Parameter fleet: Number of live workers.
  mutating func count(_ outcome: Outcome, _ policy: GuardPolicy, fleet: Int) {
    guard fleet > 1 else { return }
    if unreported.answers >= policy.minimum { unreported.halve() }
    unreported.count(outcome)
    if outcome != .accepted { bad.count(outcome) }
  }

  /// Returns whether this worker may now prune or quarantine a device. The result depends on the changes that this
  /// worker has not reported. The limit keeps the unreported changes of all workers together at or below the number
  /// that trips one guard.
  func mayChangeDevice(_ policy: GuardPolicy, fleet: Int) -> Bool {
    guard fleet > 1 else { return true }
    let minimum = Double(policy.minimum)
    let unreported = bad + reported.bad
    return unreported.suspects <= max(1, Int(policy.threshold * minimum) / fleet)
      && unreported.gone <= max(1, Int(policy.pruneShare * minimum) / fleet)
  }

  /// Returns the counts to report now; `nil` for none. Accepted pushes alone are not reported.
  mutating func next(_ now: UInt64) -> GuardCounts? {
    guard !isReporting, bad.answers > 0, now - reportedAt >= Self.pace else { return nil }
    isReporting = true
    reportedAt = now
    reported = (unreported, bad)
    (unreported, bad) = (GuardCounts(), GuardCounts())
    report += 1
    return reported.news
  }

  /// Whether a report is in flight or due. Deferred answers wait for this report.
  var isDue: Bool { isReporting || bad.answers > 0 }

  /// The number of the latest report that has arrived.
  var arrivedReport: Int { isReporting ? report - 2 : report - 1 }

  /// Records that the report has arrived.
  ///
  /// - Returns: The number of the latest report that has arrived.
  mutating func recordArrival() -> Int {
    isReporting = false
    reported = (GuardCounts(), GuardCounts())
    return arrivedReport
  }

  /// Records that the report has failed, or that its result is unknown. Its counts are added to the next report. If
  /// they are counted twice, the guard trips slightly early.
  mutating func failed() {
    isReporting = false
    (unreported, bad) = (unreported + reported.news, bad + reported.bad)
    reported = (GuardCounts(), GuardCounts())
    report -= 1
  }
}
