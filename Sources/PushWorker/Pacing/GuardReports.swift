import PushCore

/// What the fleet has yet to hear of a campaign whose guard is open, and how much a worker may do to devices before it
/// has: so what a fault in the middle of a campaign costs does not grow with the fleet. Pure.
///
/// A worker alone is the fleet, and asks nobody.
struct GuardReports {
  /// The latest answers since the last report, good and bad in their shares.
  private var news = GuardCounts()
  /// All that were bad since the last report.
  private var bad = GuardCounts()
  /// Both of the report that is under way.
  private var told = (news: GuardCounts(), bad: GuardCounts())
  private(set) var isReporting = false
  private var reportedAt: UInt64 = 0
  /// The number of the next report, from 1: an answer is told of by the next after it.
  private(set) var report = 1

  /// ns between two reports.
  private static let pace: UInt64 = 20_000_000

  /// Takes an answer into account. A report is of the latest answers, no more than the minimum: older ones would hide what
  /// is new. Bad ones make room like good ones, or a worker that gets many answers between two reports would tell of a
  /// larger share than there is.
  ///
  /// - Parameter fleet: live workers.
  mutating func count(_ outcome: Outcome, _ policy: GuardPolicy, fleet: Int) {
    guard fleet > 1 else { return }
    if news.answers >= policy.minimum { news.halve() }
    news.count(outcome)
    if outcome != .accepted { bad.count(outcome) }
  }

  /// Whether this worker may do to a device what an answer says, with what the fleet has not heard of so far: all that
  /// the workers do unheard comes to what would trip one guard.
  func mayAct(_ policy: GuardPolicy, fleet: Int) -> Bool {
    guard fleet > 1 else { return true }
    let minimum = Double(policy.minimum)
    let unheard = bad + told.bad
    return unheard.suspects <= max(1, Int(policy.threshold * minimum) / fleet)
      && unheard.gone <= max(1, Int(policy.pruneShare * minimum) / fleet)
  }

  /// What the fleet is to be told now, if anything. Only acceptances are no news.
  mutating func next(_ now: UInt64) -> GuardCounts? {
    guard !isReporting, bad.answers > 0, now - reportedAt >= Self.pace else { return nil }
    isReporting = true
    reportedAt = now
    told = (news, bad)
    (news, bad) = (GuardCounts(), GuardCounts())
    report += 1
    return told.news
  }

  /// Whether an answer that waits has a report to wait for.
  var isDue: Bool { isReporting || bad.answers > 0 }

  /// The number up to which answers have been told of.
  var heard: Int { isReporting ? report - 2 : report - 1 }

  /// The report has arrived.
  ///
  /// - Returns: the number up to which answers have been told of.
  mutating func arrived() -> Int {
    isReporting = false
    told = (GuardCounts(), GuardCounts())
    return heard
  }

  /// It has not, or nobody knows: it is made again. Counted twice, it trips a little early.
  mutating func failed() {
    isReporting = false
    (news, bad) = (news + told.news, bad + told.bad)
    told = (GuardCounts(), GuardCounts())
    report -= 1
  }
}
