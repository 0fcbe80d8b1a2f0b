public import PushCore
import Redis

/// State of a campaign. Raw values are names in Redis and JSON.
public enum CampaignState: String, Sendable {
  case scheduled
  /// A part of a campaign whose stage has not begun.
  case waiting
  case active, paused, cancelled, completed, failed

  /// Whether the state is final unless a person acts.
  public var isFinal: Bool { self == .cancelled || self == .completed || self == .failed }
}

/// Status of a campaign that can change after its job is known.
public struct CampaignStanding: Sendable {
  public var state: CampaignState
  public var lane: Lane
  /// Number of resumes.
  public var round: Int
  /// Number of unfinished slices.
  public var unfinished: Int
  /// Whether its partitions and definitions are fixed.
  public var isNarrowed: Bool

  static let fields = ["state", "lane", "round", "slices", "finished", "narrowed"]

  /// Reads a status.
  ///
  /// - Parameter fields: the values of ``fields``.
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

/// Counts of an unfinished slice.
struct OpenSlice: Sendable {
  var counters: SliceCounters
  /// Whether its number of targets is known.
  var isSealed: Bool
  /// Next send time of its targets that have send times of their own, in ms since the epoch.
  var readyAt: Int?
}

/// A campaign without its job, which may have 1 MB: see ``Campaigns/findWithJob(_:)``. It has a property for each field
/// of a campaign's hash that is shown to people.
public struct CampaignRecord: Sendable {
  public var id: String
  public var state: CampaignState
  /// Reason why it is paused or failed.
  public var reason: String?
  public var app: String
  /// Name of its push service.
  public var service: String
  public var lane: Lane
  /// Seconds that its results stay after its end.
  public var timeToLive: Int
  /// Expiration of its pushes in UNIX seconds, fixed at the campaign's start; 0 for one attempt.
  public var expiration: Int?
  /// Number of resumes.
  public var round: Int
  /// Whether its prunes and quarantines are carried out whatever their share, because the last resume requested that.
  public var isUnguarded: Bool
  /// Whether a worker has paused it. Something must be fixed before it is resumed.
  public var pausedItself: Bool
  /// Whether it needs approval.
  public var needsApproval: Bool
  /// Whether the campaign is paused until a person approves it.
  public var waitsForApproval: Bool { state == .paused && needsApproval && of == nil }

  /// Whether it waits for approval and begins in less than an hour, or should have begun.
  ///
  /// - Parameter now: ms since the epoch.
  public func isApprovalUrgent(at now: Int) -> Bool { waitsForApproval && start - now < Self.approvalNotice }

  /// Time in ms before its start at which a missing approval becomes urgent. An hour is enough to find an approver.
  static let approvalNotice = 3_600_000

  /// Users and pushes, counted when the campaign was found to need approval; `nil` if they were not counted.
  public var estimate: Reached?
  /// Person who submitted it, as the submitting call recorded it; `nil` if unknown.
  public var submittedBy: String?
  /// Person who approved it, if it needed approval.
  public var approvedBy: String?
  /// Totals of the finished slices; with `show`, of the open ones too.
  public var counters: SliceCounters
  /// Number of finished slices, and of all slices.
  public var slices: (finished: Int, total: Int)
  /// Number of partitions of the store at the campaign's start.
  var partitions: Int
  /// Partitions in which it has no slice.
  var absent: PartitionBitmap
  /// Whether its partitions and definitions are fixed.
  public var isNarrowed: Bool
  /// Number of slices whose number of targets is known: the finished ones and, with `show`, those that are sealed.
  public var sealedSlices: Int
  /// Whether it may have receipts.
  var hasReceipts: Bool
  /// Creation time in ms since the epoch.
  public var createdAt: Int
  /// Scheduled start in ms since the epoch; `nil` for an immediate start.
  public var sendAt: Int?
  /// Rate at which it may be sent; `nil` for no limit.
  public var rate: CampaignRate?
  /// Progress of a recurring campaign; `nil` for any other campaign.
  public var repetition: RepetitionRecord?
  /// With `show`: the next send time of targets with send times of their own, in ms since the epoch.
  public var nextTime: Int?
  /// Ids of its parts, in the order of the stages; empty for a campaign without parts, and for a part.
  public var partIDs: [String]
  /// Id of the campaign that it is a part of; `nil` for a whole campaign.
  public var of: String?
  /// Whether it is a part of a stage that has not begun.
  public var isGated: Bool
  /// Place of the stage that began last, from 0; `nil` for a campaign without parts.
  public var stage: Int?
  /// Place of the stage whose gate has paused it; `nil` for none.
  public var verdict: Int?
  /// Place of the stage whose gate a person has overridden; `nil` for none.
  var overruled: Int?
  /// Place of the variant that a person or a gate has chosen; `nil` for none.
  public var winner: Int?
  /// Place of the variant that all users of this part get; `nil` if each user is assigned one.
  public var variant: Int?
  /// Start of its stage in ms since the epoch; `nil` for the first stage, and without stages.
  var begunAt: Int?
  /// Its parts, if it was read by ``Campaigns/find(_:)`` or with its parts.
  public internal(set) var parts: [CampaignRecord] = []
  /// Time at which its first slice was dequeued, in ms since the epoch.
  public var startedAt: Int?
  /// End time in ms since the epoch.
  public var finishedAt: Int?
  /// If it was read with its job: the definitions of segments on which its audience depends, as they were at its start.
  public internal(set) var definitions = SegmentDefinitions()
  /// Number of registration events that were queued before it and were not applied at its start; 0 if it waited for all
  /// of them.
  public var overtookEvents: Int
  /// With `show`: the reason why it is active but not being sent; `nil` if it is being sent.
  public var waiting: CampaignWait?

