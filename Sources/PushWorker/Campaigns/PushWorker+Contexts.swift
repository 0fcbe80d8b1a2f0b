import CampaignStore
import EventLoop
import PushCore
import PushTransport

/// Builds the contexts of campaigns: the job, read once, and what slices of one campaign share.
extension PushWorker {
  /// Returns the context of a slice's campaign, and its state; `nil` when there is nothing to work on, in which case the
  /// reference has been dropped or given back.
  func context(of reference: SliceReference) async throws -> (CampaignContext, CampaignState)? {
    switch try await context(of: reference.campaign) {
    case .found(let context, let state): return (context, state)
    case .gone: try await control.slices.dismiss(reference, worker: configuration.name)
    case .notNow(let lane): try await control.slices.requeue(reference, lane: lane, worker: configuration.name)
    case .unknownApp: break
    }
    return nil
  }

  /// What this worker can do with a campaign.
  private enum ContextFinding {
    case found(CampaignContext, CampaignState)
    case gone
    /// This worker passes the campaign over: it has objected to the campaign, or it is reading the campaign's large job. The
    /// claim loop wakes when the job has been read.
    case notNow(Lane)
    /// Its app is not in the configuration.
    case unknownApp
  }

  /// Fixes the partitions of a campaign that begins to expand, unless something keeps it from being expanded.
  ///
  /// - Returns: whether slices of it can be taken now. While a large job is read they can't, so that the campaigns behind it
  ///   are served meanwhile; the end of the reading wakes the claim loop.
  func begin(_ id: String) async throws -> Bool {
    guard case .found(let context, .active) = try await context(of: id), try await canExpand(context)
    else {
      return false
    }
    do {
      guard let definitions = try await control.audiences.narrow(context.campaign) else { return false }
      context.narrow(definitions)
      return true
    } catch let error as StoreError where error.code == .invalid {
      pauseCampaign(id, round: context.round, "audience: \(error.message): \(error.hint)")
      return false
    }
  }

  private func context(of id: String) async throws -> ContextFinding {
    guard let standing = try await control.campaigns.standing(of: id) else { return .gone }
    if standing.state == .active, campaigns.objections.applies(to: id, round: standing.round) {
      return .notNow(standing.lane)
    }
    if scheduler.note(unfinished: standing.unfinished) { wakeClaims() }
    if let known = campaigns.context(id, round: standing.round), known.isNarrowed || !standing.isNarrowed {
      known.prospect.unfinished = standing.unfinished
      // Its guard has tripped, and that did not get through.
      if standing.state == .active, let reason = known.guard.tripReason { pauseByGuard(known, reason) }
      return .found(known, standing.state)
    }
    if readings.isReading(id) { return .notNow(standing.lane) }
    guard let (record, job) = try await control.campaigns.findWithJob(id) else { return .gone }
    if let known = campaigns.context(id, round: record.round) {
      known.narrow(record.definitions)
      return .found(known, record.state)
    }
    guard let parsed = await read(job, record) else { return .notNow(record.lane) }
    // Another slice of it may have been first.
    if let known = campaigns.context(id, round: record.round) {
      known.narrow(record.definitions)
      return .found(known, record.state)
    }
    do throws(JobError) {
      let campaign = try parsed.get()
      guard let app = configuration.apps[campaign.app] else { return .unknownApp }
      try checkZones(of: campaign)
      let context = CampaignContext(
        campaign: campaign, record: record, job: job, app: app, zones: store.zones, route: route(for: campaign, app),
        policy: configuration.guard.within(window: configuration.window), limits: rates.limits(of: campaign, app),
        tally: figures.tally(of: campaign, app.service))
      context.prospect.unfinished = standing.unfinished
      if app.backend != nil { await learnOfBackends() }
      campaigns.add(context)
      // Whoever set the campaign going again wants its credential tried again.
      if record.state == .active {
        app.credential.resume()
        if campaigns.noteRound(record.round, of: id) { log.tell(.resumed(campaign: id)) }
      }
      return .found(context, record.state)
    } catch {
      // It was valid where it was taken in: this worker is configured otherwise.
      object(to: id, round: record.round, "it can't be run with the settings here: \(error.reason)")
      return .notNow(record.lane)
    }
  }

  /// Reads a campaign's job outside the worker's loop.
  ///
  /// - Returns: `nil` if the job is large and has not been read yet. Reading it takes a fraction of a second. The claim loop
  ///   wakes when it has been read, and the next call returns the result.
  private func read(_ job: [UInt8], _ record: CampaignRecord) async -> Result<Campaign, JobError>? {
    let key = JobReadings.Key(record)
    if let result = readings.take(key) { return result }
    let (reading, isNew) = readings.begin(key, job, record, configuration.jobApps, hook: jobHook)
    guard LargeJobs.isLarge(job) else {
      let result = await reading.value
      if isNew { readings.end(key) }
      return result
    }
    guard isNew else { return nil }
    Task {
      let result = await reading.value
      readings.end(key, keeping: result)
      wakeClaims()
    }
    return nil
  }

  private func route(for campaign: Campaign, _ app: AppChannel) -> Route {
    let inbox = inbox
    defer { budget.isShared = routes.areSeveral }
    return routes.route(for: campaign.channel == nil ? app : app.broadcasting, configuration) { inbox.put($0) }
  }

  /// Refuses a campaign whose default zone this machine does not know: no other zone may stand in its place.
  private func checkZones(of campaign: Campaign) throws(JobError) {
    guard campaign.delivery.timing.isPerDevice else { return }
    guard store.zones.isThere else {
      throw JobError(
        field: "",
        message:
          "there is no time zone data in \(store.zones.folder): install the package tzdata, or set worker.zoneinfo")
    }
    let zone = campaign.delivery.timing.defaultZone
    guard store.zones.rules(zone) == nil else { return }
    throw JobError(
      field: "defaultTimezone",
      message: "there is no \(Excerpt.quoted(zone)) among the time zones of this machine, in \(store.zones.folder)",
      hint: "install the packages tzdata and tzdata-legacy, or set worker.zoneinfo")
  }
}
