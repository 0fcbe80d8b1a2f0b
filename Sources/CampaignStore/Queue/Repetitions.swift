import PushCore
import Redis

/// Recurring campaigns. A job with `repeat` becomes a campaign that is scheduled and never sends pushes itself. For
/// each run, the workers create a campaign with its own id, and process this campaign like any other.
extension Queue {
  /// Returns when the first run of a job begins, in ms since the epoch; `nil` for a job without `repeat`.
  ///
  /// - Parameter now: ms since the epoch.
  /// - Throws: ``StoreError`` `invalid` if the job has no further run.
  func firstRun(of campaign: Campaign, now: Int) throws -> Int? {
    guard let repetition = campaign.delivery.timing.repetition else { return nil }
    guard
      let run = repetition.next(after: now / 1000, campaign.delivery.timing.localTime, in: try rules(of: repetition))
    else {
      throw StoreError(.invalid, "repeat: \(repetition.problemWithoutRun)", hint: "check the year")
    }
    return run.begins * 1000
  }

  private func rules(of repetition: Repetition) throws -> ZoneRules {
    if let rules = zones.rules(repetition.zone) { return rules }
    throw StoreError(
      .invalid, "repeat.zone: this machine has no time zone \(repetition.zone) in \(zones.folder)",
      hint: "install the package tzdata, or set worker.zoneinfo")
  }

  /// Begins the due runs of campaigns. Campaigns that are not recurring are skipped.
  ///
  /// - Returns: the ids of the runs that this call has created. Workers still have to take them in.
  func beginRuns(of ids: [String]) async throws -> [String] {
    var pipeline = RedisPipeline()
    for id in ids { pipeline.append("HGET", keys.campaign(id), "repeat") }
    let repeated = zip(ids, try await run(pipeline)).filter { !$1.isNull }.map(\.0)
    var begun: [String] = []
    var failure: (any Error)?
    for id in repeated {
      do {
        if let run = try await beginRun(of: id) { begun.append(run) }
      } catch {
        failure = error
      }
    }
    // A failed run does not stop the runs of other campaigns, so its error is thrown only if no run has begun.
    if begun.isEmpty, let failure { throw failure }
    return begun
  }

  /// Begins the due run of a recurring campaign.
  ///
  /// - Returns: the id of the run that this call has created.
  private func beginRun(of id: String) async throws -> String? {
    guard let (record, job) = try await store.campaigns.findWithJob(id), record.state == .scheduled,
      let due = record.times.sendAt
    else {
      return nil
    }
    let now = try await store.time() / 1000
    guard let campaign = try? await record.read(job, record.apps(in: services)),
      let repetition = campaign.delivery.timing.repetition
    else { return nil }
    let local = campaign.delivery.timing.localTime
    let rules = try rules(of: repetition)
    // A single run replaces all runs that the workers missed.
    let run =
      repetition.last(until: now / 1000, from: due / 1000, local, in: rules)
      ?? Repetition.Run(begins: due / 1000, wall: rules.wall(at: due / 1000))
    let runID = Repetition.id(of: run, parent: id)
    let isBegun = try await advance(
      record, to: repetition.next(after: now / 1000, local, in: rules), beginning: runID, repetition)
    return isBegun ? runID : nil
  }

  /// Skips the runs that a recurring campaign missed while it was paused. A resume does not start a missed run.
  func leaveOutMissed(of record: CampaignRecord) async throws {
    guard record.repetition != nil, record.state == .paused, let due = record.times.sendAt else { return }
    let now = try await store.time() / 1000
    guard due <= now, let (_, job) = try await store.campaigns.findWithJob(record.id),
      let campaign = try? await record.read(job, record.apps(in: services)),
      let repetition = campaign.delivery.timing.repetition
    else { return }
    let next = repetition.next(after: now / 1000, campaign.delivery.timing.localTime, in: try rules(of: repetition))
    _ = try await advance(record, to: next, beginning: nil, repetition)
  }

  /// Maximum number of earlier runs of a recurring campaign that have not ended when its next run is due. If there are
  /// more, the next run is skipped. The number is limited, because a pause or cancel of the recurring campaign changes
  /// all of these runs in one step.
  static let maximumOpenRuns = 100

  /// Sets the time of a recurring campaign's next run, and begins the present run.
  ///
  /// - Parameters:
  ///   - next: the run that becomes due after the present one; `nil` if there is none.
  ///   - run: the id of the present run; `nil` if the run is skipped.
  /// - Returns: whether this call began the run.
  func advance(
    _ record: CampaignRecord, to next: Repetition.Run?, beginning run: String?, _ repetition: Repetition
  ) async throws -> Bool {
    let id = record.id
    let runs = record.repetition?.unfinishedRuns ?? []
    var pipeline = RedisPipeline()
    pipeline.script(
      StoreScripts.repeatRun,
      keys: [keys.campaign(id), keys.schedule, keys.campaigns, keys.ended, keys.store]
        + runs.map { keys.campaign($0) }
    ) {
      $0.append(id)
      $0.append(record.times.sendAt ?? 0)
      $0.append(run ?? "")
      $0.append(run.map(RunRequest.text) ?? "")
      $0.append(next.map { String($0.begins * 1000) } ?? "")
      $0.append(repetition.count.map(String.init) ?? "")
      $0.append(repetition.skipsIfRunning ? 0 : Self.maximumOpenRuns)
      $0.append(record.repetition?.lastRun.map(RunRequest.text) ?? "")
      for run in runs { $0.append(run) }
    }
    let reply = try await self.run(pipeline)[0]
    if reply[1].integer == 1 { try await store.campaigns.end(id) }
    return reply[0].integer == 1
  }
}

