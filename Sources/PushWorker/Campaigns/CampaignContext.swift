import CampaignStore
import PushCore
import PushTransport

/// The state that all slices of a campaign share on one worker. The context and its composers are confined to the
/// worker's loop.
final class CampaignContext {
  private(set) var campaign: Campaign
  let facts: CampaignFacts
  private(set) var schedule: CampaignSchedule
  private(set) var composers: CampaignComposers
  /// The guard, which evaluates the campaign's answers since the start or the latest resume.
  var `guard`: CampaignGuard
  /// The sends that this worker has leased from Redis for the guard trial.
  var trial = TrialLease()
  /// Answers that arrived after the guard had opened, and that this worker has not yet reported to the fleet.
  var reports = GuardReports()
  var progress: CampaignProgress

  init(
    campaign: Campaign, legs: [Campaign] = [], record: CampaignRecord, job: [UInt8], app: AppChannel,
    channel: ServiceChannel, zones: ZoneDatabase = .system, route: PushRoute, policy: GuardPolicy,
    limits: [RateLimit] = [], tally: PushTally? = nil
  ) throws(JobError) {
    let filter = try app.filter(of: campaign, start: record.start)
    self.campaign = campaign
    facts = CampaignFacts(
      job: job, channel: channel, route: route, filter: filter,
      expansion: try JointExpansion(filter, legs, app, start: record.start),
      rules: GrantRules(campaign, caps: app.caps),
      account: .init(pool: route.number, lane: Lane.allCases.firstIndex(of: campaign.delivery.lane) ?? 0),
      limits: limits,
      tally: tally ?? PushTally(app: campaign.app, lane: campaign.delivery.lane, service: channel.service),
      createdAt: record.times.createdAt, round: record.resumes.round)
    schedule = CampaignSchedule(of: campaign, record, zones)
    composers = CampaignComposers(of: campaign, channel.service, expiration: record.delivery.expiration)
    `guard` = CampaignGuard(
      policy, app: campaign.app, service: channel.service, isOff: record.resumes.isUnguarded)
    progress = CampaignProgress(isNarrowed: record.placement.isNarrowed)
  }

  /// Whether users get different variants, which are counted separately.
  var hasVariants: Bool { campaign.message.variants != nil }

  /// Records that Redis has stored the campaign's partitions and the definitions of its segments. They no longer
  /// change.
  func fixPartitions(_ definitions: SegmentDefinitions) {
    campaign.recipients.definitions = definitions
    progress.isNarrowed = true
  }

  /// Replaces the campaign with a copy in which the audience also names the parts (legs and stages) of the earlier
  /// campaigns to which it refers.
  func refer(to campaign: Campaign) { self.campaign = campaign }

  /// Number by which a pool recognizes the campaign's pushes. It is unique while this context exists.
  var flow: Int { Int(bitPattern: ObjectIdentifier(self)) }

  /// Returns the send times of a slice's targets.
  func times(_ times: SendTimes) -> SliceTimes { schedule.times(times, of: campaign) }

  /// Returns the time zones in `zones` that this machine does not know, without those that an earlier call has
  /// returned.
  func newUnknownZones(_ zones: [String]) -> [String] { schedule.newUnknownZones(zones) }

  /// Returns the composer for pushes with an expiration, in UNIX seconds.
  func composer(expiration: Int) -> any PushComposer {
    composers.composer(for: campaign, facts.channel.service, expiration: expiration)
  }

  // MARK: Permits

  /// Reserves sends of the guard trial, and permits of the campaign's rates, for credit that a slice requests from
  /// Redis.
  func spend(_ count: Int) {
    trial.spend(count)
    for limit in facts.limits where limit.isInForce { limit.lease.spend(count) }
  }

  /// Records the result of a request: `sent` of the `count` reserved sends and permits were used. The rest is available
  /// again.
  func reconcile(spent count: Int, sent: Int) {
    trial.reconcile(spent: count, sent: sent)
    for limit in facts.limits where limit.isInForce { limit.lease.reconcile(spent: count, sent: sent) }
  }

  /// Gives back the permits of pushes that were certainly not sent. Other workers may use them.
  func returnPermits(_ count: Int) {
    for limit in facts.limits where limit.isInForce { limit.lease.giveBack(count) }
  }
}