  /// Past or future start in ms since the epoch.
  public var start: Int { begunAt ?? max(createdAt, sendAt ?? 0) }

  /// Its parts that are stages, or the campaign itself if it has no parts. Together they are all that the campaign has
  /// sent.
  public var stages: [CampaignRecord] {
    partIDs.isEmpty ? [self] : parts.filter { CampaignID($0.id).part?.isStage == true }
  }

  /// Reason for people why it has no target; `nil` if it has some, or may still get some.
  public var whyNobody: String? {
    guard state == .completed, counters.targets == 0 else { return nil }
    var causes = counters.audience.left > 0 ? [counters.audience.text] : []
    if counters.control > 0 { causes.append("\(counters.control) in a control group") }
    let events = overtookEvents > 0 ? "; \(overtookEvents) registration events were not applied when it began" : ""
    guard !causes.isEmpty else { return "its audience has no user" + events }
    return "users of its audience: \(counters.meant), of them " + causes.joined(separator: ", ") + events
  }

  /// Number of targets without an outcome so far.
  public var pending: Int { counters.targets - counters.outcomes.values.reduce(0, +) }

  /// Whether it has slices that its totals don't include. A campaign that has not begun has none.
  var hasOpenSlices: Bool { finishedAt == nil && state != .scheduled && !isGated && partIDs.isEmpty }

  /// Adds the counts of a slice that the totals don't include.
  mutating func add(_ slice: OpenSlice) {
    counters += slice.counters
    nextTime = [nextTime, slice.readyAt].compactMap(\.self).min()
    if slice.isSealed { sealedSlices += 1 }
  }

  /// Sets its parts. Its totals are those of its stages; companions are reported separately.
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

  /// Reads its job: returns the campaign, or the part of this record.
  ///
  /// - Parameters:
  ///   - job: the job of the campaign.
  ///   - apps: the apps that a job can name.
  public func campaign(_ job: [UInt8], _ apps: JobApps) throws(JobError) -> Campaign {
    var campaign = try CampaignJob.part(CampaignID(id), of: job, apps, start: start / 1000, variant: variant)
    campaign.recipients.definitions = definitions
    return campaign
  }

  /// All fields of a campaign's hash except `job`.
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

  /// Reads a record.
  ///
  /// - Parameters:
  ///   - id: the id of the campaign.
  ///   - values: the values of ``fields``.
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

  /// Reason why it has failed, from its counters.
  private var whyFailed: String {
    let refusals = Outcome.allCases.compactMap { outcome in
      outcome.isRefusal ? counters.outcomes[outcome].map { "\($0) \(outcome.name)" } : nil
    }
    return "none of its \(counters.targets) pushes was accepted: \(refusals.joined(separator: ", ")); see `carillon "
      + "results export \(id)` for the reasons, mend the job or app \(app), and submit it under another id"
  }
}
