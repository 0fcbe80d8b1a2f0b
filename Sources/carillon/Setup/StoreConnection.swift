import CampaignStore
import CommandSupport
import EventLoop
import PushCore
import Redis

/// Opens the store of a configuration.
struct StoreConnection {
  /// Time for which a command waits for Redis before it reports that Redis is unreachable. It is long enough for the
  /// restart of a proxy, and short enough for an operator at a terminal.
  private static let timeout = Duration.seconds(4)
  /// Default number of partitions of a new store: enough for five million users.
  private static let standardPartitions = 256

  private let access: RedisAccess
  /// The keyspace of a new store.
  private let keys: Keyspace
  /// Whether an existing store may have any number of partitions, because the configuration sets no number.
  private let adopts: Bool
  private let feedbackLength: Int
  private let streamLength: Int
  private let devicesPerUser: Int
  private let zones: ZoneDatabase
  private let services: PushServices

  /// - Parameters:
  ///   - zoneinfo: the folder of the time zone database; `nil` for that of the system.
  ///   - apps: the push services of the configured apps, for devices without a service. They are needed only to add
  ///     devices.
  init(
    _ redis: CarillonConfiguration.Redis, zoneinfo: String? = nil, apps: [String: [any PushService]] = [:]
  ) throws {
    services = .known(apps: apps)
    zones = zoneinfo.map(ZoneDatabase.init(folder:)) ?? .system
    access = try RedisAccess(redis)
    let partitions = redis.partitions ?? Self.standardPartitions
    guard let keys = Keyspace(namespace: redis.namespace, partitions: partitions) else {
      throw CommandError(.defect, "invalid namespace \(redis.namespace) or number of partitions \(partitions)")
    }
    self.keys = keys
    adopts = redis.partitions == nil
    feedbackLength = redis.feedbackLength
    streamLength = redis.streamLength
    devicesPerUser = redis.devicesPerUser
  }

  /// The address of Redis for messages, without secrets.
  var endpoint: String { access.url.endpoint }

  /// Returns the store with a separate connection. The connection is opened when it is used for the first time.
  ///
  /// - Parameters:
  ///   - name: the name of the connection in `CLIENT LIST`.
  ///   - loop: the event loop of the connection (default: a separate loop).
  ///   - keys: the keyspace of an opened store (default: the keyspace of a new store).
  func store(for name: String, on loop: EventLoop? = nil, keys: Keyspace? = nil) -> CampaignStore {
    let keys = keys ?? self.keys
    // The backoff is short, because workers must reconnect quickly after an outage of Redis to record outcomes.
    let options = RedisOptions(
      clientName: name, home: keys.home, connectTimeout: Self.timeout, waitTimeout: Self.timeout,
      backoff: Backoff(cap: .seconds(1)))
    return CampaignStore(
      redis: RedisClient(url: access.url, options: access.options(options), on: loop), keys: keys, services: services,
      zones: zones, feedbackLength: feedbackLength, streamLength: streamLength, devicesPerUser: devicesPerUser)
  }

  /// Opens the store over a connection of its own, and checks the store.
  ///
  /// The parameters are those of ``open(_:creating:changing:adopting:)``.
  func open(creating: Bool, changing: Bool = false, adopting: Bool = false) async throws -> CampaignStore {
    try await open(store(for: "carillon"), creating: creating, changing: changing, adopting: adopting)
  }

  /// Checks the store and returns it.
  ///
  /// - Parameters:
  ///   - store: the result of ``store(for:on:keys:)``.
  ///   - creating: whether a missing store is initialised. True for workers and for commands that add devices, segments
  ///     or jobs.
  ///   - changing: whether the caller changes devices or segments. This is not allowed while the store is locked for
  ///     repartitioning.
  ///   - adopting: whether the store may have another number of partitions than the configuration.
  func open(
    _ store: CampaignStore, creating: Bool, changing: Bool = false, adopting: Bool = false
  ) async throws -> CampaignStore {
    try await store.open(creating: creating, adopting: adopts || adopting, acceptingLocked: !changing)
  }
}

extension GlobalOptions {
  /// Opens the store of the configuration. Most commands begin with this call.
  ///
  /// - Parameters:
  ///   - creating: whether a missing store is initialised.
  ///   - changing: whether the command changes devices or segments.
  func openStore(creating: Bool = false, changing: Bool = false) async throws -> CampaignStore {
    try await StoreConnection(loadConfiguration().redis).open(creating: creating, changing: changing)
  }
}
