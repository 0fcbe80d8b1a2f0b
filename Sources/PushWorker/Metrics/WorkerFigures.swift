import PushCore

/// The counters of a worker, for its log, its metrics and its report. Confined to the worker's loop.
final class WorkerFigures {
  /// The totals so far.
  var totals = WorkerTotals()
  /// The counters of pushes, by app, push service and lane.
  private(set) var tallies: [PushTally] = []

  /// Returns the counters of an app's pushes to a push service in a lane.
  func tally(of campaign: Campaign, _ service: any PushService) -> PushTally {
    let (app, lane) = (campaign.app, campaign.delivery.lane)
    if let known = tallies.first(where: { $0.app == app && $0.lane == lane && $0.service.name == service.name }) {
      return known
    }
    let tally = PushTally(app: app, lane: lane, service: service)
    tallies.append(tally)
    return tally
  }
}
