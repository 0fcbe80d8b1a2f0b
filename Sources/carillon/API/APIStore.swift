import CampaignStore
import CommandSupport
import EventLoop
import PushWorker

/// The store as the API uses it: opened when it is first asked for, looked at again now and then, as it may be given other
/// partitions meanwhile. It reads the fleet once for everybody who asks within a second.
actor APIStore {
  /// How old what was learnt when it was opened may be.
  private static let patience: UInt64 = 5_000_000_000
  private static let freshness: UInt64 = 1_000_000_000

  private let connection: StoreConnection
  private let base: CampaignStore
  private var opened: (store: CampaignStore, at: UInt64)?
  private var fleet: (look: Task<FleetSnapshot, any Error>, at: UInt64)?

  /// - Parameter loop: where its connections to Redis live.
  init(_ redis: CarillonConfiguration.Redis, on loop: EventLoop) throws {
    connection = try StoreConnection(redis)
    base = connection.store(for: "carillon admin", on: loop)
  }

  /// The store for what reads, or changes nothing that belongs to a partition.
  func reading() async throws -> CampaignStore {
    if let opened, EventLoop.now < opened.at + Self.patience { return opened.store }
    let store = try await connection.open(base, creating: false)
    opened = (store, EventLoop.now)
    return store
  }

  /// The store for what brings jobs: one that is not there is initialised.
  func taking() async throws -> CampaignStore { try await connection.open(base, creating: true) }

  /// The store for what changes devices or segments: not while it is being given other partitions.
  func changing() async throws -> CampaignStore {
    try await connection.open(base, creating: true, changing: true)
  }

  /// The fleet, as it was within the last second.
  func look() async throws -> FleetSnapshot {
    if let fleet, EventLoop.now < fleet.at + Self.freshness { return try await fleet.look.value }
    let look = Task { try await reading().fleet.snapshot(lease: WorkerConfiguration.standardLease) }
    fleet = (look, EventLoop.now)
    return try await look.value
  }

  func close() async { await base.close() }
}