/// Progress of a recurring campaign.
public struct RepetitionRecord: Sendable, Equatable {
  /// The schedule as the job contains it.
  public var schedule: String
  /// Number of runs that have begun.
  public var runs: Int
  /// Number of runs that were skipped because earlier runs had not ended.
  public var leftOut: Int
  /// The id of the last run; `nil` before the first.
  public var lastRun: String?
  /// The ids of the earlier runs that had not ended when the last run began, the oldest first.
  public var openRuns: [String] = []
  /// Whether no worker has taken in the last run yet.
  public var isPending = false

  /// The ids of the runs that may not have ended, the oldest first.
  public var unfinishedRuns: [String] { openRuns + (lastRun.map { [$0] } ?? []) }
}

/// The entry on the producers' list for a run of a recurring campaign. It contains only the id of the run. The worker
/// derives the run's job from the recurring campaign, which lists the run (`repeat.lua`, `activate.lua`).
public enum RunRequest {
  private static let prefix = "run "

  static func text(of id: String) -> String { prefix + id }

  /// Returns the id of the run; `nil` if the entry is not such a request.
  public static func id(_ entry: [UInt8]) -> String? {
    let text = String(decoding: entry.prefix(256), as: UTF8.self)
    guard text.hasPrefix(prefix) else { return nil }
    return String(text.dropFirst(prefix.count))
  }
}

extension Queue {
  /// Returns the job of a run that a recurring campaign lists and that no worker has taken in yet; `nil` if there is no
  /// such run.
  public func job(ofRun id: String) async throws -> [UInt8]? {
    guard let (parent, wall) = Repetition.run(id), let (record, job) = try await store.campaigns.findWithJob(parent),
      record.repetition?.lastRun == id, record.repetition?.isPending == true
    else { return nil }
    return try await LargeJobThread.read(job.count) {
      Result { () throws(JSONSyntaxError) in
        let isLocal = CampaignJob.timing(of: job)?.timing.localTime != nil
        return try CampaignJob.run(of: job, localTime: isLocal ? wall : nil)
      }
    }.get()
  }

  /// Marks the last run of a recurring campaign as taken in.
  func endPending(_ parent: String) async throws {
    var pipeline = RedisPipeline()
    pipeline.append("HDEL", keys.campaign(parent), "pending")
    _ = try await run(pipeline)
  }

  /// Puts the request for a run back on the producers' list after the run could not be taken in, and removes the run's
  /// job from the dead list.
  ///
  /// - Parameter key: the key of its job in the dead list.
  /// - Throws: ``StoreError`` `invalid` if the run's recurring campaign no longer exists, or has begun another run
  ///   since.
  public func retry(run id: String, from key: String) async throws {
    guard let (parent, _) = Repetition.run(id), try await store.campaigns.find(parent)?.repetition?.lastRun == id else {
      throw StoreError(
        .invalid, "\(id) is not the latest run of a recurring campaign",
        hint: "drop this run: carillon dead drop \(key); the next run starts at its time")
    }
    var pipeline = RedisPipeline()
    pipeline.append("HSET", keys.campaign(parent), "pending", 1)
    pipeline.append("LPUSH", keys.campaigns, RunRequest.text(of: id))
    pipeline.append("XDEL", keys.dead, key)
    _ = try await run(pipeline)
  }

  /// Removes the request for a run from a worker's list, because the run was taken in or does not exist.
  public func dismissRun(_ request: [UInt8], worker: String) async throws {
    try await acknowledge(request, worker: worker)
  }

  /// Moves the job of a run that can't be taken in to the dead list, with the reason. The schedule of later runs does
  /// not change.
  public func deadLetter(
    run id: String, request: [UInt8], job: [UInt8], reason: String, hint: String, worker: String
  ) async throws -> String {
    // Write the dead list first. If this worker dies before it removes the request, the run is on both lists instead of
    // on none.
    var pipeline = RedisPipeline(reserving: job.count + 512)
    pipeline.append(
      "XADD", keys.dead, "MAXLEN", "~", Self.deadJobs, "*", "reason", reason, "hint", hint, "id", id, "size", job.count,
      "job", Array(job.prefix(Self.deadJobSize)))
    if let (parent, _) = Repetition.run(id) { pipeline.append("HDEL", keys.campaign(parent), "pending") }
    acknowledge(request, worker: worker, to: &pipeline)
    return try await run(pipeline)[0].string ?? ""
  }

  /// Removes the request for a run from the producers' list, so that the run is skipped.
  ///
  /// - Returns: the number of removed copies.
  func unqueue(run id: String, request: [UInt8]) async throws -> Int {
    var pipeline = RedisPipeline()
    pipeline.append("LREM", keys.campaigns, 0, request)
    let count = try await run(pipeline)[0].integer ?? 0
    if count > 0, let (parent, _) = Repetition.run(id) { try await endPending(parent) }
    return count
  }
}
