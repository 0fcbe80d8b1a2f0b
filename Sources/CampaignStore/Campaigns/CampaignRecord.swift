public import PushCore
import Redis

/// State of a campaign. Raw values are names in Redis and JSON.
public enum CampaignState: String, Sendable {
  case scheduled
  /// A part of a campaign whose stage has not begun.
  case waiting
  case active, paused, cancelled, completed, failed

  /// Whether the campaign sends no further pushes in this state.
  public var isFinal: Bool { self == .cancelled || self == .completed || self == .failed }
}

/// The parts of a campaign's status that can change after a worker has read its job.
public struct CampaignStatus: Sendable {
  public var state: CampaignState
  public var lane: Lane
  /// Number of resumes.
  public var round: Int
  /// Number of unfinished slices.
  public var unfinished: Int
  /// Whether the campaign's partitions and definitions can't change any more.
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
  /// Next send time of its targets with their own send times, in ms since the epoch.
  var readyAt: Int?
}

/// The record of a campaign, as commands show it: the fields of its hash in Redis, in groups. The record does not
/// contain the job, which may have 1 MB (see ``Campaigns/findWithJob(_:)``).
public struct CampaignRecord: Sendable {
  public var id: String
  public var state: CampaignState
  /// Reason why the campaign is paused or has failed.
  public var reason: String?
  /// Whether a worker has paused the campaign. An operator must fix the cause before a resume.
  public var pausedItself: Bool
  public var app: String
  /// Name of the campaign's push service; for a campaign with several legs, that of the first leg.
  public var service: String
  /// Names of the push services of all legs of the whole campaign, also in the record of a part.
  public internal(set) var legs: [String]
  public var lane: Lane
  public var delivery = Delivery()
  public var resumes = Resumes()
  public var approval = Approval()
  /// Totals of the finished slices; in a record of ``Campaigns/show(_:)``, also of the unfinished ones.
  public var counters: SliceCounters
  public var slices = Slices()
  public internal(set) var placement = Placement()
  /// Whether the campaign may have receipts.
  var hasReceipts: Bool
  public var times = Times()
  /// Progress of a recurring campaign; `nil` for any other campaign.
  public var repetition: RepetitionRecord?
  public internal(set) var staging = Staging()
  /// Parts of the campaign, if the record was read by ``Campaigns/find(_:)`` or with its parts.
  public internal(set) var parts: [CampaignRecord] = []
  /// In a record of ``Campaigns/show(_:)``: the reason why an active campaign is not being sent; `nil` if it is being
  /// sent.
  public var waiting: CampaignWait?

  /// One part of each leg that is paused while the rest of the campaign continues. If a worker has paused a part of the
  /// leg, the list contains this part of the leg.
  public var pausedLegs: [CampaignRecord] {
    guard state != .paused else { return [] }
    var legs: [CampaignRecord] = []
    for part in parts where part.state == .paused {
      guard let index = legs.firstIndex(where: { $0.service == part.service }) else {
        legs.append(part)
        continue
      }
      if part.pausedItself, !legs[index].pausedItself { legs[index] = part }
    }
    return legs
  }

  /// Whether the campaign is paused until a person approves it.
  public var waitsForApproval: Bool { state == .paused && approval.isNeeded && staging.whole == nil }

  /// Whether the campaign waits for approval and begins in less than an hour, or should have begun already.
  ///
  /// - Parameter now: ms since the epoch.
  public func isApprovalUrgent(at now: Int) -> Bool { waitsForApproval && start - now < Self.approvalNotice }

  /// Time in ms before the start of a campaign at which a missing approval becomes urgent. An hour is enough to find an
  /// approver.
  static let approvalNotice = 3_600_000

  /// Past or future start in ms since the epoch.
  public var start: Int { staging.begunAt ?? max(times.createdAt, times.sendAt ?? 0) }

  /// The parts that are stages, or the campaign itself if it has no parts. They contain everything that the campaign
  /// has sent, except companions.
  public var stages: [CampaignRecord] {
    staging.partIDs.isEmpty ? [self] : parts.filter { CampaignID($0.id).part?.isStage == true }
  }

  /// Names of the push services of its stages, in the order of the legs.
  public var stageServices: [String] {
    stages.map(\.service).reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
  }

  /// Text about why the campaign has no target; `nil` if it has targets or may still get some.
  public var noUserReason: String? {
    guard state == .completed, counters.targets == 0 else { return nil }
    var causes = counters.audience.left > 0 ? [counters.audience.text] : []
    if counters.control > 0 { causes.append("\(counters.control) in a control group") }
    let events =
      placement.eventsNotApplied > 0
      ? "; \(placement.eventsNotApplied) registration events were not applied at the start" : ""
    guard !causes.isEmpty else { return "its audience has no user" + events }
    return "\(counters.meant) users in its audience: " + causes.joined(separator: ", ") + events
  }

  /// Number of targets without an outcome so far.
  public var pending: Int { counters.targets - counters.outcomes.values.reduce(0, +) }

  /// Whether the campaign has slices that its totals don't include. A campaign that has not begun has no such slices.
  var hasOpenSlices: Bool {
    times.finishedAt == nil && state != .scheduled && !staging.isGated && staging.partIDs.isEmpty
  }

  /// Adds the counts of a slice that the totals don't include.
  mutating func add(_ slice: OpenSlice) {
    counters += slice.counters
    times.next = [times.next, slice.readyAt].compactMap(\.self).min()
    if slice.isSealed { slices.sealed += 1 }
  }

