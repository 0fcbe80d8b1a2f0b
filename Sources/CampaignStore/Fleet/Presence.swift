import Redis

/// One process of a worker: its name, and a nonce that distinguishes it from earlier processes of that name.
public struct WorkerInstance: Hashable, Sendable, CustomStringConvertible {
  /// The worker's name, which has no blank.
  public var name: String
  /// 16 random hex digits from the start of the process.
  public var nonce: String

  /// Creates an instance.
  /// - Parameter generator: source of random numbers.
  public init(name: String, using generator: inout some RandomNumberGenerator) {
    self.name = name
    let digits = String(UInt64.random(in: .min ... .max, using: &generator), radix: 16)
    nonce = String(repeating: "0", count: 16 - digits.count) + digits
  }

  /// Reads ``description``.
  /// - Returns: `nil` if the text has another format.
  init?(_ text: String) {
    guard let blank = text.lastIndex(of: " ") else { return nil }
    name = String(text[..<blank])
    nonce = String(text[text.index(after: blank)...])
  }

  init(name: String, nonce: String) {
    self.name = name
    self.nonce = nonce
  }

  /// Stored text: name, blank, nonce.
  public var description: String { "\(name) \(nonce)" }
}

/// The observed state of a listed worker.
public struct PresenceState: Sendable {
  /// The worker's instance.
  public var instance: WorkerInstance
  /// Whether the process is subscribed to its presence channel in Redis.
  public var isListening: Bool
  /// The last heartbeat in ms since the epoch; 0 if the worker is not listed any more.
  public var heartbeat: Int

  /// Returns whether the worker is alive: it is listening, or its heartbeat is later than in an earlier observation.
  ///
  /// If a live worker has just lost the connection of its subscription, it immediately sends a heartbeat on its other
  /// connection. Its heartbeat is then later than in the earlier observation. If the worker was removed from the list
  /// in between, its heartbeat is 0.
  public func isAlive(since earlier: PresenceState) -> Bool { isListening || heartbeat > earlier.heartbeat }
}

/// Presence of workers. Each worker subscribes to a channel of its own. When its process ends, Redis closes the
/// connection, so the channel has no subscriber.
extension Fleet {
  /// Adds a starting worker to the list of workers. The worker must have subscribed to its presence channel before.
  ///
  /// - Parameter former: an instance with the same name that was observed and counts as dead.
  /// - Returns: false if another instance now has the name.
  public func join(_ instance: WorkerInstance, replacing former: WorkerInstance? = nil) async throws -> Bool {
    var pipeline = RedisPipeline()
    pipeline.script(StoreScripts.join, keys: [keys.instances, keys.workers, keys.applied]) {
      $0.append(instance.name)
      $0.append(instance.nonce)
      $0.append(former?.nonce ?? "")
    }
    return try await run(pipeline)[0].integer == 1
  }

  /// Returns the observed state of the instance with a name; `nil` if no instance has the name.
  public func presence(of name: String) async throws -> PresenceState? {
    var pipeline = RedisPipeline()
    pipeline.append("HGET", keys.instances, name)
    guard let nonce = try await run(pipeline)[0].string else { return nil }
    return try await presences(of: [WorkerInstance(name: name, nonce: nonce)])[0]
  }

  /// Returns the observed state of all workers that have joined. The number of commands is three, whatever the number
  /// of workers.
  public func presences() async throws -> [PresenceState] {
    var pipeline = RedisPipeline()
    pipeline.append("HGETALL", keys.instances)
    let reply = try await run(pipeline)[0]
    return try await presences(
      of: stride(from: 0, to: reply.count - 1, by: 2).map {
        WorkerInstance(name: reply[$0].string ?? "", nonce: reply[$0 + 1].string ?? "")
      })
  }

  /// Returns the observed state of these workers.
  public func presences(of instances: [WorkerInstance]) async throws -> [PresenceState] {
    guard !instances.isEmpty else { return [] }
    var pipeline = RedisPipeline()
    pipeline.command("PUBSUB") {
      $0.append("NUMSUB")
      for instance in instances { $0.append(keys.presence(instance)) }
    }
    pipeline.command("ZMSCORE") {
      $0.append(keys.workers)
      for instance in instances { $0.append(instance.name) }
    }
    let replies = try await run(pipeline)
    return instances.indices.map {
      PresenceState(
        instance: instances[$0], isListening: replies[0].count > 2 * $0 + 1 && replies[0][2 * $0 + 1].integer != 0,
        heartbeat: replies[1].count > $0 ? replies[1][$0].integer ?? 0 : 0)
    }
  }

  /// Reply to a heartbeat.
  public struct Heartbeat: Sendable {
    /// Redis' time in ms since the epoch.
    public var now: Int
    /// Number of live workers, including this one.
    public var workers: Int
    /// Whether a lane has a campaign.
    public var hasWork: Bool
    /// The control epoch.
    public var epoch: Int
    /// Whether there is a maintenance leader.
    public var hasHousekeeper: Bool
    /// Whether the worker was not listed before.
    public var isNew: Bool
    /// Whether the worker holds slices, according to the list of its slices.
    public var holdsSlices: Bool
  }

  /// Renews a worker's presence, and returns the present state of the fleet, in case the worker has missed wake-up
  /// messages.
  ///
  /// - Parameters:
  ///   - worker: name of the worker.
  ///   - timeout: ms without a heartbeat after which another worker counts as dead.
  ///   - report: the worker's report; `nil` if it has not changed.
  @discardableResult
  public func heartbeat(worker: String, timeout: Int, report: WorkerReport? = nil) async throws -> Heartbeat {
    var pipeline = RedisPipeline()
    pipeline.script(
      StoreScripts.heartbeat,
      keys: [keys.workers, keys.epoch, keys.housekeeper, keys.reports, keys.processing(worker: worker)] + keys.lanes
    ) {
      $0.append(worker)
      $0.append(timeout)
      $0.append(report?.json ?? [])
    }
    let reply = try await run(pipeline)[0]
    return Heartbeat(
      now: reply[0].integer ?? 0, workers: max(1, reply[1].integer ?? 1), hasWork: reply[2].integer ?? 0 > 0,
      epoch: reply[3].integer ?? 0, hasHousekeeper: reply[4].integer == 1, isNew: reply[5].integer == 1,
      holdsSlices: reply[6].integer == 1)
  }

  /// Moves the jobs that a dead worker was taking in back to the producers' list, at the end from which workers take
  /// jobs. Then removes the worker from the list of workers, if the worker holds no slices.
  ///
  /// - Parameter nonce: nonce of the dead instance. If another instance has the name now, that instance stays. `nil`
  ///   for any instance.
  public func removeWorker(_ worker: String, nonce: String? = nil) async throws {
    var pipeline = RedisPipeline()
    pipeline.script(
      StoreScripts.removeWorker,
      keys: [
        keys.workers, keys.processing(worker: worker), keys.intake(worker: worker), keys.campaigns, keys.applied,
        keys.instances, keys.reports,
      ]
    ) {
      $0.append(worker)
      $0.append(nonce ?? "")
    }
    _ = try await run(pipeline)
  }

  /// Returns the names of all listed workers, which may hold slices or jobs.
  func workers() async throws -> [String] {
    var pipeline = RedisPipeline()
    pipeline.append("ZRANGE", keys.workers, 0, -1)
    return try await run(pipeline)[0].compactMap(\.string)
  }
}
