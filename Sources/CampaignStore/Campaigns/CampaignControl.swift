import PushCore
import Redis

/// What a person does to a campaign.
public enum ControlVerb: String, Sendable {
  case pause, resume, cancel
  /// Resumes what waits for approval.
  case approve
  /// Chooses the variant that later stages get; `decide.lua`, `opengate.lua`.
  case decide
  /// Begins a stage; `opengate.lua`.
  case open
}

/// The control state of the campaigns that a worker holds, all of one moment.
public struct ControlView: Sendable {
  /// The control epoch: how often campaigns were paused, resumed or cancelled so far.
  public var epoch: Int
  /// Whether campaigns may begin.
  public var hold: StoreHold
  /// The states of the campaigns, in the order asked for; `nil` for those that are gone.
  public var states: [CampaignState?]
  /// How often each was resumed.
  public var rounds: [Int]
}

/// Something that was done to a campaign.
public struct TimelineEntry: Sendable, Equatable {
  /// ms since the epoch.
  public var at: Int
  public var verb: ControlVerb
  /// Whether a worker did it by itself.
  public var isByWorker: Bool
  /// Who it was; `nil` where nobody said.
  public var person: String?
  /// Why; `nil` where nobody said.
  public var reason: String?

  /// - Parameter text: as `control.lua` writes it.
  init?(_ text: String) {
    let fields = text.split(separator: "\t", maxSplits: 4, omittingEmptySubsequences: false).map(String.init)
    guard fields.count == 5, let at = Int(fields[0]), let verb = ControlVerb(rawValue: fields[1]) else { return nil }
    (self.at, self.verb, isByWorker) = (at, verb, fields[2] == "worker")
    person = fields[3].isEmpty ? nil : fields[3]
    reason = fields[4].isEmpty ? nil : fields[4]
  }
}

/// Campaign control: pausing, resuming and cancelling, and knowing that every worker has applied it.
///
/// Every call raises the control epoch. A worker reads epoch and states in one step, stops what it has to stop, and then
/// says up to which epoch it has applied control.
extension Campaigns {
  /// Pauses, resumes or cancels. Workers apply it within moments. A campaign that is paused by this has paused itself: a
  /// worker said so.
  ///
  /// - Parameters:
  ///   - unguarded: resumed, its prunes and quarantines are carried out whatever their share.
  ///   - round: nothing is changed when the campaign has been resumed more often than this; `nil` for whatever it is.
  ///   - gate: the place of the stage whose gate pauses it, and whether that needs approval; `nil` for none.
  /// - Returns: the state that follows: unchanged when the verb does not apply to it.
  /// - Throws: ``StoreError`` `notFound`.
  @discardableResult
  public func control(
    _ id: String, _ verb: ControlVerb, reason: String = "", unguarded: Bool = false, round: Int? = nil,
    gate: (place: Int, needsApproval: Bool)? = nil
  ) async throws -> CampaignState {
    try await raise(id, verb, reason, unguarded: unguarded, isByPerson: false, round: round, gate: gate).0
  }

  /// Pauses, resumes or cancels on a person's word, and waits until every live worker has applied it: what it sends of a campaign that was
  /// paused or cancelled is by then at most what was in its window.
  ///
  /// - Parameters:
  ///   - person: who it is; nothing where nobody says.
  ///   - lease: ms without a heartbeat after which a worker is taken for dead; twice that is waited at most.
  /// - Returns: the state that follows, and the live workers that did not say that they have applied it: none, usually.
  /// - Throws: ``StoreError`` `notFound`.
  public func controlEverywhere(
    _ id: String, _ verb: ControlVerb, reason: String = "", by person: String = "", lease: Int
  ) async throws -> (state: CampaignState, unconfirmed: [String]) {
    let (state, epoch) = try await raise(id, verb, reason, unguarded: false, isByPerson: true, person)
    let end = ContinuousClock.now + .milliseconds(2 * lease)
    while true {
      let lagging = try await workersLagging(behind: epoch, timeout: lease)
      if lagging.isEmpty || ContinuousClock.now >= end { return (state, lagging) }
      try await Task.sleep(for: Self.confirmationInterval)
    }
  }

  /// Resumes a campaign on a person's word.
  ///
  /// - Parameters:
  ///   - unguarded: its prunes and quarantines are carried out whatever their share.
  ///   - person: who it is; nothing where nobody says.
  /// - Throws: ``StoreError`` `notFound`, or `unapproved` for one that needs it.
  public func resume(_ id: String, unguarded: Bool, by person: String) async throws -> CampaignState {
    if let record = try await find(CampaignID(id).whole), record.needsApproval, record.state == .paused {
      throw StoreError(
        .unapproved, "campaign \(id) needs approval before it goes on",
        hint: "somebody else than who submitted it: carillon campaign approve \(id) --by NAME")
    }
    return try await raise(id, .resume, "", unguarded: unguarded, isByPerson: true, person).0
  }

