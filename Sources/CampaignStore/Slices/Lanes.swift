public import PushCore
import Redis

/// A reference to a slice, which is one leg of a campaign in one partition. Workers claim, send and recover slices
/// independently of each other.
public struct SliceReference: Hashable, Sendable, CustomStringConvertible {
  /// The campaign's id.
  public var campaign: String
  /// The partition: from 0 to one less than the number of partitions.
  public var partition: Int

  /// Creates an instance with these values.
  public init(campaign: String, partition: Int) {
    self.campaign = campaign
    self.partition = partition
  }

  /// Reads the form in Redis' lists: `17:spring-sale`.
  ///
  /// - Returns: `nil` if the text is not a reference into a store with this number of partitions.
  init?(_ text: String, partitions: Int) {
    guard let colon = text.firstIndex(of: ":"), let partition = Int(text[..<colon]),
      (0..<partitions).contains(partition)
    else { return nil }
    self.init(campaign: String(text[text.index(after: colon)...]), partition: partition)
    guard description == text else { return nil }
  }

  public var description: String { "\(partition):\(campaign)" }
}

/// The lists of slices. An *open* slice waits for a worker, a worker *holds* a slice, and a *parked* slice waits for a
/// time. Each entry of a list is a *reference* to a slice. The lists are only hints, and workers rebuild them from the
/// leases.
extension Slices {
  /// Dequeues a reference to one slice, like ``dequeueSlices(worker:lanes:excluding:atMost:beginning:report:while:)``.
  public func dequeueSlice(
    worker: String, lanes: ArraySlice<Lane> = Lane.allCases[...]
  ) async throws -> SliceReference? {
    try await dequeueSlices(worker: worker, lanes: lanes).first
  }

  /// Fixes the partitions of a campaign, so that its expansion can begin. The caller must already have checked that
  /// nothing blocks the expansion.
  ///
  /// - Returns: false if the campaign no longer exists.
  private func begin(_ id: String) async throws -> Bool {
    guard let (record, job) = try await store.campaigns.findWithJob(id) else { return false }
    let campaign = try await record.read(job, record.apps(in: services))
    return try await store.audiences.fixPartitions(of: campaign) != nil
  }

  /// Dequeues references to slices of one campaign. Chooses the highest lane with an open slice, and the next campaign
  /// of this lane.
  ///
  /// - Parameters:
  ///   - worker: the worker whose processing list gets the references.
  ///   - lanes: the lanes to read, highest first.
  ///   - excluded: campaigns to skip.
  ///   - number: the maximum number of slices to take from a campaign.
  ///   - begin: called for a campaign whose partitions are not fixed yet. The closure fixes them
  ///     (``fixPartitions(of:)``) and returns true, or returns false if the campaign can't be expanded now and must be
  ///     skipped. With `nil`, `dequeueSlices` fixes the partitions itself.
  ///   - report: called for each campaign that waits for registration events, and for each campaign that begins
  ///     although events are not applied.
  ///   - mayContinue: called after each campaign without an available slice; whether to try another campaign.
  public func dequeueSlices(
    worker: String, lanes: ArraySlice<Lane> = Lane.allCases[...], excluding excluded: Set<String> = [],
    atMost number: (String) -> Int = { _ in 1 }, beginning begin: ((String) async throws -> Bool)? = nil,
    report: (EventWait) -> Void = { _ in }, while mayContinue: () -> Bool = { true }
  ) async throws -> [SliceReference] {
    var excluded = excluded
    for lane in lanes {
      // The script removes a campaign without an open slice from the lane, so this loop ends.
      while mayContinue(), let id = try await nextCampaign(of: lane, excluding: excluded) {
        var pipeline = RedisPipeline()
        pipeline.script(
          StoreScripts.dequeue,
          keys: [
            keys.lane(lane.rawValue), keys.campaign(id), keys.open(id), keys.processing(worker: worker), keys.workers,
            keys.events(.registrations), keys.housekeeping, keys.wake,
          ]
        ) {
          $0.append(id)
          $0.append(worker)
          $0.append(keys.partitions)
          $0.append(max(1, min(number(id), CampaignStore.batch)))
          $0.append(EventWait.longest)
        }
        let reply = try await run(pipeline)[0]
        if let wait = EventWait(reply, of: id) {
          report(wait)
          if case .waits = wait { excluded.insert(id) }
          continue
        }
        let partitions = reply.compactMap(\.integer)
        if !partitions.isEmpty { return partitions.map { SliceReference(campaign: id, partition: $0) } }
        switch reply.integer {
        // If a lane has one reference to a missing campaign, it may have many. Dequeuing them one by one would cost as
        // much as dequeuing slices, so remove them in batches.
        case -2: while mayContinue(), try await prune(lane) > 0 {}
        case -3:
          let hasBegun = if let begin { try await begin(id) } else { try await self.begin(id) }
          if !hasBegun { excluded.insert(id) }
        default: continue
        }
      }
    }
    return []
  }

