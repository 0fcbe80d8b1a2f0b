import CampaignStore
import CommandSupport
import EventLoop
import PushWorker

/// The store of the API. It is opened for the first request. A request later than ``checkInterval`` checks it again,
/// because an operator may have repartitioned it. All requests within a second share one read of the fleet's state.
actor APIStore {
  /// Time after which the store is checked again, in ns.
  private static let checkInterval: UInt64 = 5_000_000_000
  private static let freshness: UInt64 = 1_000_000_000

  private let connection: StoreConnection
  private let base: CampaignStore
  private var opened: (store: CampaignStore, at: UInt64)?
  private var fleet: (snapshot: Task<FleetSnapshot, any Error>, at: UInt64)?

  /// - Parameter loop: the event loop of the connections to Redis.
  init(_ redis: CarillonConfiguration.Redis, on loop: EventLoop) throws {
    connection = try StoreConnection(redis)
    base = connection.store(for: "carillon admin", on: loop)
  }

  /// Returns the store for operations that read, or that change no data of a partition.
  func reading() async throws -> CampaignStore {
    if let opened, EventLoop.now < opened.at + Self.checkInterval { return opened.store }
    let store = try await connection.open(base, creating: false)
    opened = (store, EventLoop.now)
    return store
  }

  /// Returns the store for operations that submit jobs. If Redis has no store yet, the function creates one.
  func taking() async throws -> CampaignStore { try await connection.open(base, creating: true) }

  /// Returns the store for operations that change devices or segments. Throws an error while the store is being
  /// repartitioned.
  func changing() async throws -> CampaignStore {
    try await connection.open(base, creating: true, changing: true)
  }

  /// Returns the state of the fleet, at most one second old.
  func snapshot() async throws -> FleetSnapshot {
    if let fleet, EventLoop.now < fleet.at + Self.freshness { return try await fleet.snapshot.value }
    let snapshot = Task { try await reading().fleet.snapshot(lease: WorkerConfiguration.standardLease) }
    fleet = (snapshot, EventLoop.now)
    return try await snapshot.value
  }

  func close() async { await base.close() }
}
