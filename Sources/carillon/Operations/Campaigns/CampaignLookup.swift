import CampaignStore
import CommandSupport
import PushCore
import PushWorker

/// The result of a search by id, for output: a campaign or a queued job.
enum FoundCampaign {
  case campaign(CampaignReport)
  /// The job is in the queue; no worker has activated it yet.
  case queued(QueuedReport)
}

/// Finds the campaign, part or queued job with an id, and the details that commands and the API show.
struct CampaignLookup {
  let store: CampaignStore

  init(_ store: CampaignStore) {
    self.store = store
  }

  /// Returns a campaign, or its job if the job is still in the queue. If no worker can send the campaign, the result
  /// includes the reason.
  ///
  /// - Returns: `nil` if there is neither a campaign nor a job; ``absent(_:)`` returns the reason.
  func find(_ id: String) async throws -> FoundCampaign? {
    let found = try await find(id) { try await store.campaigns.show(id) }
    guard case .campaign(var report)? = found else { return found }
    if report.record.state == .active, report.record.lane != .urgent {
      let (app, now) = (report.record.app, try await store.time() / 1000)
      report.backend = try await store.limits.backends()[app].flatMap { $0.isSlowed && $0.isCurrent(now) ? $0 : nil }
    }
    return .campaign(report)
  }

  /// Returns the same as ``find(_:)``. With a `watch` that the caller keeps between calls, the cost of a repeated read
  /// does not depend on the number of partitions.
  func find(_ id: String, by watch: inout CampaignPoller) async throws -> FoundCampaign? {
    try await find(id) { try await watch.poll(store) }
  }

  private func find(_ id: String, _ record: () async throws -> CampaignRecord?) async throws -> FoundCampaign? {
    if let report = try await report(record()) { return .campaign(report) }
    if let job = try await store.queue.waitingJob(id) {
      return .queued(
        QueuedReport(job: job, waiting: try await store.campaigns.absence(lease: WorkerConfiguration.standardLease)))
    }
    // A worker may have activated the job between the two reads.
    return try await report(record()).map { .campaign($0) }
  }

  private func report(_ record: CampaignRecord?) async throws -> CampaignReport? {
    guard var record else { return nil }
    let now = try await store.time() / 1000
    let isDue = record.state == .active || record.state == .scheduled && record.times.sendAt ?? 0 <= now
    if isDue, var wait = try await store.campaigns.absence(lease: WorkerConfiguration.standardLease) {
      // If the reported time is before the creation of the campaign, the wait began with the creation.
      wait.since =
        wait.since.map { max($0, record.times.createdAt) }
        ?? (record.times.startedAt == nil ? record.times.createdAt : nil)
      record.waiting = wait
    }
    return CampaignReport(record)
  }

  /// Returns the error for an id without a campaign, with the place of its job if the job is in the queue.
  func notFound(_ id: String) async throws -> CommandError {
    guard let job = try await store.queue.waitingJob(id) else { return try await absent(id) }
    return CommandError(
      .notFound, "campaign \(Excerpt.quoted(id)) has not started: its job is \(QueuedReport.text(of: job.place))",
      hint: "start a worker if none runs: carillon worker; to remove the job: carillon campaign cancel \(id)")
  }

  /// Returns the error for an id without a campaign and without a job in the queue.
  func absent(_ id: String) async throws -> CommandError {
    if let dead = try await store.queue.deadJob(of: id) {
      return CommandError(
        .notFound, "campaign \(Excerpt.quoted(id)) could not be run: \(dead.reason)",
        hint: (dead.hint.isEmpty ? "" : dead.hint + "; ") + "see its job: carillon dead show \(dead.key)")
    }
    switch try await store.queue.memory(of: id) {
    case .activated:
      return CommandError(
        .notFound, "campaign \(Excerpt.quoted(id)) has ended and its results have expired (ttl)",
        hint: "use a longer ttl in the next job to keep its results for longer")
    case .submitted:
      return CommandError(
        .notFound, "the job \(Excerpt.quoted(id)) was submitted but is in no list of Redis",
        hint: "the job may be lost: submit it again; this does no harm if it is not lost")
    case nil: return CommandError(store.campaigns.noSuchCampaign(id))
    }
  }

  /// Returns the variants and the stages of a campaign; each is `nil` if the campaign has none.
  func groups(of id: String) async throws -> (variants: CampaignVariants?, stages: CampaignStages?) {
    guard let (record, job) = try await store.campaigns.findWithJob(id),
      let campaign = try? record.campaign(job, record.apps(in: .known))
    else { return (nil, nil) }
    return (campaign.message.variants, campaign.delivery.stages)
  }

  /// Adds the details that only the report of a single campaign contains: audience, receipts, open runs and variants.
  func fill(_ report: inout CampaignReport) async throws {
    guard let (record, job) = try await store.campaigns.findWithJob(report.record.id) else { return }
    report.audience = AudienceReport(of: record, job: job)
    report.receipts = try await store.results.receipts(of: report.record)
    report.openRuns = try await openRuns(of: report.record)
    guard let campaign = try? record.campaign(job, record.apps(in: .known)) else { return }
    report.gate = CampaignReport.Gate(report.record, campaign.delivery.stages)
    guard let variants = campaign.message.variants else { return }
    report.variants = VariantsReport(
      variants: variants, winner: campaign.delivery.stages?.all.compactMap(\.winner).first,
      counts: try await store.campaigns.variantCounts(of: report.record, variants),
      decision: try await store.campaigns.decision(of: campaign.whole))
  }

  /// Returns the runs of a recurring campaign that have not ended, the oldest first; `nil` for another campaign.
  private func openRuns(of record: CampaignRecord) async throws -> [OpenRun]? {
    guard let repetition = record.repetition else { return nil }
    var runs: [OpenRun] = []
    for id in repetition.unfinishedRuns {
      let run = try await store.campaigns.show(id)
      let isOpen = run.map { $0.times.finishedAt == nil } ?? (repetition.isPending && id == repetition.lastRun)
      if isOpen { runs.append(OpenRun(id: id, record: run)) }
    }
    return runs
  }
}