  /// Dequeues a reference to the first of these slices that is still open.
  ///
  /// - Parameter slices: slices of one campaign, at most 64.
  public func dequeueFirst(of slices: [SliceReference], worker: String) async throws -> SliceReference? {
    guard let id = slices.first?.campaign else { return nil }
    var pipeline = RedisPipeline()
    pipeline.script(
      StoreScripts.dequeueLeft,
      keys: [keys.campaign(id), keys.open(id), keys.processing(worker: worker), keys.workers]
    ) {
      $0.append(id)
      $0.append(worker)
      for slice in slices { $0.append(slice.partition) }
    }
    return try await run(pipeline)[0].integer.map { SliceReference(campaign: id, partition: $0) }
  }

  /// Removes references to missing campaigns from the head of a lane, a batch at a time.
  ///
  /// - Returns: the number of removed references.
  func prune(_ lane: Lane) async throws -> Int {
    var pipeline = RedisPipeline()
    pipeline.append("LRANGE", keys.lane(lane.rawValue), 0, CampaignStore.batch - 1)
    let ids = try await run(pipeline)[0].compactMap(\.string)
    guard !ids.isEmpty else { return 0 }
    pipeline.removeAll()
    pipeline.script(StoreScripts.prune, keys: [keys.lane(lane.rawValue)] + ids.map { keys.campaign($0) }) {
      for id in ids { $0.append(id) }
    }
    return try await run(pipeline)[0].integer ?? 0
  }

  /// Number of campaigns to read from the head of a lane, in addition to the number of excluded campaigns.
  private static let lookahead = 64

  /// Returns the next campaign of a lane. Excluded campaigns are skipped and keep their positions in the lane.
  private func nextCampaign(of lane: Lane, excluding excluded: Set<String>) async throws -> String? {
    let ring = keys.lane(lane.rawValue)
    var pipeline = RedisPipeline()
    if excluded.isEmpty {
      pipeline.script(StoreScripts.rotate, keys: [ring])
      return try await run(pipeline)[0].string
    }
    pipeline.append("LRANGE", ring, 0, Self.lookahead + excluded.count - 1)
    return try await run(pipeline)[0].lazy.compactMap(\.string).first { !excluded.contains($0) }
  }

  /// Puts a slice back among the open slices of its campaign.
  public func requeue(_ slice: SliceReference, lane: Lane, worker: String) async throws {
    var pipeline = RedisPipeline()
    requeue(slice, lane: lane, worker: worker, to: &pipeline)
    _ = try await run(pipeline)
  }

  /// Appends the command that puts a slice back among the open slices of its campaign.
  ///
  /// - Parameter isLeft: whether a dead worker has abandoned the slice. The wake-up message then names the slice, so
  ///   that other workers take it even if they already hold enough slices.
  func requeue(
    _ slice: SliceReference, lane: Lane, worker: String, isLeft: Bool = false, to pipeline: inout RedisPipeline
  ) {
    pipeline.script(
      StoreScripts.requeue,
      keys: [
        keys.processing(worker: worker), keys.parked, keys.open(slice.campaign), keys.lane(lane.rawValue),
        keys.campaign(slice.campaign), keys.finished(slice.campaign), keys.wake,
      ]
    ) {
      $0.append(slice.partition)
      $0.append(slice.campaign)
      $0.append(isLeft ? 1 : 0)
    }
  }

