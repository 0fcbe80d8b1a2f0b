public import PushCore
import Redis

/// Result of checking a campaign's gate.
public enum GateFinding: Sendable, Equatable {
  /// The next stage has begun.
  ///
  /// - Parameter winner: the name of the winning variant; `nil` if the gate chose none.
  case opened(stage: String, winner: String?)
  /// The campaign is paused, and a person must decide.
  case paused(String)
  /// The gate is checked again later, or no longer exists.
  case waits
}

/// The gates of campaigns with stages. When a gate opens, the next stage begins, together with its companions. Several
/// workers may check a gate at the same time; a stage begins once (`opengate.lua`).
extension Campaigns {
  /// Interval in ms between checks of a gate whose stage has targets without an outcome, or whose campaign is paused.
  /// The end of the stage and the resume of the campaign also trigger a check (`endpart.lua`, `control.lua`). The
  /// interval is needed if such a trigger is lost.
  private static let gateInterval = 60_000

  /// Checks the gate at which a campaign waits, and opens it or pauses the campaign.
  ///
  /// - Parameter dueAt: the time at which the check became due, as in ``DueTasks``.
  public func checkGate(of id: String, dueAt: Int) async throws -> GateFinding {
    guard let (record, job) = try await findWithJob(id), let place = record.staging.current, !record.state.isFinal,
      let campaign = try? await record.read(job, record.apps(in: services)),
      let gate = StageGate(behind: place, of: campaign), let stages = campaign.delivery.stages
    else {
      try await deferGate(of: id, dueAt: dueAt, until: nil)
      return .waits
    }
    let now = try await store.time() / 1000
    guard record.state == .active else {
      try await deferGate(of: id, dueAt: dueAt, until: now + Self.gateInterval)
      return .waits
    }
    let finding = try await finding(at: place, of: campaign, record, stages.all[place])
    switch gate.verdict(finding, now: now) {
    case .unfinished: try await deferGate(of: id, dueAt: dueAt, until: now + Self.gateInterval)
    case .wait(let due): try await deferGate(of: id, dueAt: dueAt, until: due)
    case .pause(let reason, let needsApproval):
      let state = try await control(
        id, .pause, reason: reason, round: record.resumes.round, gate: place, needsApproval: needsApproval)
      if state == .paused { return .paused(reason) }
    case .open(let winner):
      let winner = winner ?? (stages.winnerPlace.map { $0 <= place } == true ? record.staging.winner : nil)
      guard try await openGate(behind: place, of: campaign, job, start: now, winner: winner) else { break }
      let name = stages.winnerPlace == place ? winner.flatMap { campaign.message.variants?.all[$0].name } : nil
      return .opened(stage: Self.name(ofStage: place + 1, of: campaign), winner: name)
    }
    return .waits
  }

  private static func name(ofStage place: Int, of campaign: Campaign) -> String {
    campaign.parts(ofStage: place).first.map { "\(CampaignPart($0.stage))" } ?? ""
  }

  /// Returns the counts of a stage, from which its gate decides.
  private func finding(
    at place: Int, of campaign: Campaign, _ record: CampaignRecord, _ stage: CampaignStages.Stage
  ) async throws -> StageGate.Finding {
    var finding = StageGate.Finding(
      finishedAt: nil, winner: record.staging.winner, isOverridden: record.staging.overridden == place)
    // The stage has ended when all of its legs have ended. A paused leg does not delay the other legs: the gate decides
    // without it.
    var finishedAt = 0
    var legs: [CampaignRecord] = []
    for part in campaign.legs(ofStage: place) {
      let id = CampaignID(whole: campaign.id, part: part).description
      guard let leg = try await self.find(id) else { return finding }
      guard let end = leg.times.finishedAt else {
        guard leg.state == .paused else { return finding }
        continue
      }
      finishedAt = max(finishedAt, end)
      finding.legs.append((name: part.service ?? "", outcomes: leg.counters.outcomes))
      legs.append(leg)
    }
    guard !legs.isEmpty else { return finding }
    finding.finishedAt = finishedAt
    // Users are counted for all legs together. The count is therefore complete when all legs have ended.
    let users = legs.reduce(0) { $0 + $1.counters.audience.users }
    if users > 0, legs.count == campaign.legs(ofStage: place).count { finding.users = users }
    if stage.minimumOpened != nil { finding.opened = try await store.results.receipts(ofLegs: legs)[.opened] ?? 0 }
    if let winner = stage.winner, let variants = campaign.message.variants {
      var counts = variants.all.map { _ in VariantCounts() }
      for part in (0...place).flatMap({ campaign.legs(ofStage: $0) }) {
        guard let leg = try await self.find(CampaignID(whole: campaign.id, part: part).description) else { continue }
        for (place, count) in try await variantCounts(of: leg, variants).enumerated() { counts[place].add(count) }
      }
      finding.variants = Self.figures(counts, by: winner.measure)
    }
    return finding
  }

