import PushCore
import Redis

/// Action on a campaign.
public enum ControlVerb: String, Sendable {
  case pause, resume, cancel
  /// Resumes a campaign that waits for approval.
  case approve
  /// Chooses the winning variant for later stages (`decide.lua`, `opengate.lua`).
  case decide
  /// Begins a stage (`opengate.lua`).
  case open
}

/// A campaign, run or leg that a resume has resumed.
public struct ResumedCampaign: Sendable, Equatable {
  public var id: String
  /// The reason of its pause; `nil` if none was given.
  public var reason: String?

  /// Creates a value.
  public init(id: String, reason: String?) {
    (self.id, self.reason) = (id, reason)
  }
}

/// The control state of the campaigns that a worker holds, read in one step.
public struct ControlView: Sendable {
  /// The control epoch: the number of changes so far that workers must apply, such as pauses and resumes.
  public var epoch: Int
  /// Whether campaigns may begin.
  public var lock: StoreLock
  /// The states of the campaigns, in the requested order; `nil` for a campaign that does not exist.
  public var states: [CampaignState?]
  /// The number of resumes of each campaign, in the requested order.
  public var rounds: [Int]
}

/// An entry of a campaign's timeline, which is the list of actions on the campaign.
public struct TimelineEntry: Sendable, Equatable {
  /// Time of the action, in ms since the epoch.
  public var at: Int
  public var verb: ControlVerb
  /// Whether a worker acted on its own.
  public var isByWorker: Bool
  /// The person who acted; `nil` if unknown.
  public var person: String?
  /// The reason; `nil` if none was given.
  public var reason: String?

  /// Reads an entry.
  ///
  /// - Parameter text: the entry as `control.lua` writes it.
  init?(_ text: String) {
    let fields = text.split(separator: "\t", maxSplits: 4, omittingEmptySubsequences: false).map(String.init)
    guard fields.count == 5, let at = Int(fields[0]), let verb = ControlVerb(rawValue: fields[1]) else { return nil }
    (self.at, self.verb, isByWorker) = (at, verb, fields[2] == "worker")
    person = fields[3].isEmpty ? nil : fields[3]
    reason = fields[4].isEmpty ? nil : fields[4]
  }
}

/// Campaign control: pauses, resumes and cancels campaigns, and confirms that every worker has applied the change.
///
/// Each change raises the control epoch. A worker reads the epoch and the states in one step, applies the states, and
/// then reports this epoch.
extension Campaigns {
  /// Pauses, resumes or cancels a campaign on behalf of a worker. Workers apply the change within moments. A pause by a
  /// worker is shown as "paused itself". A pause or resume of a leg concerns all legs of the same push service.
  ///
  /// - Parameters:
  ///   - everyLeg: whether a pause or resume of a leg concerns the whole campaign.
  ///   - unguarded: for a resume, whether all prunes and quarantines are carried out, without a limit for their share.
  ///   - round: the number of resumes that the worker knows. If the campaign has been resumed since, nothing changes.
  ///     `nil` for no such condition.
  ///   - gate: the place of the stage whose gate pauses the campaign; `nil` for none.
  ///   - needsApproval: whether only an approval resumes the campaign.
  /// - Returns: the new state. It is unchanged if the verb does not apply to the old state.
  /// - Throws: ``StoreError`` `notFound`.
  @discardableResult
  public func control(
    _ id: String, _ verb: ControlVerb, reason: String = "", unguarded: Bool = false, round: Int? = nil,
    gate: Int? = nil, needsApproval: Bool = false, everyLeg: Bool = false
  ) async throws -> CampaignState {
    let service = everyLeg || verb == .cancel ? nil : CampaignID(id).part?.service
    return try await changeState(
      of: id, verb, reason, unguarded: unguarded, isByPerson: false, round: round, gate: gate,
      needsApproval: needsApproval, service: service
    ).state
  }