  /// Parks a slice until a retry is due.
  ///
  /// - Returns: false if the campaign was cancelled, so that the slice must be closed instead.
  public func park(_ slice: SliceReference, for milliseconds: Int, worker: String) async throws -> Bool {
    try await park(slice, for: milliseconds, worker: worker, isHeld: false)
  }

  /// Parks a reference to a slice that another worker has claimed, until the lease of that claim ends.
  ///
  /// The reference must not be removed, because it may be the only reference to this slice, and the other worker may
  /// die.
  public func postpone(_ slice: SliceReference, for milliseconds: Int, worker: String) async throws {
    _ = try await park(slice, for: milliseconds, worker: worker, isHeld: true)
  }

  private func park(
    _ slice: SliceReference, for milliseconds: Int, worker: String, isHeld: Bool
  ) async throws -> Bool {
    var pipeline = RedisPipeline()
    pipeline.script(
      StoreScripts.park, keys: [keys.processing(worker: worker), keys.parked, keys.campaign(slice.campaign)]
    ) {
      $0.append(slice.description)
      $0.append(milliseconds)
      $0.append(isHeld ? 1 : 0)
    }
    return try await run(pipeline)[0].integer == 1
  }

  /// Adds a closed slice's counters to its campaign, once.
  ///
  /// - Returns: the campaign's state if this was its last slice.
  public func finish(_ slice: SliceReference, counters: SliceCounters, lane: Lane, worker: String) async throws
    -> CampaignState?
  {
    try await finish([(slice, counters)], lane: lane, worker: worker)
  }

  /// Adds the counters of closed slices of one campaign to the campaign, each once, in one round trip.
  ///
  /// - Returns: the campaign's state if its last slice was among them.
  public func finish(
    _ ended: [(slice: SliceReference, counters: SliceCounters)], lane: Lane, worker: String
  ) async throws -> CampaignState? {
    try await store.results.streamOutcomes(of: ended.map(\.slice))
    var pipeline = RedisPipeline()
    for (slice, counters) in ended {
      finish(slice, adding: counters.fields, lane: lane, worker: worker, to: &pipeline)
    }
    return try await finish(pipeline, of: ended.first?.slice.campaign)
  }

  /// Adds counters of a slice to its campaign, once.
  ///
  /// - Parameter counters: the counters with their field names in the campaign's hash.
  /// - Returns: the campaign's state if this was its last slice.
  func finish(_ slice: SliceReference, adding counters: [(String, Int)], lane: Lane, worker: String) async throws
    -> CampaignState?
  {
    var pipeline = RedisPipeline()
    finish(slice, adding: counters, lane: lane, worker: worker, to: &pipeline)
    return try await finish(pipeline, of: slice.campaign)
  }

  /// Runs commands that count slices of a campaign. If the campaign has ended, also sets the expiry of its keys.
  private func finish(_ pipeline: RedisPipeline, of id: String?) async throws -> CampaignState? {
    guard let id, let last = try await run(pipeline).first(where: { $0[0].integer == 1 }) else { return nil }
    try await store.campaigns.end(id)
    return last[1].string.flatMap(CampaignState.init(rawValue:))
  }

  private func finish(
    _ slice: SliceReference, adding counters: [(String, Int)], lane: Lane, worker: String,
    to pipeline: inout RedisPipeline
  ) {
    let id = slice.campaign
    pipeline.script(
      StoreScripts.finish,
      keys: [
        keys.campaign(id), keys.finished(id), keys.processing(worker: worker), keys.lane(lane.rawValue), keys.open(id),
        keys.parked, keys.ended, keys.running, keys.changes,
      ]
    ) { arguments in
      arguments.append(slice.partition)
      arguments.append(id)
      for (field, value) in counters where value != 0 {
        arguments.append(field)
        arguments.append(value)
      }
    }
  }

  /// Removes a reference to a slice whose campaign no longer exists.
  public func dismiss(_ slice: SliceReference, worker: String) async throws {
    var pipeline = RedisPipeline()
    pipeline.append("LREM", keys.processing(worker: worker), 0, slice.description)
    _ = try await run(pipeline)
  }
}
