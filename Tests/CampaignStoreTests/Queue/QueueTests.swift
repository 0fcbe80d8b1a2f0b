@testable import CampaignStore
import APNs
import PushCore
import TestKit
import Testing

/// Jobs that wait in a queue before a worker activates them: how to find and remove them.
struct QueueTests {
  private func submit(_ id: String, _ world: TestStore, _ more: String = "") async throws {
    let job = TestStore.job(id, audience: #"{"segment":"*"}"#, more)
    expect(try await world.store.queue.submit(job, as: CampaignJob.parse(job, .any([APNsService()]))), is: .new)
  }

  /// Takes a job as `awaitJob` does.
  private func take(_ world: TestStore, worker: String) async throws {
    _ = try await world.store.fleet.heartbeat(worker: worker, timeout: TestStore.timeout)
    try await world.command("LMOVE", world.keys.campaigns, world.keys.intake(worker: worker), "RIGHT", "LEFT")
  }

  @Test(arguments: Backend.allCases)
  func jobIsFoundWhereItWaits(on backend: Backend) async throws {
    let world = try await TestStore(on: backend)
    let (store, list) = (world.store, world.keys.campaigns)
    for id in ["a", "b", "c"] { try await submit(id, world, #","lane":"bulk""#) }
    expect(
      try await store.queue.waitingJob("b"),
      is: QueuedJob(
        outline: JobOutline(TestStore.job("b", audience: "{}", #","lane":"bulk""#))!,
        place: .queue(position: 2, length: 3), list: list))
    expect(try await store.queue.waitingJob("d"), is: nil)
    try await take(world, worker: "w")
    expect(try await store.queue.waitingJob("a")?.place, is: .intake(worker: "w"))
    expect(try await store.queue.waitingJob("b")?.place, is: .queue(position: 1, length: 2))
    try await world.command("LPUSH", list, "{broken")
    let queue = try await store.queue.waiting()
    expect(queue.jobs.map(\.outline.id), is: ["c", "b", "a"])
    expect(queue.jobs.map(\.outline.lane), is: [.bulk, .bulk, .bulk])
    expect(queue.nameless == 1 && queue.unseen == 0)
  }

  /// A page ends after a number of jobs or of bytes.
  @Test(arguments: Backend.allCases)
  func longQueueIsReadInPages(on backend: Backend) async throws {
    let world = try await TestStore(on: backend)
    for number in 0..<700 {
      try await world.command("LPUSH", world.keys.campaigns, TestStore.job("j\(number)", audience: "{}"))
    }
    let padding = String(repeating: " ", count: 400_000)
    for number in 700..<712 {
      let job = TestStore.job("j\(number)", audience: "{\(padding)}")
      try await world.command("LPUSH", world.keys.campaigns, job)
    }
    for number in [0, 255, 256, 699, 700, 703, 711] {
      let place = try await world.store.queue.waitingJob("j\(number)")?.place
      expect(place, is: .queue(position: number + 1, length: 712))
    }
    let queue = try await world.store.queue.waiting()
    expect(queue.jobs.map(\.outline.id), is: (0..<100).reversed().map { "j\($0)" })
    expect(queue.unseen, is: 612)
  }

  @Test(arguments: Backend.allCases)
  func jobIsTakenOffWithEveryCopyAndItsIDIsFree(on backend: Backend) async throws {
    let world = try await TestStore(on: backend)
    try await submit("a", world)
    try await submit("b", world)
    // The same job in another spelling, and another job under the id.
    let spaced = Array(
      (" " + String(decoding: TestStore.job("a", audience: #"{"segment":"*"}"#), as: UTF8.self) + "\n").utf8)
    try await world.command("LPUSH", world.keys.campaigns, spaced)
    try await world.command("LPUSH", world.keys.campaigns, TestStore.job("a", audience: #"{"users":["x"]}"#))
    expect(try await world.store.queue.unqueue("a", timeout: 0))
    expect(try await world.store.queue.waitingJob("a"), is: nil)
    expect(try await world.store.queue.waiting().jobs.map(\.outline.id), is: ["b"])
    expect(try await world.store.queue.memory(of: "a"), is: nil)
    expect(try await world.store.queue.unqueue("a", timeout: 0), is: false)
    try await submit("a", world, #","urgency":"normal""#)
  }

  /// A job that a worker holds is not removed. The caller cancels the campaign that it becomes.
  @Test(arguments: Backend.allCases)
  func workerThatHasTheJobWins(on backend: Backend) async throws {
    let world = try await TestStore(on: backend)
    try await submit("a", world)
    let job = TestStore.job("a", audience: #"{"segment":"*"}"#)
    try await take(world, worker: "w")
    expect(try await world.store.queue.unqueue("a", timeout: 0), is: false)
    expect(try await world.store.queue.memory(of: "a"), is: .submitted)
    async let unqueued = world.store.queue.unqueue("a", timeout: 60_000)
    expect(
      try await world.store.queue.activate(CampaignJob.parse(job, .any([APNsService()])), job: job, worker: "w"),
      is: .new)
    expect(try await unqueued, is: false)
    expect(try await world.store.queue.memory(of: "a"), is: .activated)
    // A later copy is removed, and the id stays that of the campaign.
    try await world.command("LPUSH", world.keys.campaigns, job)
    expect(try await world.store.queue.unqueue("a", timeout: 0))
    expect(try await world.store.queue.memory(of: "a"), is: .activated)
  }

  @Test(arguments: Backend.allCases)
  func workersAreAbsentWithoutAHeartbeat(on backend: Backend) async throws {
    let world = try await TestStore(on: backend)
    expect(
      try await world.store.campaigns.absence(lease: TestStore.timeout),
      is: CampaignWait(reason: Self.absence, since: nil))
    let now = try await world.store.fleet.heartbeat(worker: "w", timeout: TestStore.timeout).now
    expect(try await world.store.campaigns.absence(lease: TestStore.timeout), is: nil)
    try await world.command("ZADD", world.keys.workers, now - TestStore.timeout, "w")
    expect(
      try await world.store.campaigns.absence(lease: TestStore.timeout),
      is: CampaignWait(reason: Self.absence, since: now - TestStore.timeout))
  }

  private static let absence = "no worker runs; start one: carillon worker"
}
