import Redis

/// One life of a worker: its name, and what tells it from an earlier process of that name.
public struct WorkerInstance: Hashable, Sendable, CustomStringConvertible {
  /// The worker's name, which has no blank.
  public var name: String
  /// 16 hex digits, drawn when the process began.
  public var nonce: String

  /// - Parameter generator: the source of chance.
  public init(name: String, using generator: inout some RandomNumberGenerator) {
    self.name = name
    let digits = String(UInt64.random(in: .min ... .max, using: &generator), radix: 16)
    nonce = String(repeating: "0", count: 16 - digits.count) + digits
  }

  /// - Returns: `nil` for what ``description`` never is.
  init?(_ text: String) {
    guard let blank = text.lastIndex(of: " ") else { return nil }
    name = String(text[..<blank])
    nonce = String(text[text.index(after: blank)...])
  }

  init(name: String, nonce: String) {
    self.name = name
    self.nonce = nonce
  }

  /// As it stands in Redis: name, blank, nonce.
  public var description: String { "\(name) \(nonce)" }
}

/// What was seen of a worker that is listed.
public struct PresenceSight: Sendable {
  /// Which.
  public var instance: WorkerInstance
  /// Whether it listens: its process has a connection to Redis.
  public var isListening: Bool
  /// Its last heartbeat in ms since the epoch; 0 when it is not listed any more.
  public var heartbeat: Int

  /// Whether it lives, by what was seen of it a moment ago.
  ///
  /// One that has just lost its connection gives a heartbeat at once. One that another has taken off the list meanwhile has
  /// none.
  public func isAlive(since earlier: PresenceSight) -> Bool { isListening || heartbeat > earlier.heartbeat }
}

/// Presence: who is alive. A worker listens on a channel of its own, so the server knows when its process has ended.
extension Fleet {
  /// Lists a worker that starts. It must be listening already.
  ///
  /// - Parameter former: the instance of that name that was seen, and taken for dead.
  /// - Returns: false when another instance has the name by now.
  public func join(_ instance: WorkerInstance, replacing former: WorkerInstance? = nil) async throws -> Bool {
    var pipeline = RedisPipeline()
    pipeline.script(StoreScripts.join, keys: [keys.instances, keys.workers, keys.applied]) {
      $0.append(instance.name)
      $0.append(instance.nonce)
      $0.append(former?.nonce ?? "")
    }
    return try await run(pipeline)[0].integer == 1
  }

  /// What is seen of the instance that has a name; `nil` when nobody has it.
  public func sight(of name: String) async throws -> PresenceSight? {
    var pipeline = RedisPipeline()
    pipeline.append("HGET", keys.instances, name)
    guard let nonce = try await run(pipeline)[0].string else { return nil }
    return try await sights(of: [WorkerInstance(name: name, nonce: nonce)])[0]
  }

  /// What is seen of all workers that have joined: two commands, however many there are.
  public func sights() async throws -> [PresenceSight] {
    var pipeline = RedisPipeline()
    pipeline.append("HGETALL", keys.instances)
    let reply = try await run(pipeline)[0]
    return try await sights(
      of: stride(from: 0, to: reply.count - 1, by: 2).map {
        WorkerInstance(name: reply[$0].string ?? "", nonce: reply[$0 + 1].string ?? "")
      })
  }

  /// What is seen of these workers now.
  public func sights(of instances: [WorkerInstance]) async throws -> [PresenceSight] {
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
      PresenceSight(
        instance: instances[$0], isListening: replies[0].count > 2 * $0 + 1 && replies[0][2 * $0 + 1].integer != 0,
        heartbeat: replies[1].count > $0 ? replies[1][$0].integer ?? 0 : 0)
    }
  }

  /// What a heartbeat brought back.
  public struct Heartbeat: Sendable {
    /// Redis' time in ms since the epoch.
    public var now: Int
    /// Workers that live, this one among them.
    public var workers: Int
    /// Whether a lane has a campaign.
    public var hasWork: Bool
    /// The control epoch.
    public var epoch: Int
    /// Whether somebody keeps house.
    public var hasHousekeeper: Bool
    /// Whether the worker was not listed before.
    public var isNew: Bool
    /// Whether references to slices are in its processing list.
    public var holdsSlices: Bool
  }

  /// Renews a worker's presence, and says what messages would have said.
  ///
  /// - Parameters:
  ///   - worker: its name.
  ///   - timeout: ms without a heartbeat after which another worker is taken for dead.
  ///   - report: what it says of itself; `nil` for what it said last.
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

  /// Gives the jobs that a dead worker was taking in back to the intake list, next in turn, and removes it from the list
  /// of workers once nothing of it is left.
  ///
  /// - Parameter nonce: of the instance that has ended, so that another of its name stays; `nil` for whichever it is.
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

  /// The names of all workers that may hold anything.
  func workers() async throws -> [String] {
    var pipeline = RedisPipeline()
    pipeline.append("ZRANGE", keys.workers, 0, -1)
    return try await run(pipeline)[0].compactMap(\.string)
  }
}
