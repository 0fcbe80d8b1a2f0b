#if DEBUG
  import Foundation
#endif
public import PushCore
public import Redis
import Synchronization

/// The store: all data that Carillon keeps in Redis. Only this module knows the keys and the scripts.
///
/// This type opens and closes the store. Every other operation belongs to a room (``queue``, ``campaigns``, …), which
/// has its own type and folder. The store is a value that uses a Redis client; copies share its connection. Callers
/// with different latency requirements use different clients.
public struct CampaignStore: Sendable {
  /// Namespace, number of partitions, and the names of all keys.
  public private(set) var keys: Keyspace
  /// The push services whose tokens and reasons are stored, and the service of each app.
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
  /// The rules that decide whether receipts of recent campaigns count.
  let receiptRules = ReceiptRuleCache()
  /// Maximum number of members in one command, so that no command blocks Redis for long.
  static let batch = 500
  /// For the store of a worker: the connections that the worker has admitted (``admit(_:)``); `nil` for a store that
  /// may use any connection.
  private var fence: ConnectionFence?
  /// Whether the store isolates a damaged key, which means that it renames the key, if the key can be rebuilt from
  /// other keys. Workers do this; commands do not.
  private(set) var setsAside = false
  /// Connections for a group of calls (``pinned()``); `nil` for all connections that the fence allows.
  private var pin: RedisConnections?

  /// Oldest version of Redis with all commands that Carillon uses (`LMOVE` and `LPOS` came with 6.2).
  private static let oldestServer = RedisVersion(major: 6, minor: 2)
  /// Version of the keys and of all formats that have no version of their own, see `Keys.md`. Carillon refuses a
  /// store of another version.
  static let layoutVersion = announcedLayout ?? 14

  /// Value of `CARILLON_FAULT_LAYOUT`; `nil` if not set. A debug build pretends to have this version, so that tests can
  /// check that it refuses a store of another version.
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
  ///   - keys: the namespace and the number of partitions. ``open(creating:adopting:acceptingLocked:)`` compares the
  ///     number with the stored one.
  ///   - services: the push services that the program knows, and the service of each app.
  ///   - zones: the known time zones.
  ///   - feedbackLength: the maximum number of tokens in the feedback list. A million is enough for a backend that
  ///     reads the list once a day.
  ///   - streamLength: the maximum number of outcomes and prunes in the event stream; 0 for no stream.
  ///   - devicesPerUser: the maximum number of devices of a user. Most people have a few. A much larger number means
  ///     that many people share an id. Every registration then writes a large record.
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
  ///   - creating: whether to create the store if it does not exist. A caller that only reads or changes existing data
  ///     passes false. Otherwise a mistyped namespace would create a store.
  ///   - adopting: whether the store may have another number of partitions than ``keys``.
  ///   - acceptingLocked: whether to accept a store that is locked for a repartition. A caller that writes data of a
  ///     partition passes false.
  /// - Returns: this store with the stored number of partitions.
  /// - Throws: ``StoreError`` `unfit`, `readOnly`, `mismatch` or `locked`, each with a hint; `RedisError` if Redis is
  ///   unreachable.
  @discardableResult
  public func open(creating: Bool, adopting: Bool = false, acceptingLocked: Bool = false) async throws -> CampaignStore
  {
    for state in try await redis.serverStates() { try Self.checkServer(state) }
    // Read before any write: a full Redis refuses writes but can still be inspected.
    var pipeline = RedisPipeline()
    pipeline.append("HMGET", keys.store, "partitions", "version", "nextPartitions")
    var stored = try await run(pipeline)[0]
    if !acceptingLocked, let next = stored[2].integer { throw StoreError.locked(for: next) }
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

  private static func checkServer(_ server: RedisServerState) throws(StoreError) {
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
  public func time() async throws -> Int { try await redis.time() }

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

  /// Returns this store for a worker. After a reconnect, the returned store refuses every call until the worker has
  /// admitted the new connection (``admit(_:)``). It isolates damaged keys that can be rebuilt from other keys.
  public func fenced() -> CampaignStore {
    var store = self
    store.fence = ConnectionFence()
    store.setsAside = true
    return store
  }

  /// Returns this store for a group of calls that must use the same connections. The store of a worker then uses only
  /// the connections that are admitted now, so calls fail after a reconnect. Any other store does not change.
  public func pinned() -> CampaignStore {
    var store = self
    store.pin = fence?.admitted
    return store
  }

  /// Returns the servers that answer, and the identity of each. If the identity of a server has changed, the server may
  /// have lost its last acknowledged writes.
  ///
  /// A restart changes the run id. A failover changes the replication id. A primary that was a replica for some time
  /// also has another replication id.
  ///
  /// - Returns: at least one server; in a cluster each server that has slots and answers.
  public func identify() async throws -> [ServerIdentity] {
    try await redis.serverStates(["server", "replication"]).map { ServerIdentity($0, keys: keys) }
  }

  /// Allows calls to these servers, on the connections from which ``identify()`` has read their identities. The allowed
  /// connections to other servers do not change.
  public func admit(_ servers: [ServerIdentity]) {
    fence?.admit(servers)
  }

  /// Returns whether all present connections are admitted and all admitted connections still exist.
  public func isAdmitted() async -> Bool {
    guard let fence else { return true }
    return await redis.isConnected(by: fence.admitted)
  }

  /// Runs commands on the admitted connections.
  ///
  /// - Parameter timeout: the timeout for the replies; `nil` for the timeout of the client.
  /// - Throws: the first error reply as a ``StoreError``; `RedisError` if the connection to Redis failed.
  func run(_ pipeline: RedisPipeline, timeout: Duration? = nil) async throws -> [RedisReply] {
    #if DEBUG
      StoreSteps.pass()
      try await StoreSteps.beforeEach?()
    #endif
    return try await checked(redis.execute(pipeline, timeout: timeout, on: pin ?? fence?.admitted), of: pipeline)
  }

  /// Runs commands, also on connections that are not admitted (see ``admit(_:)``). Throws the first error reply.
  func runAnywhere(_ pipeline: RedisPipeline) async throws -> [RedisReply] {
    try await checked(redis.execute(pipeline), of: pipeline)
  }

  func checked(_ replies: [RedisReply], of pipeline: RedisPipeline) async throws -> [RedisReply] {
    for (position, reply) in replies.enumerated() {
      if let error = reply.error { throw await repair.explain(error, of: position, in: pipeline) }
    }
    return replies
  }

  /// Runs commands on the admitted connections. Returns a result for each command, which may be an error.
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
