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

  private let access: RedisAccess
  private let keys: Keyspace
  private let feedbackLength: Int
  private let devicesPerUser: Int

  init(_ redis: CarillonConfiguration.Redis) throws {
    access = try RedisAccess(redis)
    guard let keys = Keyspace(namespace: redis.namespace, partitions: redis.partitions) else {
      throw CommandError(.defect, "no keys for namespace \(redis.namespace) and \(redis.partitions) partitions")
    }
    self.keys = keys
    feedbackLength = redis.feedbackLength
    devicesPerUser = redis.devicesPerUser
  }

  /// The store over a connection of its own, which is made when it is first used.
  ///
  /// - Parameters:
  ///   - name: what `CLIENT LIST` shows.
  ///   - loop: where the connection lives; one of its own without it.
  func store(for name: String, on loop: EventLoop? = nil) -> CampaignStore {
    // A Redis that comes back waits for what its workers have to tell it: none may be long in noticing.
    let options = RedisOptions(
      clientName: name, home: keys.home, connectTimeout: Self.patience, patience: Self.patience,
      backoff: Backoff(cap: .seconds(1)))
    return CampaignStore(
      redis: RedisClient(url: access.url, options: access.options(options), on: loop), keys: keys, services: .known,
      feedbackLength: feedbackLength, devicesPerUser: devicesPerUser)
  }

  /// The store over a connection of its own, checked.
  ///
  /// - Parameters:
  ///   - name: what `CLIENT LIST` shows.
  ///   - loop: as with ``store(for:on:)``.
  ///   - creating: whether a store that is not there is initialised: by what brings devices, segments or jobs, and by
  ///     workers.
  func open(for name: String = "carillon", on loop: EventLoop? = nil, creating: Bool) async throws -> CampaignStore {
    let store = store(for: name, on: loop)
    try await store.open(creating: creating)
    return store
  }
}

extension GlobalOptions {
  /// The store of the configuration; most commands begin with it.
  ///
  /// - Parameter creating: whether a store that is not there is initialised.
  func openStore(creating: Bool = false) async throws -> CampaignStore {
    try await StoreConnection(loadConfiguration().redis).open(creating: creating)
  }
}
