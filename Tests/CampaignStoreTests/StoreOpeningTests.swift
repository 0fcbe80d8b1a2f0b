@testable import CampaignStore
import PushCore
import Redis
import TestKit
import TestSupport
import Testing

/// Checks at the opening of a store. It opens only on a server that can store its data safely.
struct StoreOpeningTests {
  @Test(arguments: Backend.allCases)
  func openingTwiceIsTheSameStore(on backend: Backend) async throws {
    let world = try await TestStore(on: backend)
    try await world.store.open(creating: true)
    expect(try await world.store.time() > 1_700_000_000_000_000)
  }

  @Test(arguments: Backend.allCases)
  func readerCreatesNoStore(on backend: Backend) async throws {
    let world = try await TestStore(on: backend)
    let keys = try #require(Keyspace(namespace: world.keys.namespace + "-mistyped", partitions: 4))
    let store = CampaignStore(redis: world.redis, keys: keys, services: TestStore.services)
    try await store.open(creating: false)
    expect(try await store.campaigns.all().isEmpty)
    expect(try await world.keyNames("{\(keys.namespace)*").isEmpty)
    try await store.open(creating: true)
    expect(try await world.command("EXISTS", keys.store).integer, is: 1)
  }

  @Test(arguments: Backend.allCases)
  func anotherNumberOfPartitionsIsRefused(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 4)
    let keys = try #require(Keyspace(namespace: world.keys.namespace, partitions: 8))
    let error = await #expect(throws: StoreError.self) {
      try await CampaignStore(redis: world.redis, keys: keys, services: TestStore.services).open(creating: true)
    }
    expect(error?.code, is: .mismatch)
    expect(error?.hint.contains("remove redis.partitions, or set it to 4"), is: true)
  }

  @Test(arguments: Backend.allCases)
  func anotherVersionIsRefused(on backend: Backend) async throws {
    let world = try await TestStore(on: backend)
    try await world.command("HSET", "{\(world.keys.namespace)}:store", "version", CampaignStore.layoutVersion + 1)
    let error = await #expect(throws: StoreError.self) { try await world.store.open(creating: true) }
    expect(error?.code, is: .mismatch)
    expect(error?.message.contains("version \(CampaignStore.layoutVersion + 1)"), is: true)
  }

  @Test func serverThatEvictsIsRefused() async throws {
    let server = try await RedisServer.start(arguments: ["--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"])
    let error = await #expect(throws: StoreError.self) { try await open(on: server) }
    expect(error?.code, is: .unfit)
    expect(error?.hint.contains("noeviction"), is: true)
  }

  @Test func replicaIsRefused() async throws {
    let server = try await RedisServer.start(arguments: ["--replicaof", "127.0.0.1", "1"])
    let error = await #expect(throws: StoreError.self) { try await open(on: server) }
    expect(error?.code, is: .readOnly)
  }

  @Test func fullServerIsReported() async throws {
    let server = try await RedisServer.start(arguments: ["--maxmemory", "100kb"])
    let error = await #expect(throws: StoreError.self) { try await open(on: server) }
    expect(error?.code, is: .readOnly)
    expect(error?.message.contains("memory"), is: true)
  }

  @Test(arguments: ["", "a b", "{a}", "news:1", "ümlaut"])
  func namespaceThatWouldBreakTheTagsIsRefused(namespace: String) {
    expect(Keyspace(namespace: namespace, partitions: 4) == nil)
  }

  @Test(arguments: [0, -1, 16_385])
  func partitionsAreAtMostTheSlotsOfACluster(partitions: Int) {
    expect(Keyspace(namespace: "carillon", partitions: partitions) == nil)
  }

  private func open(on server: RedisServer) async throws {
    let client = try Backend.connect(to: server)
    let keys = try #require(Keyspace(namespace: "carillon", partitions: 4))
    do {
      try await CampaignStore(redis: client, keys: keys, services: TestStore.services).open(creating: true)
    } catch {
      await client.close()
      throw error
    }
    await client.close()
  }
}
