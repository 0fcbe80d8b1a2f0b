@testable import CampaignStore
import APNs
import Glibc
import PushCore
import Redis
import TestKit
import TestSupport
import Testing

/// Confirmation that a job is on more than one server.
struct ReplicaTests {
  @Test func replicasThatHaveTheJobAreCounted() async throws {
    let primary = try await RedisServer.start()
    let replica = try await RedisServer.start(arguments: ["--replicaof", "127.0.0.1", String(primary.port)])
    let client = try Backend.connect(to: primary)
    let store = CampaignStore(
      redis: client, keys: try #require(Keyspace(namespace: "copy", partitions: 4)), services: TestStore.services)
    try await store.open(creating: true)
    try await poll(until: "the replica is linked") {
      try await replica.command("info", "replication").contains("master_link_status:up")
    }

    let job = TestStore.job("a", audience: #"{"segment":"*"}"#)
    let campaign = try CampaignJob.parse(job, .any([APNsService()]))
    expect(try await store.queue.submit(job, as: campaign), is: .new)
    expect(try await store.queue.awaitReplicas(1, of: "a", timeout: .seconds(60)), is: 1)
    expect(try await replica.command("llen", store.keys.campaigns), is: "1")
    expect(try await store.queue.awaitReplicas(2, of: "a", timeout: .milliseconds(50)), is: 1)

    // Another connection has no write of the job, so it does not count the replica either.
    await replica.kill(SIGSTOP)
    let other = TestStore.job("b", audience: #"{"segment":"*"}"#)
    expect(try await store.queue.submit(other, as: CampaignJob.parse(other, .any([APNsService()]))), is: .new)
    let late = try Backend.connect(to: primary)
    let again = CampaignStore(redis: late, keys: store.keys, services: TestStore.services)
    expect(try await again.queue.submit(other, as: CampaignJob.parse(other, .any([APNsService()]))), is: .duplicate)
    expect(try await again.queue.awaitReplicas(1, of: "b", timeout: .milliseconds(200)), is: 0)
    await replica.kill(SIGCONT)
    expect(try await again.queue.awaitReplicas(1, of: "b", timeout: .seconds(60)), is: 1)

    let error = await #expect(throws: StoreError.self) {
      try await store.queue.awaitReplicas(1, of: "never", timeout: .milliseconds(50))
    }
    expect(error?.hint, is: "submit it again")
    await client.close()
    await late.close()
    await replica.stop()
    await primary.stop()
  }
}
