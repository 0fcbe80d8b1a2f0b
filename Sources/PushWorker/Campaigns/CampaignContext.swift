import CampaignStore
import PushCore
import PushTransport

/// What all slices of a campaign share on one worker. Confined to the worker's loop, as the composers in it.
final class CampaignContext {
  private(set) var campaign: Campaign
  let facts: CampaignFacts
  private(set) var schedule: CampaignSchedule
  private(set) var composers: CampaignComposers
  /// What is made of the campaign's answers, since it was started or resumed.
  var `guard`: CampaignGuard
  /// What may be sent while the guard has not decided.
  var trial = TrialLease()
  /// What the fleet has yet to hear of the campaign since the guard is open.
  var reports = GuardReports()
  var progress: CampaignProgress

  init(
    campaign: Campaign, record: CampaignRecord, job: [UInt8], app: AppChannel, zones: ZoneDatabase = .system,
    route: PushRoute, policy: GuardPolicy, limits: [RateLimit] = [], tally: PushTally? = nil
  ) {
    self.campaign = campaign
    facts = CampaignFacts(
      job: job, app: app, route: route,
      filter: DeviceFilter(
        campaign, service: app.service, environment: app.environment, start: record.start, control: app.control),
      rules: GrantRules(campaign, caps: app.caps),
      account: .init(pool: route.number, lane: Lane.allCases.firstIndex(of: campaign.delivery.lane) ?? 0),
      limits: limits,
      tally: tally ?? PushTally(app: campaign.app, lane: campaign.delivery.lane, service: app.service),
      createdAt: record.createdAt, round: record.round)
    schedule = CampaignSchedule(of: campaign, record, zones)
    composers = CampaignComposers(of: campaign, app.service, expiration: record.expiration)
    `guard` = CampaignGuard(policy, app: campaign.app, isOff: record.isUnguarded)
    progress = CampaignProgress(isNarrowed: record.isNarrowed)
  }

  /// Whether different users are told different things, and counted by that.
  var hasVariants: Bool { campaign.message.variants != nil }

  /// Notes that the campaign's partitions are fixed, and with them the definitions of its segments.
  func narrow(_ definitions: SegmentDefinitions) {
    campaign.recipients.definitions = definitions
    progress.isNarrowed = true
  }

  /// Notes the stages of the campaigns that its audience refers to.
  func refer(to campaign: Campaign) { self.campaign = campaign }

  /// Names its pushes in a pool, as long as it lives.
  var flow: Int { Int(bitPattern: ObjectIdentifier(self)) }

  /// Returns when the targets of a slice may be sent.
  func times(_ times: SendTimes) -> SliceTimes { schedule.times(times, of: campaign) }

  /// Returns those of some unknown time zones that this function has not had before.
  func noteUnknownZones(_ zones: [String]) -> [String] { schedule.noteUnknownZones(zones) }

  /// Returns what makes pushes that may be delivered until some time, in UNIX seconds.
  func composer(expiration: Int) -> any PushComposer {
    composers.composer(for: campaign, facts.app.service, expiration: expiration)
  }

  // MARK: Lent beside the window

  /// Notes credit that is asked for: guard trial and rates have lent so many pushes less.
  func spend(_ count: Int) {
    trial.spend(count)
    for limit in facts.limits where limit.isInForce { limit.lease.spend(count) }
  }

  /// Notes what became of that credit.
  func reconcile(spent count: Int, sent: Int) {
    trial.reconcile(spent: count, sent: sent)
    for limit in facts.limits where limit.isInForce { limit.lease.reconcile(spent: count, sent: sent) }
  }

  /// Gives the permits of pushes back that were certainly not sent: others may send as many.
  func unspend(_ count: Int) {
    for limit in facts.limits where limit.isInForce { limit.lease.giveBack(count) }
  }
}
