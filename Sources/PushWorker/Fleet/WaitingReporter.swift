import CampaignStore
import EventLoop
import PushCore

/// Publishes why campaigns can't be sent, and since when.
final class WaitingReporter: WorkerPart {
  let environment: WorkerEnvironment
  private let campaigns: CampaignTable
  private let declined: DeclinedCampaigns
  private let rates: RateService
  private let preconditions: ExpansionPreconditions
  private var reports = WaitingReports()

  init(
    _ environment: WorkerEnvironment, campaigns: CampaignTable, declined: DeclinedCampaigns,
    rates: RateService, preconditions: ExpansionPreconditions
  ) {
    self.environment = environment
    self.campaigns = campaigns
    self.declined = declined
    self.rates = rates
    self.preconditions = preconditions
  }

  /// Whether no campaign is reported.
  var isIdle: Bool { reports.isIdle }

  /// Publishes the reasons of campaigns that wait, and withdraws the reasons of campaigns that continue.
  func report() async throws {
    try await preconditions.checkObstacles()
    let (clock, now) = (self.now, EventLoop.now)
    var stuck = declined.declines.declined.map { (id: $0, reason: $1.reason, since: $1.since) }
    for context in campaigns.contexts.values where declined.declines.declined[context.campaign.id] == nil {
      if let obstacle = obstacle(of: context, now) {
        stuck.append((id: context.campaign.id, reason: obstacle.reason, since: obstacle.since))
      }
    }
    for change in reports.update(stuck) {
      switch change {
      case .waits(let id, let reason, let since):
        // Another worker may have ended the campaign.
        guard let status = try await sharedStore.campaigns.status(of: id), !status.state.isFinal else {
          campaigns.drop(id)
          continue
        }
        let milliseconds = Int(clock) - Int((now - min(since, now)) / 1_000_000)
        try await sharedStore.campaigns.reportWaiting(
          id, worker: environment.configuration.name, reason: reason, since: milliseconds)
      case .continues(let id): try await sharedStore.campaigns.clearWaiting(id, worker: environment.configuration.name)
      }
    }
  }

  /// Returns why this worker can't send a campaign; `nil` if it can.
  private func obstacle(of context: CampaignContext, _ now: UInt64) -> (reason: String, since: UInt64)? {
    if let obstacle = context.facts.route.obstacle { return obstacle }
    if let obstacle = context.progress.expansion.obstacle { return (obstacle.reason, obstacle.since) }
    return rates.obstacle(of: context, now)
  }
}
