import Redis

/// Housekeeping: what is to be done for all, by whichever worker holds a short lease on it.
extension Fleet {
  /// What a housekeeper is told.
  public struct Chores: Sendable {
    /// Redis' time in ms since the epoch.
    public var now: Int
    /// Workers that are taken for dead: their last heartbeat is too long ago.
    public var dead: [String]
    /// Slices whose next retry is due.
    public var due: [SliceReference]
    /// Whether there may be more of them.
    public var isMoreDue: Bool
    /// Scheduled campaigns whose time has come, for ``Queue/promote(_:)``.
    public var scheduled: [String]
    /// Campaigns whose gates are to be looked at, and since when, for ``Campaigns/lookAtGate(of:dueAt:)``.
    public var gates: [(id: String, dueAt: Int)]
    /// ms until the next of the scheduled campaigns or of the gates is due.
    public var nextScheduled: Int?
    /// Where the housekeeper before stood.
    public var notes: HousekeepingNotes
    /// The lists on which there are events.
    public var events: [EventList]
  }

  /// ms that a housekeeper's lease lasts: what others wait when its machine has died.
  private static let housekeepingLease = 1500

  /// Makes a worker the housekeeper, or renews that it is, and gives the fleet a beat. Campaigns whose last worker died
  /// before it could get their expiry.
  ///
  /// - Parameters:
  ///   - instance: of the worker.
  ///   - former: a housekeeper that is known to be dead; `nil` for none.
  ///   - timeout: ms without a heartbeat after which a worker is taken for dead.
  ///   - beat: ms until the next beat while a campaign runs.
  ///   - idleBeat: the same while none does; `nil` for no beat this time.
  /// - Returns: `nil` when another is the housekeeper.
  public func housekeep(
    as instance: WorkerInstance, replacing former: WorkerInstance? = nil, timeout: Int, beat: Int, idleBeat: Int?
  ) async throws -> Chores? {
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
      $0.append(beat)
      if let idleBeat { $0.append(idleBeat) } else { $0.append("") }
    }
    let reply = try await run(pipeline)[0]
    guard reply.count == 10 else { return nil }
    for id in reply[3].compactMap(\.string) { try await store.campaigns.end(id) }
    let gates = reply[9]
    return Chores(
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
      notes: HousekeepingNotes(reply[6]),
      events: zip(EventList.allCases, reply[7..<9]).filter { $1.integer ?? 0 > 0 }.map(\.0))
  }

  /// The worker that has the housekeeping, if any has.
  public func housekeeper() async throws -> WorkerInstance? {
    var pipeline = RedisPipeline()
    pipeline.append("GET", keys.housekeeper)
    return try await run(pipeline)[0].string.flatMap(WorkerInstance.init)
  }

  /// Ends a worker's lease on the housekeeping, so that another need not wait for it. Nothing happens if it has none.
  public func endHousekeeping(of instance: WorkerInstance) async throws {
    guard try await housekeeper() == instance else { return }
    var pipeline = RedisPipeline()
    // Should another have taken it in this moment, a third one takes it, which does no harm.
    pipeline.append("DEL", keys.housekeeper)
    _ = try await run(pipeline)
  }

  /// Writes down where a housekeeper stands, for the next one.
  public func write(_ notes: HousekeepingNotes) async throws {
    var pipeline = RedisPipeline()
    pipeline.append(
      "HSET", keys.housekeeping, "partition", notes.partition, "schedule", notes.schedule, "running", notes.running)
    _ = try await run(pipeline)
  }
}

/// Where the rounds stand that a housekeeper makes through all partitions and campaigns.
public struct HousekeepingNotes: Sendable, Equatable {
  /// The partition whose leftovers are looked at next.
  public var partition = 0
  /// Where in the list of all campaigns the schedule is compared with it next.
  public var schedule = 0
  /// Where among the running campaigns lost slices are looked for next.
  public var running = 0

  /// At the beginning of every round.
  public init() {}

  init(_ fields: RedisReply) {
    for index in stride(from: 0, to: fields.count - 1, by: 2) {
      // A position is a hint: from one that can't be right a round begins anew.
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
