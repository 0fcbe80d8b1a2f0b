import PushTransport
import CampaignStore
import PushCore

/// What all slices of a campaign share on one worker. Confined to the worker's loop, as the composer in it.
///
/// It has many properties and decides nothing. Most never change: the campaign as it was taken in, and what follows from it
/// for each push, found once instead of for each slice. The others are parts, and what was heard of the campaign.
final class CampaignContext {
  private(set) var campaign: Campaign
  /// Whether the campaign has the definitions of its segments that are in force.
  private(set) var isNarrowed: Bool
  /// The job without white space; of a part that of its campaign.
  let job: [UInt8]
  let app: AppChannel
  let route: Route
  /// Makes its pushes, but for those that have an expiration of their own.
  let composer: any PushComposer
  /// What makes those, by that expiration.
  private var composers: [Int: any PushComposer] = [:]
  let filter: DeviceFilter
  /// Whether different users are told different things, and counted by that.
  let hasVariants: Bool
  /// By which its targets are granted.
  let rules: GrantRules
  /// Whose credit its pushes take.
  let account: CreditBudget.Account
  /// UNIX seconds after which nothing is sent any more; `nil` for no limit, and where each target has its own.
  let deadline: Int?
  /// When it began, in ms since the epoch.
  let start: Int
  /// Until when its pushes may be delivered, in UNIX seconds; 0 for one attempt.
  private let expiration: Int?
  private let zones: ZoneDatabase
  /// Unknown time zones of devices that the log has named.
  private var unknownZones: Set<String> = []
  /// When it was taken in, in ms since the epoch.
  let createdAt: Int
  /// What is made of its answers, since the campaign was started or resumed.
  var `guard`: CampaignGuard
  /// What may be sent while the guard has not decided.
  var trial = TrialLease()
  /// Where its pushes are counted.
  let tally: PushTally
  /// The rates that it is held against: its own, its app's, or none.
  let limits: [RateLimit]
  /// What the fleet has yet to hear of it since the guard is open.
  var watch = GuardWatch()
  /// How often it had been resumed when this was made: what is known of an earlier round says nothing of this one.
  let round: Int
  /// Whether this worker has paused it, or is about to: nothing more of it is sent here.
  var isPaused = false
  /// Whether it has been resumed since.
  var isOutdated = false
  /// What is yet to be expanded of it.
  var prospect = CampaignProspect()
  /// Pushes that it was given credit for, as campaigns of its lane and pool take turns by.
  private(set) var served = 0

  init(
    campaign: Campaign, record: CampaignRecord, job: [UInt8], app: AppChannel, zones: ZoneDatabase = .system,
    route: Route, policy: GuardPolicy, limits: [RateLimit] = [], tally: PushTally? = nil
  ) {
    self.tally = tally ?? PushTally(app: campaign.app, lane: campaign.delivery.lane, service: app.service)
    self.campaign = campaign
    isNarrowed = record.isNarrowed
    self.job = job
    createdAt = record.createdAt
    round = record.round
    self.app = app
    self.route = route
    self.limits = limits
    let service = app.service
    composer = service.composer(for: campaign, expiration: record.expiration)
    filter = DeviceFilter(
      campaign, service: service, environment: app.environment, start: record.start, control: app.control)
    hasVariants = campaign.message.variants != nil
    start = record.start
    expiration = record.expiration
    self.zones = zones
    rules = GrantRules(campaign, caps: app.caps)
    account = .init(pool: route.number, lane: Lane.allCases.firstIndex(of: campaign.delivery.lane) ?? 0)
    `guard` = CampaignGuard(policy, app: campaign.app, isOff: record.isUnguarded)
    // 0 asks for one attempt at delivery at any time; it is no instant. A duration counts from each device's own time.
    var expires = record.expiration == 0 ? nil : record.expiration
    if case .after = campaign.message.expiration, campaign.delivery.timing.isPerDevice { expires = nil }
    let ends =
      campaign.delivery.timing.localTime == nil ? campaign.delivery.timing.deadline(start: start / 1000, due: nil) : nil
    deadline = [expires, ends].compactMap(\.self).min()
  }

  /// The campaign's partitions are fixed, and with them the definitions of its segments.
  func narrow(_ definitions: SegmentDefinitions) {
    campaign.recipients.definitions = definitions
    isNarrowed = true
  }

  /// The stages of the campaigns that its audience refers to are known.
  func refer(to campaign: Campaign) { self.campaign = campaign }

  /// Names its pushes in a pool, as long as it lives.
  var flow: Int { Int(bitPattern: ObjectIdentifier(self)) }

  /// When the targets of a slice may be sent.
  func times(_ times: SendTimes) -> SliceTimes {
    SliceTimes(times, of: campaign, start: start, expiration: expiration, zones: zones)
  }

  /// Returns those of some unknown time zones that this function has not had before.
  func noteUnknownZones(_ zones: [String]) -> [String] { zones.filter { unknownZones.insert($0).inserted } }

  /// What makes pushes that may be delivered until some time, in UNIX seconds.
  func composer(expiration: Int) -> any PushComposer {
    if let known = composers[expiration] { return known }
    // Those of the hours of a day; what went before is not needed again.
    if composers.count >= Self.mostComposers { composers = [:] }
    let composer = app.service.composer(for: campaign, expiration: expiration)
    composers[expiration] = composer
    return composer
  }

  private static let mostComposers = 128

  /// It comes into hand: it is served next, but not before everybody else until it has caught up with them.
  func startServing(at start: Int) { served = max(served, start) }

  func noteServed(_ pushes: Int) { served += pushes }

  // MARK: Lent beside the window

  /// Credit is asked for: guard trial and rates have lent so many pushes less.
  func spend(_ count: Int) {
    trial.spend(count)
    for limit in limits where limit.isInForce { limit.lease.spend(count) }
  }

  /// What became of that credit is known.
  func settle(spent count: Int, sent: Int) {
    trial.settle(spent: count, sent: sent)
    for limit in limits where limit.isInForce { limit.lease.settle(spent: count, sent: sent) }
  }

  /// Pushes that credit was spent on were certainly not sent: others may send as many.
  func unspend(_ count: Int) {
    for limit in limits where limit.isInForce { limit.lease.giveBack(count) }
  }
}
