import CampaignStore
import PushCore

/// Makes the contexts of campaigns (``CampaignContext``).
struct CampaignContextFactory: WorkerPart {
  let environment: WorkerEnvironment
  let routes: PushRouteTable
  let credit: CreditLedger
  let figures: WorkerFigures
  let rates: RateService

  /// Returns a new context for a campaign.
  ///
  /// - Parameter legs: the campaigns of all legs that are expanded together, in their order; empty for one leg.
  /// - Throws: an error if this worker can't send the campaign with its settings.
  func context(
    of campaign: Campaign, legs: [Campaign], _ record: CampaignRecord, _ job: [UInt8], _ app: AppChannel
  ) throws(JobError) -> CampaignContext {
    try checkZones(of: campaign)
    let channel = try app.requiredChannel(of: campaign)
    let route = routes.route(for: campaign.channel == nil ? channel : channel.broadcasting, environment.configuration)
    credit.setShared(routes.areSeveral)
    return try CampaignContext(
      campaign: campaign, legs: legs, record: record, job: job, app: app, channel: channel, zones: store.zones,
      route: route,
      policy: environment.configuration.guard.within(window: environment.configuration.window),
      limits: rates.limits(of: campaign, app, channel),
      tally: figures.tally(of: campaign, channel.service))
  }

  /// Throws an error if this machine does not know the campaign's default time zone. No other zone may replace the
  /// default zone.
  private func checkZones(of campaign: Campaign) throws(JobError) {
    guard campaign.delivery.timing.isPerDevice else { return }
    guard store.zones.isThere else {
      throw JobError(
        field: "",
        message:
          "\(store.zones.folder) has no time zone data: install the package tzdata, or set worker.zoneinfo")
    }
    let zone = campaign.delivery.timing.defaultZone
    guard store.zones.rules(zone) == nil else { return }
    throw JobError(
      field: "defaultTimezone",
      message: "this machine has no time zone \(Excerpt.quoted(zone)) in \(store.zones.folder)",
      hint: "install the packages tzdata and tzdata-legacy, or set worker.zoneinfo")
  }
}
