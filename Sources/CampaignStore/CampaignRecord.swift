public import PushCore
import Redis

/// Where a campaign is in its life. Raw values are names in Redis and JSON.
public enum CampaignState: String, Sendable {
  case scheduled, active, paused, cancelled, completed, failed

  /// Whether nothing more can come of it without a person.
  public var isFinal: Bool { self == .cancelled || self == .completed || self == .failed }
}

/// What whoever has a campaign's job has yet to learn of it.
public struct CampaignStanding: Sendable {
  public var state: CampaignState
  public var lane: Lane
  /// How often it was resumed.
  public var round: Int
  /// Slices that are not finished.
  public var unfinished: Int

  static let fields = ["state", "lane", "round", "slices", "finished"]

  /// - Parameter values: of these fields.
  init?(values: RedisReply) {
    guard let state = values[0].string.flatMap(CampaignState.init(rawValue:)) else { return nil }
    self.state = state
    lane = values[1].string.flatMap(Lane.init(rawValue:)) ?? .normal
    round = values[2].integer ?? 0
    unfinished = (values[3].integer ?? 0) - (values[4].integer ?? 0)
  }
}

/// A campaign as the store knows it, but for its job, which may have a megabyte: see ``CampaignStore/campaignAndJob(_:)``.
public struct CampaignRecord: Sendable {
  public var id: String
  public var state: CampaignState
  /// Why it is paused or failed.
  public var reason: String?
  public var app: String
  /// The name of the push service that it is for.
  public var service: String
  public var lane: Lane
  /// Seconds that its results stay after its end.
  public var timeToLive: Int
  /// Until when its pushes may be delivered, in UNIX seconds, fixed when the campaign started; 0 for one attempt.
  public var expiration: Int?
  /// How often it was resumed.
  public var round: Int
  /// Whether whoever resumed it wants its prunes and quarantines carried out, whatever their share.
  public var isUnguarded: Bool
  /// Whether it is paused, and on a worker's word: something must be mended before it is resumed.
  public var pausedItself: Bool
  /// Totals of the finished slices; with `show`, of the open ones too.
  public var counters: SliceCounters
  /// Slices that are finished, and all.
  public var slices: (finished: Int, total: Int)
  /// The partitions in which it has no slice.
  var absent: PartitionBitmap
  /// Slices whose number of targets is known: the finished ones and, with `show`, those that are sealed.
  public var sealedSlices: Int
  /// ms since the epoch.
  public var createdAt: Int
  /// When it was to begin, in ms since the epoch; `nil` for at once.
  public var sendAt: Int?
  /// When its first slice was dequeued, in ms since the epoch.
  public var startedAt: Int?
  /// ms since the epoch.
  public var finishedAt: Int?
  /// With `show`: why it is not sent, though it is active; `nil` when nothing keeps it.
  public var waiting: CampaignWait?

  /// Targets without an outcome so far.
  public var pending: Int { counters.targets - counters.outcomes.values.reduce(0, +) }

  /// All fields of a campaign's hash but `job`.
  static let fields =
    [
      "state", "reason", "app", "service", "lane", "ttl", "expiration", "round", "unguarded", "pausedItself",
      "finished", "slices",
      "absent", "createdAt", "sendAt", "startedAt", "finishedAt",
    ] + SliceCounters.totalsFields

  /// - Parameters:
  ///   - id: the campaign's.
  ///   - values: of ``fields``.
  init?(id: String, values: RedisReply) {
    let text = Dictionary(uniqueKeysWithValues: zip(Self.fields, values).filter { !$1.isNull })
    guard let state = text["state"]?.string.flatMap(CampaignState.init(rawValue:)) else { return nil }
    self.id = id
    self.state = state
    reason = text["reason"]?.string
    app = text["app"]?.string ?? ""
    service = text["service"]?.string ?? ""
    lane = text["lane"]?.string.flatMap(Lane.init(rawValue:)) ?? .normal
    timeToLive = text["ttl"]?.integer ?? Campaign.defaultTimeToLive
    expiration = text["expiration"]?.integer
    round = text["round"]?.integer ?? 0
    isUnguarded = text["unguarded"]?.integer == 1
    pausedItself = text["pausedItself"]?.integer == 1
    counters = SliceCounters(totals: text.compactMapValues(\.integer))
    slices = (text["finished"]?.integer ?? 0, text["slices"]?.integer ?? 0)
    absent = PartitionBitmap(text["absent"]?.bytes.map(Array.init) ?? [])
    sealedSlices = slices.finished
    createdAt = text["createdAt"]?.integer ?? 0
    sendAt = text["sendAt"]?.integer
    startedAt = text["startedAt"]?.integer
    finishedAt = text["finishedAt"]?.integer
    if state == .failed { reason = whyFailed }
  }

  /// What a campaign has failed of: that is to be seen from its counters.
  private var whyFailed: String {
    let refusals = Outcome.allCases.compactMap { outcome in
      outcome.isRefusal ? counters.outcomes[outcome].map { "\($0) \(outcome.name)" } : nil
    }
    return "none of its \(counters.targets) pushes was accepted: \(refusals.joined(separator: ", ")); see `carillon "
      + "results export \(id)` for the reasons, mend the job or app \(app), and submit it under another id"
  }
}
