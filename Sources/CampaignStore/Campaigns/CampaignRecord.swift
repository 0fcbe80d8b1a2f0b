public import PushCore
import Redis

/// Where a campaign is in its life. Raw values are names in Redis and JSON.
public enum CampaignState: String, Sendable {
  case scheduled
  /// A part of a campaign whose stage has not begun.
  case waiting
  case active, paused, cancelled, completed, failed

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
  /// Whether its partitions and definitions are fixed.
  public var isNarrowed: Bool

  static let fields = ["state", "lane", "round", "slices", "finished", "narrowed"]

  /// - Parameter fields: these.
  /// - Throws: ``StoreError`` `damaged`.
  init?(_ fields: StoredFields) throws(StoreError) {
    guard let state = try fields.text("state").flatMap(CampaignState.init(rawValue:)) else { return nil }
    self.state = state
    lane = try fields.text("lane").flatMap(Lane.init(rawValue:)) ?? .normal
    round = try fields.number("round") ?? 0
    unfinished = try (fields.number("slices") ?? 0) - (fields.number("finished") ?? 0)
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

/// A campaign as the store knows it, but for its job, which may have a megabyte: see ``Campaigns/findWithJob(_:)``.
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
  /// Whether the campaign is paused until a person approves it.
  public var waitsForApproval: Bool { state == .paused && needsApproval && of == nil }

  /// Whether it waits for approval and begins in less than an hour, or should have begun.
  ///
  /// - Parameter now: ms since the epoch.
  public func isApprovalUrgent(at now: Int) -> Bool { waitsForApproval && start - now < Self.approvalNotice }

  /// The time before its start at which a missing approval becomes urgent, in ms. An hour is enough to find an approver.
  static let approvalNotice = 3_600_000

  /// Users and pushes, counted when the campaign was found to need approval; `nil` if they were not counted.
  public var estimate: Reached?
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
  /// How fast it may be sent; `nil` for as fast as it goes.
  public var rate: CampaignRate?
  /// What has become of a job that asks for campaigns again and again; `nil` for a campaign that is sent itself.
  public var repetition: RepetitionRecord?
  /// With `show`: when the next of the targets that wait for their own time may be sent, in ms since the epoch.
  public var nextTime: Int?
  /// The ids of its parts, in the order of the stages; none for a campaign that is sent itself, and for a part.
  public var partIDs: [String]
  /// The id of the campaign that it is a part of; `nil` for a whole campaign.
  public var of: String?
  /// The id of the repeated campaign that it is a run of; `nil` for none.
  public var runOf: String?
  /// Whether it is a part of a stage that has not begun.
  public var isGated: Bool
  /// The place of the stage that began last, from 0; `nil` for a campaign without parts.
  public var stage: Int?
  /// The place of the stage whose gate has paused it; `nil` for none.
  public var verdict: Int?
  /// The place of the stage whose gate a person has overruled; `nil` for none.
  var overruled: Int?
  /// The place of the variant that a person or a gate has chosen; `nil` for none.
  public var winner: Int?
  /// The place of the variant that all users of this part get; `nil` where each draws one.
  public var variant: Int?
  /// When its stage began, in ms since the epoch; `nil` for the first stage, and where it has no stages.
  var begunAt: Int?
  /// Its parts, where it was read by ``Campaigns/find(_:)`` or with them.
  public internal(set) var parts: [CampaignRecord] = []
  /// When its first slice was dequeued, in ms since the epoch.
  public var startedAt: Int?
  /// ms since the epoch.
  public var finishedAt: Int?
  /// With its job: the segments that are rules and on which its audience depends, as they were when it began.
  public internal(set) var definitions = SegmentDefinitions()
  /// Registration events that were queued before it and were not applied when it began; 0 when it waited for all of them.
  public var overtookEvents: Int
  /// With `show`: why it is not sent, though it is active; `nil` when nothing keeps it.
  public var waiting: CampaignWait?

  /// When it began, or is to begin, in ms since the epoch.
  public var start: Int { begunAt ?? max(createdAt, sendAt ?? 0) }

  /// Those of its parts that are stages, or the campaign itself where it has no parts. Together they are what it reached.
  public var stages: [CampaignRecord] {
    partIDs.isEmpty ? [self] : parts.filter { CampaignID($0.id).part?.isStage == true }
  }

  /// Why it has no target, for people; `nil` while it may get some, and where it has some.
  public var whyNobody: String? {
    guard state == .completed, counters.targets == 0 else { return nil }
    var causes = counters.audience.left > 0 ? [counters.audience.text] : []
    if counters.control > 0 { causes.append("\(counters.control) in a control group") }
    let events = overtookEvents > 0 ? "; \(overtookEvents) registration events were not applied when it began" : ""
    guard !causes.isEmpty else { return "its audience has no user" + events }
    return "users of its audience: \(counters.meant), of them " + causes.joined(separator: ", ") + events
  }

  /// Targets without an outcome so far.
  public var pending: Int { counters.targets - counters.outcomes.values.reduce(0, +) }

  /// Whether there are slices that its totals don't include. What has not begun has none.
  var hasOpenSlices: Bool { finishedAt == nil && state != .scheduled && !isGated && partIDs.isEmpty }

  /// Adds what a slice has counted that the totals don't include.
  mutating func add(_ slice: OpenSlice) {
    counters += slice.counters
    nextTime = [nextTime, slice.readyAt].compactMap(\.self).min()
    if slice.isSealed { sealedSlices += 1 }
  }

  /// Takes its parts in. Its totals are those of its stages; companions are reported apart.
  mutating func take(_ parts: [CampaignRecord]) {
    self.parts = parts
    counters = SliceCounters()
    (slices, sealedSlices, hasReceipts, overtookEvents) = ((0, 0), 0, false, 0)
    for part in stages {
      counters += part.counters
      slices = (slices.finished + part.slices.finished, slices.total + part.slices.total)
      sealedSlices += part.sealedSlices
      hasReceipts = hasReceipts || part.hasReceipts
      overtookEvents += part.overtookEvents
      startedAt = [startedAt, part.startedAt].compactMap(\.self).min()
      nextTime = [nextTime, part.nextTime].compactMap(\.self).min()
      waiting = waiting ?? part.waiting
    }
    if state == .failed { reason = whyFailed }
  }

  /// What its job says, as far as this record goes: the campaign, or the part that it is.
  ///
  /// - Parameters:
  ///   - job: of the campaign.
  ///   - apps: those that it may be for.
  public func campaign(_ job: [UInt8], _ apps: JobApps) throws(JobError) -> Campaign {
    var campaign = try CampaignJob.part(CampaignID(id), of: job, apps, start: start / 1000, variant: variant)
    campaign.recipients.definitions = definitions
    return campaign
  }

  /// All fields of a campaign's hash but `job`.
  static let fields =
    [
      "state", "reason", "approval", "submittedBy", "approvedBy", "app", "service", "lane", "ttl", "expiration",
      "round", "unguarded", "pausedItself",
      "finished", "slices",
      "partitions", "absent", "narrowed", "receipts", "createdAt", "sendAt", "startedAt", "finishedAt", "rate",
      "spread",
      "finishBy", "repeat", "runs", "leftOut", "lastRun", "pending", "of", "run", "parts", "gated", "stage", "verdict",
      "overruled", "winner", "variant", "start", "overtook", "reachedTargets", "reachedUsers",
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
    if let targets = try values.number("reachedTargets") {
      estimate = Reached(users: try values.number("reachedUsers"), targets: targets)
    }
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
    let perSecond = try values.text("rate").flatMap(Double.init).map(CampaignRate.perSecond)
    let spread = try values.number("spread").map(CampaignRate.over(seconds:))
    let end = try values.number("finishBy").map(CampaignRate.until(milliseconds:))
    rate = perSecond ?? spread ?? end
    if let schedule = try values.text("repeat") {
      repetition = RepetitionRecord(
        schedule: schedule, runs: try values.number("runs") ?? 0, leftOut: try values.number("leftOut") ?? 0,
        lastRun: try values.text("lastRun"), isPending: try values.number("pending") == 1)
    }
    partIDs =
      try values.text("parts")?.split(separator: " ").compactMap { CampaignPart($0) }
      .map { CampaignID(whole: id, part: $0).description } ?? []
    of = try values.text("of")
    runOf = try values.text("run")
    isGated = try values.number("gated") == 1
    stage = try values.number("stage")
    verdict = try values.number("verdict")
    overruled = try values.number("overruled")
    winner = try values.number("winner")
    variant = try values.number("variant")
    begunAt = try values.number("start")
    overtookEvents = try values.number("overtook") ?? 0
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
