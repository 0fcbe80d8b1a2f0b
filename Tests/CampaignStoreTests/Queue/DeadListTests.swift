@testable import CampaignStore
import APNs
import PushCore
import Redis
import TestKit
import Testing

/// The dead list. A job that can't be run is kept with its reason until an operator retries or drops it.
struct DeadListTests {
  private func all(_ world: TestStore) async throws -> [DeadJob] {
    var jobs: [DeadJob] = []
    try await world.store.queue.forEachDeadJob { jobs.append($0) }
    return jobs
  }

  private func deadLetter(_ id: String, _ world: TestStore, _ more: String = "") async throws -> (
    job: [UInt8], campaign: Campaign, dead: DeadJob
  ) {
    let job = TestStore.job(id, audience: #"{"segment":"*"}"#, more)
    try await world.store.queue.deadLetter(job, reason: "no app", hint: "add it", worker: "w")
    return (job, try CampaignJob.parse(job, .any([APNsService()])), try #require(try await all(world).first))
  }

  private func queue(_ world: TestStore) async throws -> [[UInt8]] {
    try await world.command("LRANGE", world.keys.campaigns, 0, -1).compactMap { $0.bytes.map(Array.init) }
  }

  @Test(arguments: Backend.allCases)
  func everyEntryIsListedOnceNewestFirst(on backend: Backend) async throws {
    let world = try await TestStore(on: backend)
    expect(try await all(world).isEmpty)
    for number in 0..<120 {
      _ = try await world.store.queue.deadLetter([UInt8]("j\(number)".utf8), reason: "r", hint: "", worker: "w")
    }
    let jobs = try await all(world)
    expect(jobs.map { String(decoding: $0.job, as: UTF8.self) }, is: (0..<120).reversed().map { "j\($0)" })
    expect(jobs[0].id == nil && jobs[0].isCut == false)
    let now = try await world.store.time() / 1000
    expect((now - 60_000...now).contains(jobs[0].at))
    expect(try await world.store.queue.deadJob(jobs[7].key).job, is: jobs[7].job)
  }

  @Test(arguments: Backend.allCases)
  func longJobIsCutAndMarked(on backend: Backend) async throws {
    let world = try await TestStore(on: backend)
    let users = (0..<10_000).map { "\"user\($0)\"" }.joined(separator: ",")
    let job = TestStore.job("long", audience: "{\"users\":[\(users)]}")
    try await world.store.queue.deadLetter(job, reason: "r", hint: "", worker: "w")
    let dead = try #require(try await all(world).first)
    expect(dead.isCut && dead.size == job.count && dead.job == Array(job.prefix(65_536)))
    // The job is found by its id, although the stored part is too short to read the id from it.
    expect(try await world.store.queue.deadJob(of: "long")?.key, is: dead.key)
  }

  @Test(arguments: Backend.allCases)
  func retriedJobIsInTheQueueAndNoLongerDead(on backend: Backend) async throws {
    let world = try await TestStore(on: backend)
    let (job, campaign, dead) = try await deadLetter("a", world)
    expect(try await world.store.queue.submit(job, as: campaign, from: dead.key), is: .new)
    expect(try await queue(world), is: [job])
    expect(try await all(world).isEmpty)
    let error = await #expect(throws: StoreError.self) {
      try await world.store.queue.submit(job, as: campaign, from: dead.key)
    }
    expect(error?.code, is: .notFound)
    expect(try await queue(world), is: [job])
  }

  @Test(arguments: Backend.allCases)
  func retriedJobWhoseIDIsTakenStaysDead(on backend: Backend) async throws {
    let world = try await TestStore(on: backend)
    let (job, campaign, dead) = try await deadLetter("a", world)
    try await world.activate("a", audience: #"{"users":["other"]}"#)
    expect(try await world.store.queue.submit(job, as: campaign, from: dead.key), is: .conflict)
    expect(try await all(world).map(\.key), is: [dead.key])
    expect(try await queue(world).isEmpty)
  }

  @Test(arguments: Backend.allCases)
  func retryOfAJobThatWasSubmittedAgainChangesNothing(on backend: Backend) async throws {
    let world = try await TestStore(on: backend)
    let (job, campaign, dead) = try await deadLetter("a", world)
    expect(try await world.store.queue.submit(job, as: campaign), is: .new)
    expect(try await world.store.queue.submit(job, as: campaign, from: dead.key), is: .duplicate)
    expect(try await queue(world), is: [job])
    expect(try await all(world).isEmpty)
  }

  @Test(arguments: Backend.allCases)
  func retriesThatRaceQueueTheJobOnce(on backend: Backend) async throws {
    let world = try await TestStore(on: backend)
    let (job, campaign, dead) = try await deadLetter("a", world)
    let new = await withTaskGroup(of: Bool.self) { group in
      for _ in 0..<8 {
        group.addTask { (try? await world.store.queue.submit(job, as: campaign, from: dead.key)) == .new }
      }
      return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
    }
    expect(new, is: 1)
    expect(try await queue(world), is: [job])
  }

  @Test(arguments: Backend.allCases)
  func droppedJobIsGone(on backend: Backend) async throws {
    let world = try await TestStore(on: backend)
    let first = try await deadLetter("a", world).dead
    let second = try await deadLetter("b", world).dead
    try await world.store.queue.dropDeadJob(first.key)
    expect(try await all(world).map(\.key), is: [second.key])
    await #expect(throws: StoreError.self) { try await world.store.queue.dropDeadJob(first.key) }
  }

  @Test(arguments: ["", "1", "1-", "-1", "1-2-3", "a-b", "+1-0", "99999999999999999999-0", "5-0", "-", "$"])
  func unknownKeyIsAnErrorWhateverItLooksLike(key: String) async throws {
    let world = try await TestStore(on: .single)
    let error = await #expect(throws: StoreError.self) { try await world.store.queue.deadJob(key) }
    expect(error?.code, is: .notFound)
    expect(error?.hint.contains("carillon dead list"), is: true)
    await #expect(throws: StoreError.self) { try await world.store.queue.dropDeadJob(key) }
  }
}