  /// Approves a campaign that waits for it: it begins, or goes into the schedule, or its next stage begins. Of a repeated
  /// campaign it is the last run that waits.
  ///
  /// - Parameter person: who approves it.
  /// - Throws: ``StoreError`` `notFound`, or `unapproved` for one that needs none, and for who submitted it.
  public func approve(_ id: String, by person: String) async throws -> CampaignState {
    let whole = CampaignID(id).whole
    guard let record = try await find(whole) else { throw noSuchCampaign(id) }
    if !record.needsApproval, let run = record.repetition?.lastRun, try await find(run)?.needsApproval == true {
      return try await approve(run, by: person)
    }
    guard record.needsApproval, record.state == .paused else {
      throw StoreError(
        .unapproved, "campaign \(id) waits for no approval: it is \(record.state.rawValue)",
        hint: "see: carillon campaign show \(id)")
    }
    guard record.submittedBy != person else {
      throw StoreError(
        .unapproved, "\(Excerpt.quoted(person)) has submitted campaign \(id)", hint: "somebody else has to approve it")
    }
    return try await raise(whole, .approve, "", unguarded: false, isByPerson: true, person).0
  }

  /// What was done to a campaign, the oldest first; of many the last 200.
  public func timeline(of id: String) async throws -> [TimelineEntry] {
    var pipeline = RedisPipeline()
    pipeline.append("LRANGE", keys.timeline(id), 0, -1)
    return try await run(pipeline)[0].compactMap { TimelineEntry($0.string ?? "") }
  }

  /// Between looks at who has applied an epoch; workers are told by a message.
  private static let confirmationInterval = Duration.milliseconds(20)

  /// Changes the state of a campaign with its parts, and of a repeated one with its last run, in one step, and raises the
  /// epoch.
  ///
  /// - Parameter id: of the campaign, or of a part of it.
  /// - Returns: the state that follows, and the epoch: who has applied it knows of this.
  private func raise(
    _ id: String, _ verb: ControlVerb, _ reason: String, unguarded: Bool, isByPerson: Bool, _ person: String = "",
    round: Int? = nil, gate: (place: Int, needsApproval: Bool)? = nil
  ) async throws -> (CampaignState, epoch: Int) {
    let whole = CampaignID(id).whole
    guard let record = try await find(whole) else { throw noSuchCampaign(id) }
    if verb == .resume { try await store.queue.leaveOutMissed(of: record) }
    let lane = record.lane
    var ids = [whole] + record.partIDs
    if let run = record.repetition?.lastRun { ids += [run] + (try await partIDs(of: run)) }
    var pipeline = RedisPipeline()
    pipeline.script(
      StoreScripts.control,
      keys: [
        keys.lane(lane.rawValue), keys.running, keys.schedule, keys.ended, keys.epoch, keys.answers(app: record.app),
        keys.wake, keys.store, keys.changes, keys.gates, keys.approvals,
      ]
        + ids.flatMap {
          [
            keys.campaign($0), keys.open($0), keys.guardTrial($0), keys.guardWatch($0), keys.objections($0),
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
      $0.append(gate.map { String($0.place) } ?? "")
      $0.append(gate?.needsApproval == true ? 1 : 0)
      for id in ids { $0.append(id) }
    }
    let reply = try await run(pipeline)[0]
    guard let epoch = reply.first?.integer, reply.count == ids.count + 1,
      let state = reply[1].first?.string.flatMap(CampaignState.init(rawValue:))
    else { throw noSuchCampaign(id) }
    for (id, part) in zip(ids, reply.dropFirst()) where part.count == 2 {
      if part[1].integer == 1 {
        try await end(id)
      } else if verb == .cancel, part[0].string == CampaignState.cancelled.rawValue {
        try await unparkAll(of: id, lane: lane)
      }
    }
    return (state, epoch)
  }

  /// Reads the control state of the campaigns that a worker holds, and says what it has applied.
  ///
  /// - Parameters:
  ///   - ids: the campaigns.
  ///   - worker: its name.
  ///   - applied: the epoch up to which it has applied control; `nil` before the first.
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
    guard let epoch = reply.first?.integer, 0...StoredHash.mostCounted ~= epoch, reply.count == 2 + 2 * ids.count else {
      throw await store.repair.damaged([keys.epoch])
    }
    let campaigns = stride(from: 2, to: reply.count - 1, by: 2)
    return ControlView(
      epoch: epoch, hold: reply[1].integer.flatMap(StoreHold.init(rawValue:)) ?? .none,
      states: campaigns.map { reply[$0].string.flatMap(CampaignState.init(rawValue:)) },
      // Whoever takes a slice of it up finds one that can't be.
      rounds: campaigns.map { reply[$0 + 1].integer.flatMap { 0...StoredHash.mostCounted ~= $0 ? $0 : nil } ?? 0 })
  }

  /// Live workers that have yet to apply an epoch: of more than a batch, the first.
  func workersLagging(behind epoch: Int, timeout: Int) async throws -> [String] {
    var pipeline = RedisPipeline()
    pipeline.script(StoreScripts.lagging, keys: [keys.workers, keys.applied]) {
      $0.append(epoch)
      $0.append(timeout)
      $0.append(CampaignStore.batch)
    }
    return try await run(pipeline)[0].compactMap(\.string)
  }

  /// Opens what a campaign has parked. Should this be cut short, the rest comes back when it is due.
  ///
  /// - Parameter isReady: whether what an active campaign has waited for has come; otherwise only of a cancelled one.
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
