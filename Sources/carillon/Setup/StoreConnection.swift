import CampaignStore
import CommandSupport
import EventLoop
import PushCore
import Redis

/// The way from a configuration to the store.
struct StoreConnection {
  /// How long a command waits for Redis before it says that Redis is out of reach: long enough for a restart of its
  /// proxy, short enough for somebody who looks at the terminal.
  private static let patience = Duration.seconds(4)
  /// Partitions of a new store: enough for five million users.
  private static let standardPartitions = 256

  private let access: RedisAccess
  /// What a store that is not there would have.
  private let keys: Keyspace
  /// Whether a store that is there may have other partitions: the configuration says nothing of them.
  private let adopts: Bool
  private let feedbackLength: Int
  private let streamLength: Int
  private let devicesPerUser: Int
  private let zones: ZoneDatabase

  /// - Parameter zoneinfo: the folder of the time zone database; `nil` for the system's.
  init(_ redis: CarillonConfiguration.Redis, zoneinfo: String? = nil) throws {
    zones = zoneinfo.map(ZoneDatabase.init(folder:)) ?? .system
    access = try RedisAccess(redis)
    let partitions = redis.partitions ?? Self.standardPartitions
    guard let keys = Keyspace(namespace: redis.namespace, partitions: partitions) else {
      throw CommandError(.defect, "no keys for namespace \(redis.namespace) and \(partitions) partitions")
    }
    self.keys = keys
    adopts = redis.partitions == nil
    feedbackLength = redis.feedbackLength
    streamLength = redis.streamLength
    devicesPerUser = redis.devicesPerUser
  }

  /// Where Redis is, for people: nothing secret.
  var endpoint: String { access.url.endpoint }

  /// The store over a connection of its own, which is made when it is first used.
  ///
  /// - Parameters:
  ///   - name: what `CLIENT LIST` shows.
  ///   - loop: where the connection lives; one of its own without it.
  ///   - keys: of a store that was opened; those of a new one without them.
  func store(for name: String, on loop: EventLoop? = nil, keys: Keyspace? = nil) -> CampaignStore {
    let keys = keys ?? self.keys
    // A Redis that comes back waits for what its workers have to tell it: none may be long in noticing.
    let options = RedisOptions(
      clientName: name, home: keys.home, connectTimeout: Self.patience, patience: Self.patience,
      backoff: Backoff(cap: .seconds(1)))
    return CampaignStore(
      redis: RedisClient(url: access.url, options: access.options(options), on: loop), keys: keys, services: .known,
      zones: zones, feedbackLength: feedbackLength, streamLength: streamLength, devicesPerUser: devicesPerUser)
  }

  /// The store over a connection of its own, checked.
  ///
  /// - Parameter creating: as with ``open(_:creating:changing:adopting:)``, like the rest.
  func open(creating: Bool, changing: Bool = false, adopting: Bool = false) async throws -> CampaignStore {
    try await open(store(for: "carillon"), creating: creating, changing: changing, adopting: adopting)
  }

  /// The same store, checked.
  ///
  /// - Parameters:
  ///   - store: one of ``store(for:on:keys:)``.
  ///   - creating: whether a store that is not there is initialised: by what brings devices, segments or jobs, and by
  ///     workers.
  ///   - changing: whether what partitions have is changed, devices and segments: not while the store is held.
  ///   - adopting: whether the store may have other partitions than the configuration says.
  func open(
    _ store: CampaignStore, creating: Bool, changing: Bool = false, adopting: Bool = false
  ) async throws -> CampaignStore {
    try await store.open(creating: creating, adopting: adopts || adopting, holding: !changing)
  }
}

extension GlobalOptions {
  /// The store of the configuration; most commands begin with it.
  ///
  /// - Parameters:
  ///   - creating: whether a store that is not there is initialised.
  ///   - changing: whether devices or segments are changed.
  func openStore(creating: Bool = false, changing: Bool = false) async throws -> CampaignStore {
    try await StoreConnection(loadConfiguration().redis).open(creating: creating, changing: changing)
  }
}
