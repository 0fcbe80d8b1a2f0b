import PushCore
import Redis

/// Jobs that ask for a campaign again and again. Such a job is a campaign that is scheduled and never begins: each time a
/// campaign of its own is made, with an id of its own, which goes its way like any other.
extension CampaignStore {
  /// When the first run of a job begins, in ms since the epoch; `nil` for a job that is not repeated.
  ///
  /// - Parameter now: ms since the epoch.
  /// - Throws: ``StoreError`` `invalid` when there is none.
  func firstRun(of campaign: Campaign, now: Int) throws -> Int? {
    guard let repetition = campaign.timing.repetition else { return nil }
    guard let run = repetition.next(after: now / 1000, campaign.timing.localTime, in: try rules(of: repetition)) else {
      throw StoreError(
        .invalid, "repeat: no time of \(Excerpt.quoted(repetition.text)) is left before its end", hint: "check the year"
      )
    }
    return run.begins * 1000
  }

  private func rules(of repetition: Repetition) throws -> ZoneRules {
    if let rules = zones.rules(repetition.zone) { return rules }
    throw StoreError(
      .invalid, "repeat.zone: there is no \(repetition.zone) among the time zones of this machine, in \(zones.folder)",
      hint: "install the package tzdata, or set zoneinfo")
  }

  /// Begins what is due of those of these campaigns that are repeated.
  ///
  /// - Returns: those that are; and the campaigns that this call has made, which are yet to be taken in.
  func beginRuns(of ids: [String]) async throws -> (repeated: Set<String>, begun: [String]) {
    var pipeline = RedisPipeline()
    for id in ids { pipeline.append("HEXISTS", keys.campaign(id), "repeat") }
    let repeated = zip(ids, try await run(pipeline)).filter { $1.integer == 1 }.map(\.0)
    var begun: [String] = []
    for id in repeated {
      if let run = try await beginRun(of: id) { begun.append(run) }
    }
    return (Set(repeated), begun)
  }

  /// - Returns: the id of the campaign that this call has made.
  private func beginRun(of id: String) async throws -> String? {
    guard let (record, job) = try await campaignAndJob(id), record.state == .scheduled, let due = record.sendAt else {
      return nil
    }
    let now = try await time() / 1000
    guard let campaign = try? CampaignJob.parse(job, .any(services.service(ofApp: record.app))),
      let repetition = campaign.timing.repetition
    else { return nil }
    let local = campaign.timing.localTime
    let rules = try rules(of: repetition)
    // What workers missed is made up for by one.
    let run =
      repetition.last(until: now / 1000, from: due / 1000, local, in: rules)
      ?? Repetition.Run(begins: due / 1000, wall: rules.wall(at: due / 1000))
    let runID = Repetition.id(of: run, parent: id)
    let runJob = try CampaignJob.run(of: job, id: runID, localTime: local == nil ? nil : run.wall)
    let isBegun = try await moveOn(
      record, to: repetition.next(after: now / 1000, local, in: rules), beginning: (runID, runJob), repetition)
    return isBegun ? runID : nil
  }

  /// Leaves out what a paused job that is repeated has missed: nobody wants that at the moment in which it is resumed.
  func leaveOutMissed(of record: CampaignRecord) async throws {
    guard record.repetition != nil, record.state == .paused, let due = record.sendAt else { return }
    let now = try await time() / 1000
    guard due <= now, let (_, job) = try await campaignAndJob(record.id),
      let campaign = try? CampaignJob.parse(job, .any(services.service(ofApp: record.app))),
      let repetition = campaign.timing.repetition
    else { return }
    let next = repetition.next(after: now / 1000, campaign.timing.localTime, in: try rules(of: repetition))
    _ = try await moveOn(record, to: next, beginning: ("", []), repetition)
  }

  /// - Parameters:
  ///   - next: the run after that; `nil` for none.
  ///   - run: the campaign that begins; no job for none.
  private func moveOn(
    _ record: CampaignRecord, to next: Repetition.Run?, beginning run: (id: String, job: [UInt8]),
    _ repetition: Repetition
  ) async throws -> Bool {
    let id = record.id
    let last = record.repetition?.lastRun ?? ""
    var pipeline = RedisPipeline(reserving: run.job.count + 512)
    pipeline.script(
      StoreScripts.repeatRun,
      keys: [
        keys.campaign(id), keys.schedule, keys.campaigns, keys.ended, keys.store,
        keys.campaign(last.isEmpty ? id : last),
      ]
    ) {
      $0.append(id)
      $0.append(record.sendAt ?? 0)
      $0.append(run.id)
      $0.append(run.job)
      $0.append(next.map { String($0.begins * 1000) } ?? "")
      $0.append(repetition.count.map(String.init) ?? "")
      $0.append(repetition.skipsIfRunning ? last : "")
    }
    let reply = try await self.run(pipeline)[0]
    if reply[1].integer == 1 { try await expire(id) }
    return reply[0].integer == 1
  }
}

/// How far a job is that asks for campaigns again and again.
public struct RepetitionRecord: Sendable, Equatable {
  /// When, as its job has it.
  public var schedule: String
  /// Campaigns that it has made.
  public var runs: Int
  /// Those that were left out because the one before had not ended.
  public var leftOut: Int
  /// The id of the last of them; `nil` before the first.
  public var lastRun: String?
}
