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
  /// Until when all but the first wave wait, in ms since the epoch; `nil` when nobody does.
  public var gate: Int?

  /// Whether its partitions and definitions are fixed.
  public var isNarrowed: Bool

  static let fields = ["state", "lane", "round", "slices", "finished", "gate", "narrowed"]

  /// - Parameter fields: these.
  /// - Throws: ``StoreError`` `damaged`.
  init?(_ fields: StoredFields) throws(StoreError) {
    guard let state = try fields.text("state").flatMap(CampaignState.init(rawValue:)) else { return nil }
    self.state = state
    lane = try fields.text("lane").flatMap(Lane.init(rawValue:)) ?? .normal
    round = try fields.number("round") ?? 0
    unfinished = try (fields.number("slices") ?? 0) - (fields.number("finished") ?? 0)
    gate = try fields.number("gate")
    isNarrowed = try fields.number("narrowed") == 1
  }
}

/// What a slice that is not finished has counted so far.
struct OpenSlice: Sendable {
  var counters: SliceCounters
  /// Whether its number of targets is known.
  var isSealed: Bool
  /// When the next of its targets is due that wait for their own time, in ms since the epoch.
  var readyAt: Int?
}

/// A campaign as the store knows it, but for its job, which may have a megabyte: see ``CampaignStore/campaignAndJob(_:)``.
/// It has a property for each field of a campaign's hash that somebody is shown.
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
  /// Whether it waits for somebody's approval.
  public var needsApproval: Bool
  /// Who submitted it, where the job says so.
  public var submittedBy: String?
  /// Who approved it, where that was needed.
  public var approvedBy: String?
  /// Totals of the finished slices; with `show`, of the open ones too.
  public var counters: SliceCounters
  /// Slices that are finished, and all.
  public var slices: (finished: Int, total: Int)
  /// The number of partitions that the store had when it began.
  var partitions: Int
  /// The partitions in which it has no slice.
  var absent: PartitionBitmap
  /// Whether its partitions and definitions are fixed.
  public var isNarrowed: Bool
  /// Slices whose number of targets is known: the finished ones and, with `show`, those that are sealed.
  public var sealedSlices: Int
  /// Whether somebody said what users did with it.
  var hasReceipts: Bool
  /// ms since the epoch.
  public var createdAt: Int
  /// When it was to begin, in ms since the epoch; `nil` for at once.
  public var sendAt: Int?
  /// Until when all but the first wave wait, in ms since the epoch; `nil` when nobody does.
  public var gate: Int?
  /// How fast it may be sent; `nil` for as fast as it goes.
  public var rate: CampaignRate?
  /// What has become of a job that asks for campaigns again and again; `nil` for a campaign that is sent itself.
  public var repetition: RepetitionRecord?
  /// With `show`: when the next of the targets that wait for their own time may be sent, in ms since the epoch.
  public var nextTime: Int?
  /// The ids of its companions, which are taken in after it.
  public var companions: [String]
  /// The id of the campaign to the users who are not in its canary; `nil` for a campaign without one.
  public var rest: String?
  /// When its first slice was dequeued, in ms since the epoch.
  public var startedAt: Int?
  /// ms since the epoch.
  public var finishedAt: Int?
  /// With its job: the segments that are rules and on which its audience depends, as they were when it began.
  public internal(set) var definitions = SegmentDefinitions()
  /// With `show`: why it is not sent, though it is active; `nil` when nothing keeps it.
  public var waiting: CampaignWait?

  /// When it began, or is to begin, in ms since the epoch.
  public var start: Int { max(createdAt, sendAt ?? 0) }

  /// Targets without an outcome so far.
  public var pending: Int { counters.targets - counters.outcomes.values.reduce(0, +) }

  /// Whether there are slices that its totals don't include. What has not begun has none.
  var hasOpenSlices: Bool { finishedAt == nil && state != .scheduled }

  /// Adds what a slice has counted that the totals don't include.
  mutating func add(_ slice: OpenSlice) {
    counters += slice.counters
    nextTime = [nextTime, slice.readyAt].compactMap(\.self).min()
    if slice.isSealed { sealedSlices += 1 }
  }

  /// All fields of a campaign's hash but `job`.
  static let fields =
    [
      "state", "reason", "approval", "submittedBy", "approvedBy", "app", "service", "lane", "ttl", "expiration",
      "round", "unguarded", "pausedItself",
      "finished", "slices",
      "partitions", "absent", "narrowed", "receipts", "createdAt", "sendAt", "startedAt", "finishedAt", "rate",
      "spread",
      "finishBy", "gate", "repeat", "runs", "leftOut", "lastRun", "also", "rest",
    ] + SliceCounters.totalsFields

  /// - Parameters:
  ///   - id: the campaign's.
  ///   - values: ``fields``.
  /// - Throws: ``StoreError`` `damaged`.
  init?(id: String, _ values: StoredFields) throws(StoreError) {
    guard let state = try values.text("state").flatMap(CampaignState.init(rawValue:)) else { return nil }
    self.id = id
    self.state = state
    reason = try values.text("reason")
    app = try values.text("app") ?? ""
    service = try values.text("service") ?? ""
    lane = try values.text("lane").flatMap(Lane.init(rawValue:)) ?? .normal
    timeToLive = try values.number("ttl") ?? Campaign.defaultTimeToLive
    expiration = try values.number("expiration")
    round = try values.number("round") ?? 0
    isUnguarded = try values.number("unguarded") == 1
    pausedItself = try values.number("pausedItself") == 1
    needsApproval = try values.text("approval") == "needed"
    submittedBy = try values.text("submittedBy")
    approvedBy = try values.text("approvedBy")
    counters = try SliceCounters(totals: values)
    slices = (try values.number("finished") ?? 0, try values.number("slices") ?? 0)
    partitions = try values.number("partitions") ?? 0
    absent = PartitionBitmap(try values.bytes("absent") ?? [])
    isNarrowed = try values.number("narrowed") == 1
    sealedSlices = slices.finished
    hasReceipts = try values.number("receipts") ?? 0 > 0
    createdAt = try values.number("createdAt") ?? 0
    sendAt = try values.number("sendAt")
    gate = try values.number("gate")
    let perSecond = try values.text("rate").flatMap(Double.init).map(CampaignRate.perSecond)
    let spread = try values.number("spread").map(CampaignRate.over(seconds:))
    let end = try values.number("finishBy").map(CampaignRate.until(milliseconds:))
    rate = perSecond ?? spread ?? end
    if let schedule = try values.text("repeat") {
      repetition = RepetitionRecord(
        schedule: schedule, runs: try values.number("runs") ?? 0, leftOut: try values.number("leftOut") ?? 0,
        lastRun: try values.text("lastRun"))
    }
    companions = try values.text("also").map { $0.split(separator: ",").map { Companion.id(of: id, String($0)) } } ?? []
    rest = try values.text("rest")
    startedAt = try values.number("startedAt")
    finishedAt = try values.number("finishedAt")
    if state == .failed { reason = reason ?? whyFailed }
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
