#if DEBUG
  import Foundation
#endif
public import PushCore
public import Redis
import Synchronization

/// Everything that Carillon keeps in Redis: the one place that knows its keys and its scripts.
///
/// It is opened and closed here. Every other operation belongs to a room (``queue``, ``campaigns``, …), which has a type
/// and a folder of its own. A value over a client; copies share the connection. Callers with different needs of latency
/// use different clients.
public struct CampaignStore: Sendable {
  /// The keys, for those who show them to other programs.
  public private(set) var keys: Keyspace
  /// The push services whose tokens and reasons it keeps, and which of them each app uses.
  public let services: PushServices
  /// The time zones that there are.
  public let zones: ZoneDatabase
  /// How many tokens the feedback list keeps.
  let feedbackLength: Int
  /// How many entries the stream of events keeps; 0 for no stream.
  let streamLength: Int
  /// How many devices a user has at most; for another one the oldest leaves.
  let devicesPerUser: Int
  let redis: RedisClient
  /// Members that one command works on at most, so that no command keeps Redis from others for long.
  static let batch = 500
  /// Which connections may be used; `nil` for any.
  private var fence: ConnectionFence?
  /// Whether what is rebuilt from other keys is set aside when it is damaged: workers do that, commands change nothing.
  private(set) var setsAside = false
  /// The only connections that may be used; `nil` for whatever the fence says.
  private var pin: RedisConnections?

  /// The oldest server that has all we use (`LMOVE`, `LPOS`: 6.2).
  private static let oldestServer = RedisVersion(major: 6, minor: 2)
  /// The version of keys and of all formats that don't say their own, see `README.md`; a store of another is refused.
  static let layoutVersion = announcedLayout ?? 13

  /// `CARILLON_FAULT_LAYOUT`: with which version a debug build meets a store, to see that it refuses it; `nil` for its own.
  private static var announcedLayout: Int? {
    #if DEBUG
      ProcessInfo.processInfo.environment["CARILLON_FAULT_LAYOUT"].flatMap { Int($0) }
    #else
      nil
    #endif
  }

  /// - Parameters:
  ///   - redis: the client to use for every call.
  ///   - keys: namespace and partitions; ``open(creating:)`` checks them against what is stored.
  ///   - services: the push services that the program knows, and which of them each app uses.
  ///   - zones: the time zones that there are.
  ///   - feedbackLength: how many tokens the feedback list keeps; a backend that reads it daily is not expected to prune
  ///     a million in a day.
  ///   - streamLength: how many outcomes and prunes the stream of events keeps; 0 writes none.
  ///   - devicesPerUser: how many devices a user has at most. People have a handful; more is an id that many share, and
  ///     every registration writes the whole record.
  public init(
    redis: RedisClient, keys: Keyspace, services: PushServices, zones: ZoneDatabase = .system,
    feedbackLength: Int = 1_000_000, streamLength: Int = 0, devicesPerUser: Int = 100
  ) {
    self.redis = redis
    self.zones = zones
    self.services = services
    self.feedbackLength = feedbackLength
    self.streamLength = streamLength
    self.devicesPerUser = devicesPerUser
    self.keys = keys
  }

  /// Checks that the server is fit, and that the store is ours.
  ///
  /// - Parameters:
  ///   - creating: whether a store that is not there is initialised. Whoever only reads, or changes what is there,
  ///     creates none: it would stand under a mistyped namespace for good.
  ///   - adopting: whether a store that is there may have another number of partitions than ``keys``.
  ///   - holding: whether a store that is held will do. It will not for who writes what belongs to a partition.
  /// - Returns: the same store with the number of partitions that it has.
  /// - Throws: ``StoreError`` `unfit`, `readOnly`, `mismatch` or `held`, each with what to do; `RedisError` when out of
  ///   reach.
  @discardableResult
  public func open(creating: Bool, adopting: Bool = false, holding: Bool = false) async throws -> CampaignStore {
    for sight in try await redis.sights() { try Self.checkServer(sight) }
    // Read first: a full Redis, which takes no writes, can still be looked at.
    var pipeline = RedisPipeline()
    pipeline.append("HMGET", keys.store, "partitions", "version", "nextPartitions")
    var stored = try await run(pipeline)[0]
    if !holding, let next = stored[2].integer { throw StoreError.held(for: next) }
    if stored[0].isNull || stored[1].isNull {
      guard creating else { return self }
      pipeline.removeAll()
      pipeline.script(StoreScripts.initialise, keys: [keys.store]) {
        $0.append(keys.partitions)
        $0.append(Self.layoutVersion)
      }
      stored = try await run(pipeline)[0]
    }
    guard stored[1].integer == Self.layoutVersion else { throw mismatch(stored[1].integer ?? 0) }
    let stands = stored[0].integer.flatMap { Keyspace(namespace: keys.namespace, partitions: $0) }
    guard let stands, adopting || stands.partitions == keys.partitions else {
      throw StoreError(
        .mismatch,
        "the store under namespace \(keys.namespace) has \(stored[0].integer ?? 0) partitions, not \(keys.partitions)",
        hint: "take redis.partitions out, or set it to \(stored[0].integer ?? 0); carillon store repartition changes it"
      )
    }
    var store = self
    store.keys = stands
    return store
  }

