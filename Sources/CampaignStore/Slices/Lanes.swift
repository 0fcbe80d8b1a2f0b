public import PushCore
import Redis

/// A slice: one campaign in one partition. The unit of claiming, parallelism, checkpointing and recovery.
public struct SliceReference: Hashable, Sendable, CustomStringConvertible {
  /// The campaign's id.
  public var campaign: String
  /// 0 to the number of partitions, exclusive.
  public var partition: Int

  /// Memberwise.
  public init(campaign: String, partition: Int) {
    self.campaign = campaign
    self.partition = partition
  }

  /// As it stands in Redis' lists: `17:spring-sale`.
  ///
  /// - Returns: `nil` for what is no reference into a store of so many partitions.
  init?(_ text: String, partitions: Int) {
    guard let colon = text.firstIndex(of: ":"), let partition = Int(text[..<colon]),
      (0..<partitions).contains(partition)
    else { return nil }
    self.init(campaign: String(text[text.index(after: colon)...]), partition: partition)
    guard description == text else { return nil }
  }

  public var description: String { "\(partition):\(campaign)" }
}

/// Which slice is next, who is working on which, and which wait: lists that are hints, rebuilt from the leases.
extension Slices {
  /// Dequeues a reference to one slice, as ``dequeueSlices(worker:lanes:excluding:atMost:while:)`` does.
  public func dequeueSlice(
    worker: String, lanes: ArraySlice<Lane> = Lane.allCases[...]
  ) async throws -> SliceReference? {
    try await dequeueSlices(worker: worker, lanes: lanes).first
  }

  /// Fixes the partitions of a campaign that begins to expand, whatever it waits for.
  private func begin(_ id: String) async throws -> Bool {
    guard let (record, job) = try await store.campaigns.findWithJob(id) else { return false }
    let campaign = try record.campaign(job, .any(services.service(ofApp: record.app)))
    return try await store.audiences.narrow(campaign) != nil
  }

  /// Dequeues references to slices of one campaign: of the highest lane that has one, and there of the next campaign.
  ///
  /// - Parameters:
  ///   - worker: whose list they go to.
  ///   - lanes: the lanes to look at, highest first.
  ///   - excluded: campaigns that are passed over.
  ///   - number: how many slices of a campaign to take at most.
  ///   - begin: called for a campaign whose partitions are yet to be fixed: does so (``narrow(_:)``) and returns true, or
  ///     returns false when the campaign can't be expanded now, and is then passed over; `nil` fixes them at once.
  ///   - report: called for each campaign that waits for registration events, and for each that begins without them.
  ///   - mayGoOn: whether to look at a further one; asked after each that had nothing.
  public func dequeueSlices(
    worker: String, lanes: ArraySlice<Lane> = Lane.allCases[...], excluding excluded: Set<String> = [],
    atMost number: (String) -> Int = { _ in 1 }, beginning begin: ((String) async throws -> Bool)? = nil,
    report: (EventWait) -> Void = { _ in }, while mayGoOn: () -> Bool = { true }
  ) async throws -> [SliceReference] {
    var excluded = excluded
    for lane in lanes {
      // A campaign without an open slice leaves its ring, so this ends.
      while mayGoOn(), let id = try await nextCampaign(of: lane, excluding: excluded) {
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
        // Where there is one that leads nowhere there may be many, and each costs as much as a slice.
        case -2: while mayGoOn(), try await prune(lane) > 0 {}
        case -3:
          let hasBegun = if let begin { try await begin(id) } else { try await self.begin(id) }
          if !hasBegun { excluded.insert(id) }
        default: continue
        }
      }
    }
    return []
  }

  /// Dequeues a reference to the first of some slices that nobody has taken yet.
  ///
  /// - Parameter slices: of one campaign, 64 at most.
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

  /// Drops references to campaigns that are not there from the head of a lane, a batch of them.
  ///
  /// - Returns: how many.
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

  /// Campaigns at the head of a lane that are looked at where some are excluded, besides as many as those.
  private static let lookedAhead = 64

  /// The next campaign of a lane. A look past excluded campaigns does not rotate the ring.
  private func nextCampaign(of lane: Lane, excluding excluded: Set<String>) async throws -> String? {
    let ring = keys.lane(lane.rawValue)
    var pipeline = RedisPipeline()
    if excluded.isEmpty {
      pipeline.script(StoreScripts.rotate, keys: [ring])
      return try await run(pipeline)[0].string
    }
    pipeline.append("LRANGE", ring, 0, Self.lookedAhead + excluded.count - 1)
    return try await run(pipeline)[0].lazy.compactMap(\.string).first { !excluded.contains($0) }
  }

  /// Puts a slice back among the open ones of its campaign.
  public func requeue(_ slice: SliceReference, lane: Lane, worker: String) async throws {
    var pipeline = RedisPipeline()
    requeue(slice, lane: lane, worker: worker, to: &pipeline)
    _ = try await run(pipeline)
  }

  /// - Parameter isLeft: whether a dead worker has left it: that is said, so that others take it whatever they have in hand.
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

  /// Sets a slice aside until a retry is due.
  ///
  /// - Returns: false when the campaign was cancelled meanwhile, and the slice is to be closed instead.
  public func park(_ slice: SliceReference, for milliseconds: Int, worker: String) async throws -> Bool {
    try await setAside(slice, for: milliseconds, worker: worker, isHeld: false)
  }

  /// Sets a reference to a slice aside that another claim holds, until that one's lease would have run out.
  ///
  /// It is not dropped: it may be the last reference there is, and the holder may die.
  public func postpone(_ slice: SliceReference, for milliseconds: Int, worker: String) async throws {
    _ = try await setAside(slice, for: milliseconds, worker: worker, isHeld: true)
  }

  private func setAside(
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
  /// - Returns: the campaign's state when this was its last slice.
  public func finish(_ slice: SliceReference, counters: SliceCounters, lane: Lane, worker: String) async throws
    -> CampaignState?
  {
    try await finish([(slice, counters)], lane: lane, worker: worker)
  }

  /// Adds the counters of closed slices of one campaign to it, each once, in one round trip.
  ///
  /// - Returns: the campaign's state when its last slice was among them.
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

  /// - Parameter counters: by their fields in the campaign's hash.
  func finish(_ slice: SliceReference, adding counters: [(String, Int)], lane: Lane, worker: String) async throws
    -> CampaignState?
  {
    var pipeline = RedisPipeline()
    finish(slice, adding: counters, lane: lane, worker: worker, to: &pipeline)
    return try await finish(pipeline, of: slice.campaign)
  }

  /// Runs what counts slices of a campaign, and sees to the keys of one that has ended with it.
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

  /// Drops a reference that leads nowhere: its campaign is gone.
  public func dismiss(_ slice: SliceReference, worker: String) async throws {
    var pipeline = RedisPipeline()
    pipeline.append("LREM", keys.processing(worker: worker), 0, slice.description)
    _ = try await run(pipeline)
  }
}
