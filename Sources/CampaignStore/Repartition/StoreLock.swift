import Redis

/// Whether campaigns may begin, as a worker sees it. Raw values are those of `synccontrol.lua`.
public enum StoreLock: Int, Sendable {
  /// Campaigns may begin.
  case none = 0
  /// The store is being repartitioned: no campaign begins.
  case locked = 1
  /// The store has another number of partitions than the worker knows.
  case outdated = 2
}

/// The campaigns and workers that must end before a locked store can be repartitioned.
public struct LockObstacles: Equatable, Sendable {
  /// Some of the campaigns that have begun and not ended, with their states.
  public var campaigns: [String] = []
  /// Number of all campaigns that have begun and not ended.
  public var campaignCount = 0
  /// Live workers.
  public var workers: [String] = []

  /// Creates a value without obstacles.
  public init() {}

  /// Whether no obstacle exists.
  public var isEmpty: Bool { campaignCount == 0 && workers.isEmpty }
}

/// Locking a store. While a store is *locked*, no campaign begins. When the running campaigns have ended, the workers
/// stop, and the keys can be moved.
extension Repartition {
  /// Largest number of campaigns that an error names.
  private static let namedCampaigns = 5

  /// Locks the store until its number of partitions has changed. The store may already be locked, also for another
  /// number.
  ///
  /// - Parameter count: the future number of partitions, 1 to 16,384.
  /// - Returns: the number of partitions that may have users, before or after the change.
  /// - Throws: ``StoreError`` `notFound` if the store does not exist.
  public func lock(for count: Int) async throws -> Int {
    var pipeline = RedisPipeline()
    pipeline.script(StoreScripts.hold, keys: [keys.store, keys.epoch, keys.wake]) { $0.append(count) }
    let spread = try await run(pipeline)[0].integer ?? 0
    guard spread > 0 else {
      throw StoreError(
        .notFound, "there is no store under namespace \(keys.namespace)",
        hint: "check redis.namespace; carillon devices import or a worker creates the store")
    }
    return spread
  }

  /// Returns the number of partitions for which the store is locked; `nil` if it is not locked.
  public func lockedPartitions() async throws -> Int? {
    var pipeline = RedisPipeline()
    pipeline.append("HGET", keys.store, "nextPartitions")
    return try await run(pipeline)[0].integer
  }

  /// Returns the error for a store that is locked, or whose number of partitions has changed.
  func lockError() async throws -> StoreError {
    if let next = try await lockedPartitions() { return StoreError.locked(for: next) }
    return StoreError(
      .locked, "the number of partitions has changed since this worker started",
      hint: "the worker restarts automatically"
    )
  }

  /// Returns whether all campaigns that have begun have ended.
  public func hasNoRunningCampaigns() async throws -> Bool {
    var pipeline = RedisPipeline()
    pipeline.append("SCARD", keys.running)
    return try await run(pipeline)[0].integer == 0
  }

  /// Returns the campaigns and workers that must end before the store's keys can be moved.
  ///
  /// - Parameter timeout: ms without a heartbeat after which a worker counts as dead.
  public func obstacles(timeout: Int) async throws -> LockObstacles {
    var pipeline = RedisPipeline()
    pipeline.append("SCARD", keys.running)
    pipeline.append("SSCAN", keys.running, 0, "COUNT", Self.namedCampaigns)
    pipeline.append(
      "ZRANGEBYSCORE", keys.workers, "(\(try await store.time() / 1000 - timeout)", "+inf", "LIMIT", 0,
      CampaignStore.batch)
    let replies = try await run(pipeline)
    var obstacles = LockObstacles()
    obstacles.campaignCount = replies[0].integer ?? 0
    obstacles.workers = replies[2].compactMap(\.string)
    for id in replies[1][1].compactMap(\.string).sorted().prefix(Self.namedCampaigns) {
      let state = try await store.campaigns.status(of: id)?.state.rawValue ?? "gone"
      obstacles.campaigns.append("\(id) (\(state))")
    }
    return obstacles
  }
}
