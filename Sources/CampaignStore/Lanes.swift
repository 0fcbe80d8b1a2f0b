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
  init?(_ text: String) {
    guard let colon = text.firstIndex(of: ":"), let partition = Int(text[..<colon]) else { return nil }
    self.init(campaign: String(text[text.index(after: colon)...]), partition: partition)
  }

  public var description: String { "\(partition):\(campaign)" }
}

/// Which slice is next, who is working on which, and which wait: lists that are hints, rebuilt from the leases.
extension CampaignStore {
  /// What a sign of life brought back.
  public struct Pulse: Sendable {
    /// Redis' time in ms since the epoch.
    public var now: Int
    /// Workers that have been silent for too long.
    public var silent: [String]
    /// Slices whose next retry is due.
    public var due: [SliceReference]
  }

  /// Takes a reference to the next slice: of the highest lane that has one, of the campaign whose turn it is there.
  ///
  /// - Parameters:
  ///   - worker: whose list it goes to.
  ///   - lanes: the lanes to look at, highest first.
  public func takeSlice(worker: String, lanes: ArraySlice<Lane> = Lane.allCases[...]) async throws -> SliceReference? {
    for lane in lanes {
      // A campaign with nothing to take leaves its ring, so this ends.
      while true {
        var pipeline = RedisPipeline()
        let ring = keys.lane(lane.rawValue)
        pipeline.append("LMOVE", ring, ring, "LEFT", "RIGHT")
        guard let id = try await run(pipeline)[0].string else { break }
        pipeline.removeAll()
        pipeline.script(
          StoreScripts.take,
          keys: [ring, keys.campaign(id), keys.open(id), keys.processing(worker: worker), keys.workers]
        ) {
          $0.append(id)
          $0.append(worker)
        }
        if let partition = try await run(pipeline)[0].integer {
          return SliceReference(campaign: id, partition: partition)
        }
      }
    }
    return nil
  }

  /// Puts a slice back among the open ones of its campaign.
  public func requeue(_ slice: SliceReference, lane: Lane, worker: String) async throws {
    var pipeline = RedisPipeline()
    requeue(slice, lane: lane, worker: worker, to: &pipeline)
    _ = try await run(pipeline)
  }

