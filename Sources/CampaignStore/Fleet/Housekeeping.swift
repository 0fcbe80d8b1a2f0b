import Redis

/// Housekeeping tasks for the whole fleet. One worker runs them: the maintenance leader, which has a short lease.
extension Fleet {
  /// Due work for the maintenance leader.
  public struct DueTasks: Sendable {
    /// Redis' time in ms since the epoch.
    public var now: Int
    /// Workers that count as dead: their last heartbeat is too long ago.
    public var dead: [String]
    /// Slices whose next retry is due.
    public var due: [SliceReference]
    /// Whether more slices may be due.
    public var isMoreDue: Bool
    /// Scheduled campaigns that are due, for ``Queue/promote(_:)``.
    public var scheduled: [String]
    /// Campaigns whose gates are due, and since when, for ``Campaigns/checkGate(of:dueAt:)``.
    public var gates: [(id: String, dueAt: Int)]
    /// ms until the next scheduled campaign or gate is due.
    public var nextScheduled: Int?
    /// Progress of the housekeeping tasks, as the previous leader has stored it.
    public var progress: HousekeepingProgress
    /// The lists that have events.
    public var events: [EventList]
  }

  /// Duration of the leader's lease in ms. If the leader's machine dies, another worker becomes the leader after this
  /// time.
  private static let housekeepingLease = 1500

  /// Makes a worker the maintenance leader or renews its lease, and publishes the leader's signal on the wake-up
  /// channel. The function also sets the expiry of an ended campaign if the worker that ended the campaign died before
  /// this step.
  ///
  /// - Parameters:
  ///   - instance: instance of the worker.
  ///   - former: a leader that is known to be dead; `nil` for none.
  ///   - timeout: ms without a heartbeat after which a worker counts as dead.
  ///   - signalInterval: ms until the next signal while a campaign runs.
  ///   - idleSignalDelay: ms until the next signal while no campaign runs; `nil` if this call publishes no signal.
  /// - Returns: `nil` if another worker is the leader.
  public func housekeep(
    as instance: WorkerInstance, replacing former: WorkerInstance? = nil, timeout: Int, signalInterval: Int,
    idleSignalDelay: Int?
  ) async throws -> DueTasks? {
    var pipeline = RedisPipeline()
    pipeline.script(
      StoreScripts.housekeep,
      keys: [
        keys.housekeeper, keys.workers, keys.parked, keys.ended, keys.schedule, keys.epoch, keys.housekeeping,
        keys.wake, keys.running, keys.events(.registrations), keys.events(.receipts), keys.campaigns,
        keys.gates,
      ] + keys.lanes
    ) {
      $0.append(instance.description)
      $0.append(Self.housekeepingLease)
      $0.append(former?.description ?? "")
      $0.append(timeout)
      $0.append(CampaignStore.batch)
      $0.append(signalInterval)
      if let idleSignalDelay { $0.append(idleSignalDelay) } else { $0.append("") }
    }
    let reply = try await run(pipeline)[0]
    guard reply.count == 10 else { return nil }
    for id in reply[3].compactMap(\.string) { try await store.campaigns.end(id) }
    let gates = reply[9]
    return DueTasks(
      now: reply[0].integer ?? 0, dead: reply[1].compactMap(\.string),
      due: try await store.slices.references(in: reply[2]) { pipeline, text in
        pipeline.append("ZREM", keys.parked, text)
      },
      isMoreDue: reply[2].count == CampaignStore.batch,
      scheduled: reply[4].compactMap(\.string),
      gates: stride(from: 0, to: gates.count - 1, by: 2).compactMap { index in
        gates[index].string.map { ($0, gates[index + 1].integer ?? 0) }
      },
      nextScheduled: reply[5].integer.flatMap { $0 < 0 ? nil : $0 },
      progress: HousekeepingProgress(reply[6]),
      events: zip(EventList.allCases, reply[7..<9]).filter { $1.integer ?? 0 > 0 }.map(\.0))
  }

  /// Returns the maintenance leader, if there is one.
  public func housekeeper() async throws -> WorkerInstance? {
    var pipeline = RedisPipeline()
    pipeline.append("GET", keys.housekeeper)
    return try await run(pipeline)[0].string.flatMap(WorkerInstance.init)
  }

  /// Releases a worker's lease, so that another worker can become the maintenance leader immediately. If the worker has
  /// no lease, the function does nothing.
  public func endHousekeeping(of instance: WorkerInstance) async throws {
    guard try await housekeeper() == instance else { return }
    var pipeline = RedisPipeline()
    // If another worker has just become the leader, this command removes the lease of that worker. A third worker may
    // then take over, which does no harm.
    pipeline.append("DEL", keys.housekeeper)
    _ = try await run(pipeline)
  }

  /// Stores the progress of the maintenance leader, for the next one.
  public func write(_ progress: HousekeepingProgress) async throws {
    var pipeline = RedisPipeline()
    pipeline.append(
      "HSET", keys.housekeeping, "partition", progress.partition, "schedule", progress.schedule, "running",
      progress.running)
    _ = try await run(pipeline)
  }
}

/// Progress of the housekeeping tasks that visit all partitions and campaigns in turn.
public struct HousekeepingProgress: Sendable, Equatable {
  /// The partition that is checked next.
  public var partition = 0
  /// Place in the list of all campaigns from which the next check of the schedule starts.
  public var schedule = 0
  /// Place among the running campaigns from which the next search for lost slices starts.
  public var running = 0

  /// Creates the progress at the beginning of every task.
  public init() {}

  init(_ fields: RedisReply) {
    for index in stride(from: 0, to: fields.count - 1, by: 2) {
      // A stored position is only a hint. If it is invalid, the task starts again from the beginning.
      let value = max(0, fields[index + 1].integer ?? 0)
      switch fields[index].string {
      case "partition": partition = value
      case "schedule": schedule = value
      case "running": running = value
      default: break
      }
    }
  }
}