  /// Pauses, resumes or cancels a campaign on behalf of a person, and waits until every live worker has applied the
  /// change. By then, each worker has sent at most one window of pushes after the pause or cancel.
  ///
  /// - Parameters:
  ///   - person: the person; empty if unknown.
  ///   - service: the push service whose legs change; `nil` for the whole campaign.
  ///   - lease: ms without a heartbeat after which a worker counts as dead. The wait ends after twice this time.
  /// - Returns: the new state, and the live workers that have not confirmed it: usually none.
  /// - Throws: ``StoreError`` `notFound`.
  public func controlEverywhere(
    _ id: String, _ verb: ControlVerb, reason: String = "", by person: String = "", service: String? = nil, lease: Int
  ) async throws -> (state: CampaignState, unconfirmed: [String]) {
    let (state, epoch, _) = try await changeState(
      of: id, verb, reason, unguarded: false, isByPerson: true, person, service: service)
    let end = ContinuousClock.now + .milliseconds(2 * lease)
    while true {
      let lagging = try await workersLagging(behind: epoch, timeout: lease)
      if lagging.isEmpty || ContinuousClock.now >= end { return (state, lagging) }
      try await Task.sleep(for: Self.confirmationInterval)
    }
  }

  /// Resumes a campaign on behalf of a person.
  ///
  /// - Parameters:
  ///   - unguarded: whether all prunes and quarantines are carried out, without a limit for their share.
  ///   - person: the person; empty if unknown.
  ///   - service: the push service whose legs continue; `nil` for the whole campaign.
  /// - Returns: the new state, and what was paused before: the campaign, its legs, and the runs of a recurring
  ///   campaign.
  /// - Throws: ``StoreError`` `notFound`, or `unapproved` if the campaign needs approval. For a recurring campaign that
  ///   is not paused itself, this applies if all of its paused runs need approval.
  public func resume(
    _ id: String, unguarded: Bool, by person: String, service: String? = nil
  ) async throws -> (state: CampaignState, resumed: [ResumedCampaign]) {
    if let record = try await find(CampaignID(id).whole), let waiting = try await onlyApprovalResumes(record) {
      throw StoreError(
        .unapproved, "campaign \(waiting.id) needs approval before it continues",
        hint: "the approver must not be the submitter: carillon campaign approve \(waiting.id) --by NAME")
    }
    let answer = try await changeState(
      of: id, .resume, "", unguarded: unguarded, isByPerson: true, person, service: service)
    return (answer.state, answer.resumed)
  }

  /// Returns the campaign or run that waits for approval, if a resume would change nothing before this approval; `nil`
  /// otherwise.
  private func onlyApprovalResumes(_ record: CampaignRecord) async throws -> CampaignRecord? {
    if record.state == .paused { return record.waitsForApproval ? record : nil }
    var waiting: CampaignRecord?
    for id in record.repetition?.unfinishedRuns ?? [] {
      guard let run = try await find(id), run.state == .paused || !run.pausedLegs.isEmpty else { continue }
      guard run.waitsForApproval else { return nil }
      waiting = run
    }
    return waiting
  }

  /// Stores the counted users and pushes of a campaign for its approver.
  ///
  /// - Parameter id: the id of the campaign, or of a part of it.
  public func record(_ reached: Reached?, of id: String) async throws {
    guard let reached else { return }
    var pipeline = RedisPipeline()
    let key = keys.campaign(CampaignID(id).whole)
    pipeline.append("HSET", key, "reachedTargets", reached.targets)
    if let users = reached.users { pipeline.append("HSET", key, "reachedUsers", users) }
    _ = try await run(pipeline)
  }

  /// Approves a campaign that waits for approval. The campaign begins or is scheduled, or its next stage begins. For a
  /// recurring campaign, this approves the latest run that waits for approval.
  ///
  /// - Parameter person: the approver.
  /// - Throws: ``StoreError`` `notFound`, or `unapproved` if the campaign needs no approval or the person has submitted
  ///   it.
  public func approve(_ id: String, by person: String) async throws -> CampaignState {
    let record = try await approvable(id)
    guard record.approval.isNeeded, record.state == .paused else {
      throw StoreError(
        .unapproved, "campaign \(id) needs no approval: it is \(record.state.rawValue)",
        hint: "see: carillon campaign show \(id)")
    }
    guard record.approval.submittedBy != person else {
      throw StoreError(
        .unapproved, "\(Excerpt.quoted(person)) submitted campaign \(id) and can't approve it",
        hint: "ask another person to approve it")
    }
    return try await changeState(of: record.id, .approve, "", unguarded: false, isByPerson: true, person).state
  }

