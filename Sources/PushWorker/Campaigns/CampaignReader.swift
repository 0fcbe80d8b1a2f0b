import CampaignStore
import EventLoop
import PushCore
import PushTransport

/// Builds the contexts of campaigns (``CampaignContext``). It reads each job once, and finds the facts that all slices
/// of a campaign share.
final class CampaignReader: WorkerPart {
  let environment: WorkerEnvironment
  private let campaigns: CampaignTable
  private let factory: CampaignContextFactory
  private let preconditions: ExpansionPreconditions
  private let selection: SliceSelection
  private let rates: RateService
  private let backends: BackendMonitor
  private let guards: GuardService
  private let declined: DeclinedCampaigns
  /// The jobs that are being read.
  private var readings = JobReadings()

  init(
    _ environment: WorkerEnvironment, campaigns: CampaignTable, factory: CampaignContextFactory,
    preconditions: ExpansionPreconditions, selection: SliceSelection, rates: RateService, backends: BackendMonitor,
    guards: GuardService, declined: DeclinedCampaigns
  ) {
    self.environment = environment
    self.campaigns = campaigns
    self.factory = factory
    self.preconditions = preconditions
    self.selection = selection
    self.rates = rates
    self.backends = backends
    self.guards = guards
    self.declined = declined
  }

  /// Returns the campaigns from which the worker must not take a slice now.
  func campaignsPassedOver(_ now: UInt64) -> Set<String> {
    declined.declines.campaigns.union(preconditions.obstructedCampaigns(now)).union(rates.campaignsWithoutPlace())
      .union(readings.large)
  }

  /// Stores the partitions in which a campaign has slices, when its expansion begins. Stores nothing if a precondition
  /// fails.
  ///
  /// - Returns: Whether slices of the campaign can be taken now. While the campaign's large job is being read, the
  ///   result is `false`, so that the worker serves the campaigns behind this one. The end of the read wakes the claim
  ///   loop.
  func begin(_ id: String) async throws -> Bool {
    guard case .found(let context, .active) = try await context(of: id) else { return false }
    return try await preconditions.begin(context)
  }

  /// Returns the context and the state of a slice's campaign; `nil` if the worker can't work on the slice. Before the
  /// function returns `nil`, it usually removes the reference from the worker's list in Redis, or gives it back to all
  /// workers. If the configuration does not contain the app, the reference stays in the list.
  func context(of reference: SliceReference) async throws -> (CampaignContext, CampaignState)? {
    switch try await context(of: reference.campaign) {
    case .found(let context, let state): return (context, state)
    case .gone: try await sharedStore.slices.dismiss(reference, worker: environment.configuration.name)
    case .skipped(let lane):
      try await sharedStore.slices.requeue(reference, lane: lane, worker: environment.configuration.name)
    case .unknownApp: break
    }
    return nil
  }

  /// The result of a search for a campaign's context.
  private enum ContextLookup {
    case found(CampaignContext, CampaignState)
    case gone
    /// This worker passes the campaign over: it has declined the campaign, or it is reading the campaign's large job.
    /// The claim loop wakes when the job has been read.
    case skipped(Lane)
    /// The configuration has no such app.
    case unknownApp
  }

  /// Returns the context of a campaign. Builds it if there is none.
  private func context(of id: String) async throws -> ContextLookup {
    guard let status = try await sharedStore.campaigns.status(of: id) else { return .gone }
    if status.state == .active, declined.declines.applies(to: id, round: status.round) {
      return .skipped(status.lane)
    }
    if selection.record(unfinished: status.unfinished, fleet: environment.fleet) { wakeClaims() }
    if let known = campaigns.context(id, round: status.round), known.progress.isNarrowed || !status.isNarrowed {
      known.progress.expansion.unfinished = status.unfinished
      // The guard has tripped, but Redis has not recorded the pause.
      if status.state == .active, let reason = known.guard.tripReason { guards.pause(known, reason) }
      return .found(known, status.state)
    }
    if readings.isReading(id) { return .skipped(status.lane) }
    guard let (record, job) = try await sharedStore.campaigns.findWithJob(id) else { return .gone }
    if let known = campaigns.context(id, round: record.resumes.round) {
      known.fixPartitions(record.placement.definitions)
      return .found(known, record.state)
    }
    guard let parsed = await read(job, record) else { return .skipped(record.lane) }
    // While this function read the campaign, a task of another slice may have built the context.
    if let known = campaigns.context(id, round: record.resumes.round) {
      known.fixPartitions(record.placement.definitions)
      return .found(known, record.state)
    }
    do throws(JobError) {
      let (campaign, legs) = try parsed.get()
      guard let app = environment.configuration.apps[campaign.app] else { return .unknownApp }
      let context = try factory.context(of: campaign, legs: legs, record, job, app)
      context.progress.expansion.unfinished = status.unfinished
      if app.backend != nil { await backends.loadStatus() }
      campaigns.add(context)
      // After a resume, the worker tries a stopped credential again.
      if record.state == .active {
        context.facts.channel.credential.resume()
        if campaigns.recordRound(record.resumes.round, of: id) { log.write(.resumed(campaign: id)) }
      }
      return .found(context, record.state)
    } catch {
      // The job was valid for the worker that activated it, so this worker has other settings.
      declined.decline(
        id, round: record.resumes.round,
        "the campaign is invalid with the settings of this worker: \(error.reason)")
      return .skipped(record.lane)
    }
  }

  /// Returns the context of a campaign for a batch of slices; `nil` if the campaign needs special treatment, for
  /// example because it is paused or declined, or because its job was not read yet.
  func plainContext(of id: String) async throws -> CampaignContext? {
    guard let status = try await sharedStore.campaigns.status(of: id), status.state == .active, !life.isStopping,
      !declined.declines.applies(to: id, round: status.round),
      let context = campaigns.context(id, round: status.round), context.progress.isNarrowed,
      !context.facts.route.isStuck,
      context.guard.tripReason == nil,
      context.campaign.recipients.limit == nil || context.progress.expansion.quotas != nil
    else { return nil }
    context.progress.expansion.unfinished = status.unfinished
    if selection.record(unfinished: status.unfinished, fleet: environment.fleet) { wakeClaims() }
    return try await preconditions.canExpand(context) ? context : nil
  }

  /// Parses a campaign's job outside the worker's loop.
  ///
  /// - Returns: `nil` if the job is large and has not been read yet. Parsing it takes a fraction of a second. The claim
  ///   loop wakes when the job has been parsed, and the next call returns the result.
  private func read(_ job: [UInt8], _ record: CampaignRecord) async -> JobReadings.Reading? {
    let key = JobReadings.Key(record)
    if let result = readings.take(key) { return result }
    let (reading, isNew) = readings.begin(key, job, record, environment.configuration.jobApps, hook: jobHook)
    guard LargeJobs.isLarge(job) else {
      let result = await reading.value
      if isNew { readings.end(key) }
      return result
    }
    guard isNew else { return nil }
    loop.start {
      let result = await reading.value
      self.readings.end(key, keeping: result)
      self.wakeClaims()
    }
    return nil
  }
}
