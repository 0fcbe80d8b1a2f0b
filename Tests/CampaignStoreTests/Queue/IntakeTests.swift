@testable import CampaignStore
import APNs
import PushCore
import Redis
import TestKit
import TestSupport
import Testing

/// Intake of jobs. A job is in exactly one place, and an id names one job.
struct IntakeTests {
  @Test(arguments: Backend.allCases)
  func sameJobAgainChangesNothing(on backend: Backend) async throws {
    let world = try await TestStore(on: backend)
    let (job, campaign) = try Self.job("a")
    expect(try await world.store.queue.submit(job, as: campaign), is: .new)
    expect(try await world.store.queue.submit(job, as: campaign), is: .duplicate)
    expect(try await world.command("LRANGE", world.keys.campaigns, 0, -1).map(\.string), is: [text(job)])
    expect(try await world.store.queue.activate(campaign, job: job, worker: "w"), is: .new)
    try await world.command("DEL", world.keys.campaigns)
    let spaced = Array(String(decoding: job, as: UTF8.self).replacing(",", with: " ,\n").utf8)
    expect(try await world.store.queue.submit(spaced, as: campaign), is: .duplicate)
    expect(try await world.command("EXISTS", world.keys.campaigns).integer, is: 0)
  }

  /// The same job in other spellings: white space, order, escapes, numbers, and omitted fields.
  @Test(arguments: Backend.allCases)
  func sameJobInAnotherWritingIsTheSame(on backend: Backend) async throws {
    let world = try await TestStore(on: backend)
    let job = Array(
      #"{"id":"a","app":"news","audience":{"segment":"*"},"apns":{"payload":{"aps":{"alert":"hé"},"n":[10,2]}}}"#.utf8)
    let same = Array(
      #" {"lane":null,"apns":{"payload":{"n":[1.0e1, 20e-1],"aps":{"alert":"h\u00e9"}}},"audience":{"users":null,"segment":"*"},"app":"news","id":"\u0061"}"#
        .utf8)
    let other = Array(String(decoding: job, as: UTF8.self).replacing("[10,2]", with: "[2,10]").utf8)
    let (campaign, again) = (try Self.campaign(job), try Self.campaign(same))
    expect(try await world.store.queue.submit(job, as: campaign), is: .new)
    expect(try await world.store.queue.submit(same, as: again), is: .duplicate)
    expect(try await world.store.queue.submit(other, as: Self.campaign(other)), is: .conflict)
    expect(try await world.store.queue.activate(again, job: same, worker: "w"), is: .new)
    expect(try await world.store.queue.activate(campaign, job: job, worker: "w"), is: .duplicate)
    expect(try await world.store.queue.submit(job, as: campaign), is: .duplicate)
    expect(try await world.store.queue.activate(Self.campaign(other), job: other, worker: "w"), is: .conflict)
    // A job on the dead list frees its id, whichever spelling of the job reserved it.
    try await world.command("DEL", world.keys.campaign("a"), world.keys.job("a"))
    expect(try await world.store.queue.submit(job, as: campaign), is: .new)
    try await world.store.queue.deadLetter(same, reason: "r", hint: "", worker: "w")
    expect(try await world.store.queue.submit(other, as: Self.campaign(other)), is: .new)
  }

  @Test(arguments: Backend.allCases)
  func jobThatGotLostBeforeItsIntakeIsPushedAgain(on backend: Backend) async throws {
    let world = try await TestStore(on: backend)
    let (job, campaign) = try Self.job("a")
    expect(try await world.store.queue.submit(job, as: campaign), is: .new)
    try await world.command("DEL", world.keys.campaigns)
    expect(try await world.store.queue.submit(job, as: campaign), is: .duplicate)
    expect(try await world.command("LRANGE", world.keys.campaigns, 0, -1).map(\.string), is: [text(job)])
    // A submission that fails does not leave a reserved id behind either.
    try await world.command("DEL", world.keys.campaigns, world.keys.job("a"))
    try await world.command("SET", world.keys.campaigns, "not a list")
    await #expect(throws: StoreError.self) { try await world.store.queue.submit(job, as: campaign) }
    expect(try await world.command("EXISTS", world.keys.job("a")).integer, is: 0)
  }

  @Test(arguments: Backend.allCases)
  func anotherJobUnderAnIDIsAConflict(on backend: Backend) async throws {
    let world = try await TestStore(on: backend)
    let (job, campaign) = try Self.job("a")
    let (other, otherCampaign) = try Self.job("a", #","urgency":"normal""#)
    expect(try await world.store.queue.submit(job, as: campaign), is: .new)
    expect(try await world.store.queue.submit(other, as: otherCampaign), is: .conflict)
    // A job that bypasses `submit` is found at its intake, before and after the activation of the first job.
    expect(try await world.store.queue.activate(otherCampaign, job: other, worker: "w"), is: .conflict)
    expect(try await world.store.queue.activate(campaign, job: job, worker: "w"), is: .new)
    expect(try await world.store.queue.activate(otherCampaign, job: other, worker: "w"), is: .conflict)
    expect(try await world.store.queue.submit(other, as: otherCampaign), is: .conflict)
  }

  @Test(arguments: Backend.allCases)
  func idIsRememberedFor90DaysEvenWhenTheCampaignHasGone(on backend: Backend) async throws {
    let world = try await TestStore(on: backend)
    let (job, campaign) = try Self.job("a")
    expect(try await world.store.queue.activate(campaign, job: job, worker: "w"), is: .new)
    try await world.command("DEL", world.keys.campaign("a"))
    let days = try #require(try await world.command("TTL", world.keys.job("a")).integer) / 86400
    expect((89...90).contains(days))
    expect(try await world.store.queue.submit(job, as: campaign), is: .duplicate)
    expect(try await world.store.queue.activate(campaign, job: job, worker: "w"), is: .duplicate)
    expect(try await world.store.campaigns.find("a") == nil)
  }

  @Test(arguments: Backend.allCases)
  func workerThatDiedBeforeActivatingLosesNothing(on backend: Backend) async throws {
    let world = try await TestStore(on: backend)
    let (job, campaign) = try Self.job("a")
    try await world.command("LPUSH", world.keys.intake(worker: "dead"), job)
    let forms = try await world.store.queue.forms(of: job)
    var pipeline = RedisPipeline()
    pipeline.script(StoreScripts.reserve, keys: [world.keys.job("a"), world.keys.campaign("a")]) {
      $0.append(forms.meaning)
      $0.append(Queue.idMemory)
      $0.append(forms.written)
      $0.append("")
    }
    expect(try await world.store.run(pipeline)[0][0].string, is: "new")
    try await world.store.fleet.removeWorker("dead")
    let taken = try #require(try await take(world, worker: "w"))
    expect(try await world.store.queue.activate(campaign, job: taken, worker: "w"), is: .new)
    expect(try await world.store.queue.unfinishedJob(worker: "w"), is: nil)
  }

  @Test(arguments: Backend.allCases)
  func activationIsRepeatable(on backend: Backend) async throws {
    let world = try await TestStore(on: backend)
    let (job, campaign) = try Self.job("a")
    try await world.command("LPUSH", world.keys.intake(worker: "w"), job)
    expect(try await world.store.queue.activate(campaign, job: job, worker: "w"), is: .new)
    // The reply was lost, and the job came a second time.
    try await world.command("LPUSH", world.keys.intake(worker: "w"), job)
    expect(try await world.store.queue.activate(campaign, job: job, worker: "w"), is: .duplicate)
    expect(try await world.store.queue.unfinishedJob(worker: "w"), is: nil)
    expect(try await world.command("LLEN", world.keys.open("a")).integer, is: world.keys.partitions)
    expect(try await world.command("LRANGE", world.keys.lane("normal"), 0, -1).map(\.string), is: ["a"])
  }

  @Test(arguments: Backend.allCases)
  func jobsAreTakenInOrderAndTheirWorkerIsKnown(on backend: Backend) async throws {
    let world = try await TestStore(on: backend)
    for id in ["a", "b"] {
      let (job, campaign) = try Self.job(id)
      expect(try await world.store.queue.submit(job, as: campaign), is: .new)
    }
    let first = try await take(world, worker: "w")
    expect(first, is: try Self.job("a").bytes)
    expect(try await world.command("ZSCORE", world.keys.workers, "w").isNull, is: false)
    expect(try await take(world, worker: "w"), is: try Self.job("b").bytes)
    // The older job comes first if the worker has to take both up again.
    expect(try await world.store.queue.unfinishedJob(worker: "w"), is: first)
  }

  @Test(arguments: Backend.allCases)
  func nothingToTakeInIsNoJob(on backend: Backend) async throws {
    let world = try await TestStore(on: backend)
    let blocked = try await backend.connect()
    expect(
      try await CampaignStore(redis: blocked, keys: world.keys, services: TestStore.services).queue.awaitJob(
        worker: "w", seconds: 1, now: 1
      ), is: nil)
    await blocked.close()
  }

  @Test(arguments: Backend.allCases)
  func buriedJobIsInTheDeadListWithItsReason(on backend: Backend) async throws {
    let world = try await TestStore(on: backend)
    let job = Array("{broken".utf8)
    try await world.command("LPUSH", world.keys.intake(worker: "w"), job)
    try await world.store.queue.deadLetter(job, reason: "not valid JSON", hint: "repair it", worker: "w")
    expect(try await world.store.queue.unfinishedJob(worker: "w"), is: nil)
    let entries = try await world.command("XRANGE", world.keys.dead, "-", "+")
    expect(entries.count, is: 1)
    let fields = entries[0][1].map { $0.string ?? "" }
    expect(fields, is: ["reason", "not valid JSON", "hint", "repair it", "id", "", "size", "7", "job", "{broken"])
  }

  @Test(arguments: Backend.allCases)
  func buriedJobFreesTheIDThatItHadReserved(on backend: Backend) async throws {
    let world = try await TestStore(on: backend)
    let (job, campaign) = try Self.job("a")
    let (repaired, repairedCampaign) = try Self.job("a", #","urgency":"normal""#)
    expect(try await world.store.queue.submit(job, as: campaign), is: .new)
    try await world.store.queue.deadLetter(job, reason: "no app news", hint: "", worker: "w")
    expect(try await world.store.queue.submit(repaired, as: repairedCampaign), is: .new)
    // A job that is moved to the dead list because of a conflict does not free the id of the other job.
    try await world.store.queue.deadLetter(job, reason: "conflict", hint: "", worker: "w")
    expect(try await world.store.queue.submit(repaired, as: repairedCampaign), is: .duplicate)
    expect(try await world.store.queue.activate(repairedCampaign, job: repaired, worker: "w"), is: .new)
    try await world.store.queue.deadLetter(repaired, reason: "by mistake", hint: "", worker: "w")
    expect(try await world.store.queue.submit(repaired, as: repairedCampaign), is: .duplicate)
  }

  @Test(arguments: Backend.allCases)
  func deadJobOfAnIDIsFoundAmongTheNewest(on backend: Backend) async throws {
    let world = try await TestStore(on: backend)
    expect(try await world.store.queue.deadJob(of: "a") == nil)
    expect(try await world.store.queue.memory(of: "a"), is: nil)
    let (job, campaign) = try Self.job("a")
    expect(try await world.store.queue.submit(job, as: campaign), is: .new)
    expect(try await world.store.queue.memory(of: "a"), is: .submitted)
    try await world.store.queue.deadLetter(job, reason: "first", hint: "", worker: "w")
    try await world.store.queue.deadLetter(job, reason: "second", hint: "do this", worker: "w")
    try await world.store.queue.deadLetter(Array("no JSON".utf8), reason: "third", hint: "", worker: "w")
    let dead = try await world.store.queue.deadJob(of: "a")
    expect(dead?.reason == "second" && dead?.hint == "do this")
    expect(try await world.store.queue.memory(of: "a"), is: nil)
  }

  @Test(arguments: Backend.allCases)
  func listedUsersAndTokensGetSlicesWhereTheyAreOnly(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 16)
    try await world.activate("users", audience: #"{"users":["x","y"]}"#)
    let expected = Set(["x", "y"].map { Partition.of(user: $0, count: 16) })
    let open = try await world.command("LRANGE", world.keys.open("users"), 0, -1).compactMap(\.integer)
    expect(Set(open), is: expected)
    expect(try await world.store.campaigns.find("users")?.slices.total, is: expected.count)

    let token = try TestStore.deviceToken(1)
    try await world.activate("tokens", audience: #"{"tokens":["\#(TestStore.service.text(of: token))"]}"#)
    let partition = Partition.of(token: token.bytes, of: TestStore.service, count: 16)
    expect(try await world.command("LRANGE", world.keys.open("tokens"), 0, -1).map(\.integer), is: [partition])
    expect(try await world.command("SMEMBERS", world.keys.audience(partition, "tokens"))[0].bytes, is: token.bytes[...])
  }

  @Test(arguments: Backend.allCases)
  func expressionOpensEveryPartitionOfTheLargestStore(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 16_384, activating: "a")
    expect(try await world.command("LLEN", world.keys.open("a")).integer, is: 16_384)
  }

  @Test(arguments: Backend.allCases)
  func unknownSegmentIsRefusedWithTheNearestName(on backend: Backend) async throws {
    let world = try await TestStore(on: backend)
    try await world.store.audiences.add(["x"], to: "churned")
    let job = TestStore.job("a", audience: #"{"segment":"* & !churnd"}"#)
    let campaign = try CampaignJob.parse(job, .any([APNsService()]))
    let error = await #expect(throws: StoreError.self) {
      try await world.store.queue.activate(campaign, job: job, worker: "w")
    }
    expect(error?.code, is: .invalid)
    expect(error?.hint, is: "did you mean churned?")
    // Nothing is reserved for the job.
    expect(try await world.command("EXISTS", world.keys.job("a")).integer, is: 0)
  }

  // MARK: Helpers

  private static func job(_ id: String, _ more: String = "") throws -> (bytes: [UInt8], campaign: Campaign) {
    let job = TestStore.job(id, audience: #"{"segment":"*"}"#, more)
    return (job, try campaign(job))
  }

  private static func campaign(_ job: [UInt8]) throws -> Campaign { try CampaignJob.parse(job, .any([APNsService()])) }

  private func text(_ job: [UInt8]) -> String { String(decoding: job, as: UTF8.self) }

  private func take(_ world: TestStore, worker: String) async throws -> [UInt8]? {
    let blocked = try await world.backend.connect()
    defer { Task { await blocked.close() } }
    return try await CampaignStore(redis: blocked, keys: world.keys, services: TestStore.services).queue.awaitJob(
      worker: worker, seconds: 5, now: 1
    )
  }
}