  /// Returns the campaign that an approval concerns: the campaign itself, or the latest run that waits for approval if
  /// the campaign is recurring.
  ///
  /// - Parameter id: the id of the campaign, or of a part of it.
  /// - Throws: ``StoreError`` `notFound`.
  public func approvable(_ id: String) async throws -> CampaignRecord {
    guard let record = try await find(CampaignID(id).whole) else { throw noSuchCampaign(id) }
    guard !record.approval.isNeeded else { return record }
    for run in record.repetition?.unfinishedRuns.reversed() ?? [] {
      if let run = try await find(run), run.waitsForApproval { return run }
    }
    return record
  }

  /// Returns the timeline of a campaign, oldest first: at most the last 200 entries.
  public func timeline(of id: String) async throws -> [TimelineEntry] {
    var pipeline = RedisPipeline()
    pipeline.append("LRANGE", keys.timeline(id), 0, -1)
    return try await run(pipeline)[0].compactMap { TimelineEntry($0.string ?? "") }
  }

  /// Interval between two checks for workers that have not applied an epoch. The workers do not wait for this interval,
  /// because a message notifies them.
  private static let confirmationInterval = Duration.milliseconds(20)

  private typealias ControlAnswer = (state: CampaignState, epoch: Int, resumed: [ResumedCampaign])

  /// Changes the state of a campaign with its parts, and of a recurring campaign with its unfinished runs, in one
  /// step. Raises the epoch.
  ///
  /// - Parameter id: the id of the campaign, or of a part of it.
  /// - Returns: the new state, the epoch, and the campaigns, runs and legs that a resume has resumed. A worker that has
  ///   applied this epoch knows of the change.
  private func changeState(
    of id: String, _ verb: ControlVerb, _ reason: String, unguarded: Bool, isByPerson: Bool, _ person: String = "",
    round: Int? = nil, gate: Int? = nil, needsApproval: Bool = false, service: String? = nil
  ) async throws -> ControlAnswer {
    for _ in 0..<Self.maximumReadings {
      let answer = try await changeStateOnce(
        of: id, verb, reason, unguarded: unguarded, isByPerson: isByPerson, person, round: round, gate: gate,
        needsApproval: needsApproval, service: service)
      if let answer { return answer }
    }
    throw await store.repair.damaged([keys.campaign(CampaignID(id).whole)])
  }

  /// Maximum number of times that one change reads the campaign. A run begins at most once a minute, so the second read
  /// finds the run and its parts, unless the record is damaged.
  private static let maximumReadings = 4

  /// Reads the campaign with its parts and its unfinished runs, and changes them.
  ///
  /// - Returns: `nil`, and no change, if a worker has begun or taken in a run since the campaign was read.
  private func changeStateOnce(
    of id: String, _ verb: ControlVerb, _ reason: String, unguarded: Bool, isByPerson: Bool, _ person: String,
    round: Int?, gate: Int?, needsApproval: Bool, service: String?
  ) async throws -> ControlAnswer? {
    let whole = CampaignID(id).whole
    guard let record = try await find(whole) else { throw noSuchCampaign(id) }
    if verb == .resume { try await store.queue.leaveOutMissed(of: record) }
    let lane = record.lane
    let service = try Self.scope(service, of: record)
    var ids = [whole] + record.staging.partIDs
    for run in record.repetition?.unfinishedRuns ?? [] { ids += [run] + (try await partIDs(of: run)) }
    var pipeline = RedisPipeline()
    pipeline.script(
      StoreScripts.control,
      keys: [
        keys.lane(lane.rawValue), keys.running, keys.schedule, keys.ended, keys.epoch, keys.answers(app: record.app),
        keys.wake, keys.store, keys.changes, keys.gates, keys.approvals,
      ]
        + ids.flatMap {
          [
            keys.campaign($0), keys.open($0), keys.guardTrial($0), keys.guardWatch($0), keys.declines($0),
            keys.timeline($0),
          ]
        }
    ) {
      $0.append(verb.rawValue)
      $0.append(reason)
      $0.append(unguarded ? "unguarded" : "")
      $0.append(isByPerson ? "person" : "worker")
      $0.append(person)
      $0.append(round.map(String.init) ?? "")
      $0.append(gate.map(String.init) ?? "")
      $0.append(needsApproval ? 1 : 0)
      $0.append(service ?? "")
      $0.append(ids.contains(id) ? id : whole)
      for id in ids { $0.append(id) }
    }
    let reply = try await run(pipeline)[0]
    if reply.first?.integer == -1 { return nil }
    // If only the legs of a service change, the new state is the state of these legs.
    let legs = ids.indices.filter { service != nil && CampaignID(ids[$0]).part?.service == service }
    let states = (legs.isEmpty ? [0] : legs).compactMap { index in
      reply.count == ids.count + 1 ? reply[index + 1].first?.string.flatMap(CampaignState.init(rawValue:)) : nil
    }
    guard let epoch = reply.first?.integer, let state = states.first(where: { !$0.isFinal }) ?? states.first else {
      throw noSuchCampaign(id)
    }
    var resumed: [ResumedCampaign] = []
    for (id, part) in zip(ids, reply.dropFirst()) where part.count >= 2 {
      if part.count > 2, let reason = part[2].string {
        resumed.append(ResumedCampaign(id: id, reason: reason.isEmpty ? nil : reason))
      }
      if part[1].integer == 1 {
        try await end(id)
      } else if verb == .cancel, part[0].string == CampaignState.cancelled.rawValue {
        try await unparkAll(of: id, lane: lane)
      }
    }
    return (state, epoch, resumed)
  }

