import PushCore

/// What a worker has done, for its log, its metrics and its report. Confined to the worker's loop.
final class WorkerFigures {
  /// What has been done so far.
  var totals = WorkerTotals()
  /// What became of pushes, by app and lane.
  private(set) var tallies: [PushTally] = []

  /// Returns the tally of an app's pushes in a lane.
  func tally(of campaign: Campaign, _ service: any PushService) -> PushTally {
    if let known = tallies.first(where: { $0.app == campaign.app && $0.lane == campaign.delivery.lane }) {
      return known
    }
    let tally = PushTally(app: campaign.app, lane: campaign.delivery.lane, service: service)
    tallies.append(tally)
    return tally
  }
}