  /// Sets the parts of the campaign. The totals of the campaign are the sums of its stages. Companions are reported
  /// separately.
  mutating func take(_ parts: [CampaignRecord]) {
    self.parts = parts
    counters = SliceCounters()
    (slices, hasReceipts, placement.eventsNotApplied) = (Slices(), false, 0)
    for part in stages {
      counters += part.counters
      slices += part.slices
      hasReceipts = hasReceipts || part.hasReceipts
      placement.eventsNotApplied += part.placement.eventsNotApplied
      times.startedAt = [times.startedAt, part.times.startedAt].compactMap(\.self).min()
      times.next = [times.next, part.times.next].compactMap(\.self).min()
      waiting = waiting ?? part.waiting
    }
    if state == .failed { reason = failureReason }
  }

  /// Reads the job, and returns the campaign or the part that this record describes.
  ///
  /// - Parameters:
  ///   - job: the job of the campaign.
  ///   - apps: the apps that a job can name.
  ///   - leg: the id of the part of another leg in the same stage, to return that part; `nil` to return this one.
  public func campaign(_ job: [UInt8], _ apps: JobApps, leg: String? = nil) throws(JobError) -> Campaign {
    var campaign = try CampaignJob.part(
      CampaignID(leg ?? id), of: job, apps, start: start / 1000, variant: staging.variant)
    campaign.recipients.definitions = placement.definitions
    return campaign
  }

  /// Returns the apps for ``campaign(_:_:leg:)``: any app, with the services of this campaign's legs.
  public func apps(in services: PushServices) -> JobApps {
    .any(legs.compactMap { services[$0] })
  }

  /// All fields of a campaign's hash except `job`.
  static let fields =
    [
      "state", "reason", "approval", "submittedBy", "approvedBy", "app", "service", "legs", "lane", "ttl", "expiration",
      "round", "unguarded", "pausedItself",
      "finished", "slices",
      "partitions", "absent", "narrowed", "receipts", "createdAt", "sendAt", "startedAt", "finishedAt", "rate",
      "spread",
      "finishBy", "repeat", "runs", "leftOut", "lastRun", "openRuns", "pending", "of", "run", "parts", "gated", "stage",
      "verdict",
      "overridden", "winner", "variant", "start", "eventsNotApplied", "reachedTargets", "reachedUsers",
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
    legs = try values.text("legs")?.split(separator: " ").map(String.init) ?? [service]
    lane = try values.text("lane").flatMap(Lane.init(rawValue:)) ?? .normal
    delivery.timeToLive = try values.number("ttl") ?? Campaign.defaultTimeToLive
    delivery.expiration = try values.number("expiration")
    resumes.round = try values.number("round") ?? 0
    resumes.isUnguarded = try values.number("unguarded") == 1
    pausedItself = try values.number("pausedItself") == 1
    approval.isNeeded = try values.text("approval") == "needed"
    if let targets = try values.number("reachedTargets") {
      approval.estimate = Reached(users: try values.number("reachedUsers"), targets: targets)
    }
    approval.submittedBy = try values.text("submittedBy")
    approval.approvedBy = try values.text("approvedBy")
    counters = try SliceCounters(totals: values)
    slices.finished = try values.number("finished") ?? 0
    slices.total = try values.number("slices") ?? 0
    placement.partitions = try values.number("partitions") ?? 0
    placement.absent = PartitionBitmap(try values.bytes("absent") ?? [])
    placement.isNarrowed = try values.number("narrowed") == 1
    slices.sealed = slices.finished
    hasReceipts = try values.number("receipts") ?? 0 > 0
    times.createdAt = try values.number("createdAt") ?? 0
    times.sendAt = try values.number("sendAt")
    let perSecond = try values.text("rate").flatMap(Double.init).map(CampaignRate.perSecond)
    let spread = try values.number("spread").map(CampaignRate.over(seconds:))
    let end = try values.number("finishBy").map(CampaignRate.until(milliseconds:))
    delivery.rate = perSecond ?? spread ?? end
    if let schedule = try values.text("repeat") {
      repetition = RepetitionRecord(
        schedule: schedule, runs: try values.number("runs") ?? 0, leftOut: try values.number("leftOut") ?? 0,
        lastRun: try values.text("lastRun"),
        openRuns: try values.text("openRuns")?.split(separator: " ").map(String.init) ?? [],
        isPending: try values.number("pending") == 1)
    }
    staging.partIDs =
      try values.text("parts")?.split(separator: " ").compactMap { CampaignPart($0) }
      .map { CampaignID(whole: id, part: $0).description } ?? []
    staging.whole = try values.text("of")
    staging.isGated = try values.number("gated") == 1
    staging.current = try values.number("stage")
    staging.verdict = try values.number("verdict")
    staging.overridden = try values.number("overridden")
    staging.winner = try values.number("winner")
    staging.variant = try values.number("variant")
    staging.begunAt = try values.number("start")
    placement.eventsNotApplied = try values.number("eventsNotApplied") ?? 0
    times.startedAt = try values.number("startedAt")
    times.finishedAt = try values.number("finishedAt")
    if state == .failed { reason = reason ?? failureReason }
  }

  /// Reason why the campaign has failed, according to its counters.
  private var failureReason: String {
    let refusals = Outcome.allCases.compactMap { outcome in
      outcome.isRefusal ? counters.outcomes[outcome].map { "\($0) \(outcome.name)" } : nil
    }
    return "none of its \(counters.targets) pushes was accepted: \(refusals.joined(separator: ", ")); see `carillon "
      + "results export \(id)` for the reasons, fix the job or app \(app), and submit the job with another id"
  }
}