  /// Returns the push service whose legs change; `nil` if all parts of the campaign change.
  private static func scope(_ service: String?, of record: CampaignRecord) throws(StoreError) -> String? {
    guard let service else { return nil }
    guard record.legs.contains(service) else {
      throw StoreError(
        .invalid, "campaign \(record.id) has no leg for \(Excerpt.quoted(service))",
        hint: "its legs are for: \(record.legs.joined(separator: ", "))")
    }
    return record.legs.count > 1 ? service : nil
  }

  /// Reads the control state of the campaigns that a worker holds, and reports what the worker has applied.
  ///
  /// - Parameters:
  ///   - ids: the campaigns.
  ///   - worker: the worker's name.
  ///   - applied: the latest epoch that the worker has applied; `nil` if it has applied none.
  public func syncControl(_ ids: [String], worker: String, applied: Int?) async throws -> ControlView {
    var pipeline = RedisPipeline()
    pipeline.script(
      StoreScripts.syncControl, keys: [keys.epoch, keys.applied, keys.store] + ids.map { keys.campaign($0) }
    ) {
      $0.append(worker)
      $0.append(applied.map(String.init) ?? "")
      $0.append(keys.partitions)
    }
    let reply = try await run(pipeline)[0]
    guard let epoch = reply.first?.integer, 0...StoredHash.maximumCounted ~= epoch, reply.count == 2 + 2 * ids.count
    else {
      throw await store.repair.damaged([keys.epoch])
    }
    let campaigns = stride(from: 2, to: reply.count - 1, by: 2)
    return ControlView(
      epoch: epoch, lock: reply[1].integer.flatMap(StoreLock.init(rawValue:)) ?? .none,
      states: campaigns.map { reply[$0].string.flatMap(CampaignState.init(rawValue:)) },
      // An invalid number counts as 0 here. The worker that takes a slice of the campaign detects the damage.
      rounds: campaigns.map { reply[$0 + 1].integer.flatMap { 0...StoredHash.maximumCounted ~= $0 ? $0 : nil } ?? 0 })
  }

  /// Returns live workers that have not applied an epoch yet, at most ``CampaignStore/batch``.
  func workersLagging(behind epoch: Int, timeout: Int) async throws -> [String] {
    var pipeline = RedisPipeline()
    pipeline.script(StoreScripts.lagging, keys: [keys.workers, keys.applied]) {
      $0.append(epoch)
      $0.append(timeout)
      $0.append(CampaignStore.batch)
    }
    return try await run(pipeline)[0].compactMap(\.string)
  }

  /// Opens the parked slices of a campaign. If the call is interrupted, the remaining slices open when they are due.
  ///
  /// - Parameter isReady: whether an event has occurred for which slices of an active campaign wait. If not, only
  ///   slices of a cancelled campaign are opened.
  func unparkAll(of id: String, lane: Lane, isReady: Bool = false) async throws {
    for start in stride(from: 0, to: keys.partitions, by: CampaignStore.batch) {
      var pipeline = RedisPipeline()
      pipeline.script(
        StoreScripts.unpark,
        keys: [keys.campaign(id), keys.lane(lane.rawValue), keys.open(id), keys.parked, keys.wake]
      ) {
        $0.append(id)
        $0.append(start)
        $0.append(min(start + CampaignStore.batch, keys.partitions) - 1)
        $0.append(isReady ? 1 : 0)
      }
      _ = try await run(pipeline)
    }
  }
}
