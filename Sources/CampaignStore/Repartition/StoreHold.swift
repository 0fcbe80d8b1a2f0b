import Redis

/// Whether campaigns may begin, as a worker sees it. Raw values are those of `synccontrol.lua`.
public enum StoreHold: Int, Sendable {
  /// They may.
  case none = 0
  /// The store is being given another number of partitions: none begins.
  case held = 1
  /// It has another number of partitions than the worker knows.
  case outdated = 2
}

/// What keeps a held store from being given its new partitions.
public struct HoldObstacles: Equatable, Sendable {
  /// Campaigns that have begun and not ended, a handful of them, with their states.
  public var campaigns: [String] = []
  /// How many there are.
  public var campaignCount = 0
  /// Workers that live.
  public var workers: [String] = []

  /// Nothing.
  public init() {}

  /// Whether nothing is in the way.
  public var isEmpty: Bool { campaignCount == 0 && workers.isEmpty }
}

/// Holding a store: nothing begins, what runs ends, and workers leave. Then its keys can be moved.
extension Repartition {
  /// How many campaigns are named to who waits for them.
  private static let namedCampaigns = 5

  /// Holds the store until it has another number of partitions. It may be held already, for whatever number.
  ///
  /// - Parameter count: 1 to 16,384.
  /// - Returns: the number of partitions over which users may be spread.
  /// - Throws: ``StoreError`` `notFound` where there is no store.
  public func hold(for count: Int) async throws -> Int {
    var pipeline = RedisPipeline()
    pipeline.script(StoreScripts.hold, keys: [keys.store, keys.epoch, keys.wake]) { $0.append(count) }
    let spread = try await run(pipeline)[0].integer ?? 0
    guard spread > 0 else {
      throw StoreError(
        .notFound, "there is no store under namespace \(keys.namespace)",
        hint: "check redis.namespace; a store begins with carillon devices import or a worker")
    }
    return spread
  }

  /// For which number of partitions the store is held; `nil` when it is not.
  public func heldFor() async throws -> Int? {
    var pipeline = RedisPipeline()
    pipeline.append("HGET", keys.store, "nextPartitions")
    return try await run(pipeline)[0].integer
  }

  /// The error for a store that is held, or whose number of partitions is another by now.
  func whyHeld() async throws -> StoreError {
    if let next = try await heldFor() { return StoreError.held(for: next) }
    return StoreError(
      .held, "the store has other partitions than when this worker began", hint: "the worker starts again by itself")
  }

  /// Whether no campaign has begun that has not ended.
  public func standsStill() async throws -> Bool {
    var pipeline = RedisPipeline()
    pipeline.append("SCARD", keys.running)
    return try await run(pipeline)[0].integer == 0
  }

  /// What has to end before the store's keys can be moved.
  ///
  /// - Parameter timeout: ms without a heartbeat after which a worker is taken for dead.
  public func obstacles(timeout: Int) async throws -> HoldObstacles {
    var pipeline = RedisPipeline()
    pipeline.append("SCARD", keys.running)
    pipeline.append("SSCAN", keys.running, 0, "COUNT", Self.namedCampaigns)
    pipeline.append(
      "ZRANGEBYSCORE", keys.workers, "(\(try await store.time() / 1000 - timeout)", "+inf", "LIMIT", 0,
      CampaignStore.batch)
    let replies = try await run(pipeline)
    var obstacles = HoldObstacles()
    obstacles.campaignCount = replies[0].integer ?? 0
    obstacles.workers = replies[2].compactMap(\.string)
    for id in replies[1][1].compactMap(\.string).sorted().prefix(Self.namedCampaigns) {
      let state = try await store.campaigns.standing(of: id)?.state.rawValue ?? "gone"
      obstacles.campaigns.append("\(id) (\(state))")
    }
    return obstacles
  }
}