  private func requeue(_ slice: SliceReference, lane: Lane, worker: String, to pipeline: inout RedisPipeline) {
    pipeline.script(
      StoreScripts.requeue,
      keys: [
        keys.processing(worker: worker), keys.parked, keys.open(slice.campaign), keys.lane(lane.rawValue),
        keys.campaign(slice.campaign), keys.finished(slice.campaign),
      ]
    ) {
      $0.append(slice.partition)
      $0.append(slice.campaign)
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
    let id = slice.campaign
    var pipeline = RedisPipeline()
    pipeline.script(
      StoreScripts.finish,
      keys: [
        keys.campaign(id), keys.finished(id), keys.processing(worker: worker), keys.lane(lane.rawValue), keys.open(id),
        keys.parked, keys.ended,
      ]
    ) { arguments in
      arguments.append(slice.partition)
      arguments.append(id)
      for (field, value) in counters.fields where value != 0 {
        arguments.append(field)
        arguments.append(value)
      }
    }
    let reply = try await run(pipeline)[0]
    guard reply[0].integer == 1 else { return nil }
    try await expire(id)
    return reply[1].string.flatMap(CampaignState.init(rawValue:))
  }

  /// Says that a worker lives, and lets the keys of a campaign expire whose last worker died before it could.
  ///
  /// - Parameters:
  ///   - worker: its name.
  ///   - silence: ms after which another worker is taken for dead.
  public func heartbeat(worker: String, silence: Int) async throws -> Pulse {
    var pipeline = RedisPipeline()
    pipeline.script(StoreScripts.heartbeat, keys: [keys.workers, keys.parked, keys.ended]) {
      $0.append(worker)
      $0.append(silence)
      $0.append(Self.batch)
    }
    let reply = try await run(pipeline)[0]
    for id in reply[3].compactMap(\.string) { try await expire(id) }
    return Pulse(
      now: reply[0].integer ?? 0, silent: reply[1].compactMap(\.string),
      due: reply[2].compactMap { $0.string.flatMap(SliceReference.init) })
  }

  /// Puts slices whose retry is due back on their lanes; any worker may, and it does no harm if several do.
  public func unpark(_ due: [SliceReference], worker: String) async throws {
    guard !due.isEmpty else { return }
    let lanes = try await lanes(of: due)
    var pipeline = RedisPipeline()
    for (slice, lane) in zip(due, lanes) {
      if let lane {
        requeue(slice, lane: lane, worker: worker, to: &pipeline)
      } else {
        // Its campaign has gone: nothing would ever take the reference away.
        pipeline.append("ZREM", keys.parked, slice.description)
      }
    }
    _ = try await run(pipeline)
  }

  /// The slices in a worker's list.
  public func processing(of worker: String) async throws -> [SliceReference] {
    var pipeline = RedisPipeline()
    pipeline.append("LRANGE", keys.processing(worker: worker), 0, Self.batch - 1)
    return try await run(pipeline)[0].compactMap { $0.string.flatMap(SliceReference.init) }
  }

  /// Gives back what a silent worker left behind: slices whose lease has run out.
  ///
  /// - Parameters:
  ///   - silent: the worker's name; one's own, to find what an earlier life of that name left.
  ///   - strays: the slices of its list to look at; `nil` for all.
  /// - Returns: the slices given back.
  public func rescue(from silent: String, only strays: Set<SliceReference>? = nil) async throws -> [SliceReference] {
    var references = try await processing(of: silent)
    if let strays { references.removeAll { !strays.contains($0) } }
    var rescued: [SliceReference] = []
    if !references.isEmpty {
      let now = try await time() / 1000
      var pipeline = RedisPipeline()
      for slice in references {
        pipeline.append("HGET", keys.slice(slice.partition, of: slice.campaign), "lease")
        pipeline.append("HGET", keys.slice(slice.partition, of: slice.campaign), "owner")
      }
      let leases = try await run(pipeline)
      for (index, slice) in references.enumerated() {
        let left = (leases[2 * index].integer ?? 0) - now
        if left > 0, leases[2 * index + 1].string == silent { continue }
        if left > 0 {
          // Another worker's live lease.
          try await postpone(slice, for: left, worker: silent)
        } else if let lane = try await lanes(of: [slice])[0] {
          try await requeue(slice, lane: lane, worker: silent)
          rescued.append(slice)
        } else {
          try await dismiss(slice, worker: silent)
        }
      }
    }
    return rescued
  }

  /// Gives the jobs that a dead worker was taking in back to the intake list, next in turn, and strikes it off the list
  /// of workers once nothing of it is left.
  public func settle(dead worker: String) async throws {
    while true {
      var pipeline = RedisPipeline()
      pipeline.append("LMOVE", keys.intake(worker: worker), keys.campaigns, "LEFT", "RIGHT")
      if try await run(pipeline)[0].isNull { break }
    }
    var pipeline = RedisPipeline()
    pipeline.script(
      StoreScripts.forget, keys: [keys.workers, keys.processing(worker: worker), keys.intake(worker: worker)]
    ) { $0.append(worker) }
    _ = try await run(pipeline)
  }

  /// Drops a reference that leads nowhere: its campaign is gone.
  public func dismiss(_ slice: SliceReference, worker: String) async throws {
    var pipeline = RedisPipeline()
    pipeline.append("LREM", keys.processing(worker: worker), 0, slice.description)
    _ = try await run(pipeline)
  }

  /// The lanes of slices' campaigns; `nil` for a campaign that has gone.
  private func lanes(of slices: [SliceReference]) async throws -> [Lane?] {
    var pipeline = RedisPipeline()
    for slice in slices { pipeline.append("HGET", keys.campaign(slice.campaign), "lane") }
    return try await run(pipeline).map { $0.string.flatMap(Lane.init(rawValue:)) }
  }
}
