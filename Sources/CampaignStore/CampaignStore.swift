#if DEBUG
  import Foundation
#endif
public import PushCore
public import Redis
import Synchronization

/// The store: all data that Carillon keeps in Redis. Only this module knows the keys and the scripts.
///
/// This type opens and closes the store. Every other operation belongs to a room (``queue``, ``campaigns``, …), which
/// has a type and a folder of its own. The store is a value over a client; copies share the connection. Callers with
/// different latency requirements use different clients.
public struct CampaignStore: Sendable {
  /// Names of the keys, for output to other programs.
  public private(set) var keys: Keyspace
  /// Push services of the stored tokens and reasons, and the service of each app.
  public let services: PushServices
  /// Known time zones.
  public let zones: ZoneDatabase
  /// Maximum number of tokens in the feedback list.
  let feedbackLength: Int
  /// Maximum number of entries in the event stream; 0 for no stream.
  let streamLength: Int
  /// Maximum number of devices of a user. A further device evicts the oldest one.
  let devicesPerUser: Int
  let redis: RedisClient
  /// Maximum number of members in one command, so that no command blocks Redis for long.
  static let batch = 500
  /// Connections that may be used; `nil` for any.
  private var fence: ConnectionFence?
  /// Whether damaged keys that can be rebuilt from others are set aside. Workers do that; commands change nothing.
  private(set) var setsAside = false
  /// The only connections that may be used; `nil` for those of the fence.
  private var pin: RedisConnections?

  /// Oldest server that has all commands that Carillon uses (`LMOVE`, `LPOS`: 6.2).
  private static let oldestServer = RedisVersion(major: 6, minor: 2)
  /// Version of the keys and of all formats without a version of their own, see `README.md`. A store of another version
  /// is refused.
  static let layoutVersion = announcedLayout ?? 13

  /// Value of `CARILLON_FAULT_LAYOUT`: the version that a debug build pretends to have, to test that it refuses a
  /// store; `nil` if not set.
  private static var announcedLayout: Int? {
    #if DEBUG
      ProcessInfo.processInfo.environment["CARILLON_FAULT_LAYOUT"].flatMap { Int($0) }
    #else
      nil
    #endif
  }

  /// Creates a store.
  ///
  /// - Parameters:
  ///   - redis: the client for every call.
  ///   - keys: namespace and number of partitions. ``open(creating:adopting:holding:)`` compares them with the stored
  ///     ones.
  ///   - services: the push services that the program knows, and the service of each app.
  ///   - zones: the known time zones.
  ///   - feedbackLength: the maximum number of tokens in the feedback list. A backend that reads it daily should not
  ///     see a million prunes in a day.
  ///   - streamLength: the maximum number of outcomes and prunes in the event stream; 0 for no stream.
  ///   - devicesPerUser: the maximum number of devices of a user. People have a handful. A larger number indicates an
  ///     id that many people share, and every registration writes the whole record.
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

  /// Checks that the server is suitable and that the store has this program's version.
  ///
  /// - Parameters:
  ///   - creating: whether a missing store is initialised. A caller that only reads or changes existing data passes
  ///     false: a mistyped namespace would otherwise create a store that stays.
  ///   - adopting: whether the store may have another number of partitions than ``keys``.
  ///   - holding: whether a held store is accepted. A caller that writes data of a partition passes false.
  /// - Returns: this store with the stored number of partitions.
  /// - Throws: ``StoreError`` `unfit`, `readOnly`, `mismatch` or `held`, each with a hint; `RedisError` if Redis is
  ///   unreachable.
  @discardableResult
  public func open(creating: Bool, adopting: Bool = false, holding: Bool = false) async throws -> CampaignStore {
    for sight in try await redis.sights() { try Self.checkServer(sight) }
    // Read before any write: a full Redis refuses writes but can still be inspected.
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
        hint: "remove redis.partitions, or set it to \(stored[0].integer ?? 0); carillon store repartition changes it"
      )
    }
    var store = self
    store.keys = stands
    return store
  }

  /// Returns the error for a store of another version.
  func mismatch(_ version: Int) -> StoreError {
    StoreError(
      .mismatch, "the store under namespace \(keys.namespace) has version \(version), not \(Self.layoutVersion)",
      hint: "use the version of Carillon that wrote it, or another redis.namespace; move devices with "
        + "carillon devices export and import")
  }

  /// Returns this store with another number of partitions.
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
        .readOnly, "the Redis at \(server.endpoint) is a read-only replica", hint: "set redis.url to the primary")
    }
  }

  /// Closes the connections. The store can't be used again.
  public func close() async { await redis.close() }

  /// Returns the time by Redis' clock, in µs since the epoch.
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

  /// Returns this store for a worker. After a reconnect it refuses every call until the new connection is admitted, see
  /// ``identify()``. It sets damaged keys aside if they can be rebuilt from others.
  public func fenced() -> CampaignStore {
    var store = self
    store.fence = ConnectionFence()
    store.setsAside = true
    return store
  }

  /// Returns this store for calls that must use the same connections: those that are admitted now.
  public func pinned() -> CampaignStore {
    var store = self
    store.pin = fence?.admitted
    return store
  }

  /// Returns the servers that answer, and the identity of each. If an identity has changed, the server may have lost
  /// the last writes that it had acknowledged.
  ///
  /// A restart changes the run id. A failover changes the replication id, and so does a primary that was a replica for
  /// a while.
  ///
  /// - Returns: at least one server; in a cluster each server that has slots and answers.
  public func identify() async throws -> [ServerIdentity] {
    try await redis.sights(["server", "replication"]).map { ServerIdentity($0, keys: keys) }
  }

  /// Allows calls on the connections on which these servers identified themselves, and on no others to these servers.
  /// Connections to other servers stay as they are.
  public func admit(_ servers: [ServerIdentity]) {
    fence?.admit(servers)
  }

  /// Returns whether the present connections are those that were admitted, and none is missing.
  public func isAdmitted() async -> Bool {
    guard let fence else { return true }
    return await redis.isConnected(by: fence.admitted)
  }

  /// Runs commands. An error reply to any of them is thrown.
  ///
  /// - Parameter timeout: the timeout for the replies; `nil` for the client's own.
  /// - Throws: the first error reply as a ``StoreError``; `RedisError` if the connection to Redis failed.
  func run(_ pipeline: RedisPipeline, timeout: Duration? = nil) async throws -> [RedisReply] {
    #if DEBUG
      StoreSteps.pass()
      try await StoreSteps.beforeEach?()
    #endif
    return try await checked(redis.execute(pipeline, timeout: timeout, on: pin ?? fence?.admitted), of: pipeline)
  }

  /// Runs commands on any server that answers. An error reply to any of them is thrown.
  func runAnywhere(_ pipeline: RedisPipeline) async throws -> [RedisReply] {
    try await checked(redis.execute(pipeline), of: pipeline)
  }

  func checked(_ replies: [RedisReply], of pipeline: RedisPipeline) async throws -> [RedisReply] {
    for (position, reply) in replies.enumerated() {
      if let error = reply.error { throw await repair.explain(error, of: position, in: pipeline) }
    }
    return replies
  }

  /// Runs commands. Returns a result for each, which may be an error.
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
