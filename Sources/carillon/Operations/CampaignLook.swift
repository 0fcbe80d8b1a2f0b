import CampaignStore
import CommandSupport
import PushCore
import PushWorker

/// What an id stands for, as commands show it.
enum CampaignLook {
  case campaign(CampaignReport)
  /// No worker has made a campaign of it yet.
  case queued(QueuedReport)
}

extension CampaignStore {
  /// Looks at a campaign, or at its job where that is still in the queue, and whether anybody is there to send it.
  ///
  /// - Returns: `nil` when it is neither: ``absent(_:)`` says what it is.
  func look(_ id: String) async throws -> CampaignLook? {
    let look = try await look(id) { try await campaigns.show(id) }
    guard case .campaign(var report)? = look else { return look }
    if report.record.state == .active, report.record.lane != .urgent {
      let (app, now) = (report.record.app, try await time() / 1000)
      report.backend = try await limits.backends()[app].flatMap { $0.isSlowed && $0.isCurrent(now) ? $0 : nil }
    }
    return .campaign(report)
  }

  /// The same again and again, at a cost that does not depend on the number of partitions.
  func look(_ id: String, by watch: inout CampaignWatch) async throws -> CampaignLook? {
    try await look(id) { try await watch.look(at: self) }
  }

  private func look(_ id: String, _ record: () async throws -> CampaignRecord?) async throws -> CampaignLook? {
    if let report = try await report(record()) { return .campaign(report) }
    if let job = try await queue.waitingJob(id) {
      return .queued(
        QueuedReport(job: job, waiting: try await campaigns.absence(lease: WorkerConfiguration.standardLease)))
    }
    // It may have been taken in between the two looks.
    return try await report(record()).map { .campaign($0) }
  }

  private func report(_ record: CampaignRecord?) async throws -> CampaignReport? {
    guard var record else { return nil }
    let now = try await time() / 1000
    let isDue = record.state == .active || record.state == .scheduled && record.sendAt ?? 0 <= now
    if isDue, var wait = try await campaigns.absence(lease: WorkerConfiguration.standardLease) {
      // It waits since it is there at most.
      wait.since = wait.since.map { max($0, record.createdAt) } ?? (record.startedAt == nil ? record.createdAt : nil)
      record.waiting = wait
    }
    return CampaignReport(record)
  }

  /// The error for an id without a campaign, which says where its job is if it is known.
  func whereIs(_ id: String) async throws -> CommandError {
    guard let job = try await queue.waitingJob(id) else { return try await absent(id) }
    return CommandError(
      .notFound, "campaign \(Excerpt.quoted(id)) is no campaign yet: its job is \(QueuedReport.text(of: job.place))",
      hint: "start a worker, if there is none: carillon worker; carillon campaign cancel \(id) takes it off the queue")
  }

  /// The error for an id that has no campaign, and no job in the queue.
  func absent(_ id: String) async throws -> CommandError {
    if let burial = try await queue.burial(of: id) {
      return CommandError(
        .notFound, "campaign \(Excerpt.quoted(id)) could not be run: \(burial.reason)",
        hint: (burial.hint.isEmpty ? "" : burial.hint + "; ") + "see its job: carillon dead show \(burial.key)")
    }
    switch try await queue.memory(of: id) {
    case .activated:
      return CommandError(
        .notFound, "campaign \(Excerpt.quoted(id)) has ended, and its results are gone: ttl has passed since",
        hint: "give the next one a longer ttl to keep its results for longer")
    case .submitted:
      return CommandError(
        .notFound, "the job of \(Excerpt.quoted(id)) was submitted, and is in no list of Redis",
        hint: "it may have got lost: submit it again, which does no harm where it has not")
    case nil: return CommandError(campaigns.noSuchCampaign(id))
    }
  }
}