  /// Sets the time of the next check.
  ///
  /// - Parameter time: the time of the next check, in ms since the epoch; `nil` for no further check.
  private func deferGate(of id: String, dueAt: Int, until time: Int?) async throws {
    var pipeline = RedisPipeline()
    pipeline.script(StoreScripts.deferGate, keys: [keys.gates]) {
      $0.append(id)
      $0.append(dueAt)
      $0.append(time.map(String.init) ?? "")
    }
    _ = try await run(pipeline)
  }

  /// Begins the stage that follows a gate, with the companions of that stage.
  ///
  /// - Parameters:
  ///   - place: the place of the stage before the gate.
  ///   - job: the job of the campaign.
  ///   - start: the start of the stage, in ms since the epoch.
  ///   - winner: the place of the variant that the stage gets; `nil` if each user is assigned one.
  ///   - isAgain: whether the stage had begun before, and Redis has lost this fact.
  /// - Returns: whether this call has begun it.
  func openGate(
    behind place: Int, of campaign: Campaign, _ job: [UInt8], start: Int, winner: Int?, isAgain: Bool = false
  ) async throws -> Bool {
    let apps = JobApps.any(campaign.legs.compactMap { services[$0.service] })
    let ids = campaign.parts(ofStage: place + 1).map { CampaignID(whole: campaign.id, part: $0) }
    let read = await LargeJobThread.read(job.count) {
      Result { () throws(JobError) in
        var parts: [Campaign] = []
        for id in ids { parts.append(try CampaignJob.part(id, of: job, apps, start: start / 1000, variant: winner)) }
        return parts
      }
    }
    let parts: [Campaign]
    do {
      parts = try read.get()
    } catch {
      throw StoreError(.invalid, error.reason, hint: error.hint ?? "")
    }
    let partitions = store.queue.listedPartitions(of: campaign)
    let hasGate = place + 1 < campaign.delivery.stages?.all.count ?? 0
    var pipeline = RedisPipeline()
    pipeline.script(
      StoreScripts.openGate,
      keys: [
        keys.campaign(campaign.id), keys.gates, keys.lane(campaign.delivery.lane.rawValue), keys.running, keys.schedule,
        keys.wake,
        keys.timeline(campaign.id), keys.store,
      ] + parts.flatMap { [keys.campaign($0.id), keys.open($0.id)] }
    ) {
      $0.append(campaign.id)
      $0.append(place + 1)
      $0.append(start)
      $0.append(hasGate ? String(start) : "")
      $0.append(winner.map(String.init) ?? "")
      $0.append(winner.flatMap { campaign.message.variants?.all[$0].name } ?? "")
      $0.append(keys.partitions)
      $0.append(isAgain ? 1 : 0)
      $0.append(Self.name(ofStage: place + 1, of: campaign))
      $0.append(partitions.count)
      for partition in partitions { $0.append(partition) }
      for part in parts {
        let begins = max(start, part.delivery.timing.localTime == nil ? 0 : part.delivery.sendAt ?? 0)
        $0.append(part.id)
        $0.append(part.delivery.timing.localTime == nil ? "" : String(begins))
        $0.append(part.commonExpiration(startingAt: begins / 1000).map(String.init) ?? "")
        $0.append(part.part.map(campaign.isReversed) == true ? "LPUSH" : "RPUSH")
      }
    }
    return try await run(pipeline)[0].integer == 1
  }

  /// Begins a stage again, with its original start, after Redis has lost the beginning of the stage. The call also
  /// begins earlier stages that Redis has lost, because the campaign would never end without them.
  ///
  /// - Parameters:
  ///   - part: a part of that stage.
  ///   - job: the job of its campaign.
  ///   - start: the original start of the stage, in ms since the epoch.
  public func restoreStage(of part: Campaign, job: [UInt8], start: Int) async throws {
    guard let stage = part.part?.stage, part.index(of: stage) > 0 else { return }
    guard try await find(part.id)?.staging.isGated == true else { return }
    var pipeline = RedisPipeline()
    pipeline.append("HGET", keys.campaign(part.whole), "stage")
    let begun = try await run(pipeline)[0].integer ?? 0
    let whole: Campaign
    do {
      let apps = JobApps.any(part.legs.compactMap { services[$0.service] })
      whole = try await CampaignJob.read(job, apps, as: part.whole)
    } catch {
      throw StoreError(.invalid, error.reason, hint: error.hint ?? "")
    }
    for place in begun..<max(begun, part.index(of: stage)) {
      _ = try await openGate(behind: place, of: whole, job, start: start, winner: part.message.variant, isAgain: true)
    }
  }
}
