import PushCore

/// The counters of a worker, for its log, its metrics and its report. Confined to the worker's loop.
final class WorkerFigures {
  /// The totals so far.
  var totals = WorkerTotals()
  /// The counters of pushes, by app and lane.
  private(set) var tallies: [PushTally] = []

  /// Returns the counters of an app's pushes in a lane.
  func tally(of campaign: Campaign, _ service: any PushService) -> PushTally {
    if let known = tallies.first(where: { $0.app == campaign.app && $0.lane == campaign.delivery.lane }) {
      return known
    }
    let tally = PushTally(app: campaign.app, lane: campaign.delivery.lane, service: service)
    tallies.append(tally)
    return tally
  }
}