  /// The error for a store of another version.
  func mismatch(_ version: Int) -> StoreError {
    StoreError(
      .mismatch, "the store under namespace \(keys.namespace) has version \(version), not \(Self.layoutVersion)",
      hint: "use the version of Carillon that wrote it, or another redis.namespace: devices come over with "
        + "carillon devices export and import")
  }

  /// The same store as it would be with other partitions.
  func withPartitions(of keys: Keyspace) -> CampaignStore {
    var store = self
    store.keys = keys
    return store
  }

  private static func checkServer(_ server: RedisServerSight) throws(StoreError) {
    if let version = server.info.version, version < oldestServer {
      throw StoreError(
        .unfit, "Redis \(version) at \(server.endpoint) is too old: Carillon needs \(oldestServer) or newer",
        hint: "upgrade Redis; 7.0 or newer is recommended")
    }
    if let policy = server.info.evictionPolicy, policy != "noeviction" {
      throw StoreError(
        .unfit, "Redis at \(server.endpoint) is set to evict campaigns and devices: maxmemory-policy is \(policy)",
        hint: "set maxmemory-policy to noeviction")
    }
    if server.info.role == .replica {
      throw StoreError(
        .readOnly, "the Redis at \(server.endpoint) is a read-only replica", hint: "point redis.url at the primary")
    }
  }

  /// Ends the connections; the store can't be used again.
  public func close() async { await redis.close() }

  /// Time by Redis' clock, in µs since the epoch.
  public func time() async throws -> Int {
    Int(try await redis.time())
  }

  // MARK: Rooms

  public var queue: Queue { Queue(store: self) }
  public var campaigns: Campaigns { Campaigns(store: self) }
  public var slices: Slices { Slices(store: self) }
  public var audiences: Audiences { Audiences(store: self) }
  public var expansion: Expansion { Expansion(store: self) }
  public var registry: Registry { Registry(store: self) }
  public var erasure: Erasure { Erasure(store: self) }
  public var limits: Limits { Limits(store: self) }
  public var results: Results { Results(store: self) }
  public var fleet: Fleet { Fleet(store: self) }
  public var repair: Repair { Repair(store: self) }
  public var repartition: Repartition { Repartition(store: self) }

  // MARK: Connections

  /// The same store for a worker: after a reconnect it refuses every call until the new connection is admitted, see
  /// ``identify()``, and what is damaged and rebuilt from other keys it sets aside.
  public func fenced() -> CampaignStore {
    var store = self
    store.fence = ConnectionFence()
    store.setsAside = true
    return store
  }

  /// The same store for calls that only make sense together: all of them on the connections that are admitted now.
  public func pinned() -> CampaignStore {
    var store = self
    store.pin = fence?.admitted
    return store
  }

  /// Says which servers answer and of which line of writes each is: another than before may have lost the last writes
  /// that it had acknowledged.
  ///
  /// A restart changes the run id; a failover, and a primary that was a replica for a while, the replication id.
  ///
  /// - Returns: at least one; of a cluster one for each server that has slots and answers.
  public func identify() async throws -> [ServerIdentity] {
    try await redis.sights(["server", "replication"]).map { ServerIdentity($0, keys: keys) }
  }

  /// Lets calls use the connections on which servers said who they are, and no others of theirs. Those of servers that
  /// are not among them stay as they are.
  public func admit(_ servers: [ServerIdentity]) {
    fence?.admit(servers)
  }

  /// Whether the connections there are now are those that were admitted, and none is missing.
  public func isAdmitted() async -> Bool {
    guard let fence else { return true }
    return await redis.isConnected(by: fence.admitted)
  }

  /// Runs commands, none of which may be refused.
  ///
  /// - Parameter timeout: for the answers, instead of the client's own.
  /// - Throws: the first refusal as a ``StoreError``; `RedisError` when the way to Redis failed.
  func run(_ pipeline: RedisPipeline, timeout: Duration? = nil) async throws -> [RedisReply] {
    #if DEBUG
      StoreSteps.pass()
      try await StoreSteps.beforeEach?()
    #endif
    return try await checked(redis.execute(pipeline, timeout: timeout, on: pin ?? fence?.admitted), of: pipeline)
  }

  /// Runs commands on whatever server answers, none of which may be refused.
  func runAnywhere(_ pipeline: RedisPipeline) async throws -> [RedisReply] {
    try await checked(redis.execute(pipeline), of: pipeline)
  }

  func checked(_ replies: [RedisReply], of pipeline: RedisPipeline) async throws -> [RedisReply] {
    for (position, reply) in replies.enumerated() {
      if let error = reply.error { throw await repair.explain(error, of: position, in: pipeline) }
    }
    return replies
  }

  /// Runs commands, each of which may be refused.
  func runEach(_ pipeline: RedisPipeline) async throws -> [Result<RedisReply, StoreError>] {
    var results: [Result<RedisReply, StoreError>] = []
    for (position, reply) in try await redis.execute(pipeline, on: pin ?? fence?.admitted).enumerated() {
      if let error = reply.error {
        results.append(.failure(await repair.explain(error, of: position, in: pipeline)))
      } else {
        results.append(.success(reply))
      }
    }
    return results
  }
}
