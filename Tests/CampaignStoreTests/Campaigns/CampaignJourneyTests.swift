import APNs
import CampaignStore
import PushCore
import Redis
import TestSupport
import Testing

/// All steps of a campaign through the store, as a worker performs them.
struct CampaignJourneyTests {
  @Test(arguments: Backend.wholeWay)
  func campaignEndsWithOneOutcomeForEveryTarget(on backend: Backend) async throws {
    let world = try await TestStore(on: backend)
    let store = world.store
    try await world.registerUsers(0..<100)
    try await store.audiences.add((0..<60).map { "u\($0)" }, to: "vip")
    try await store.audiences.add((50..<100).map { "u\($0)" }, to: "churned")

    // A producer submits the job, and a worker takes it in.
    let job = TestStore.job("spring", audience: #"{"segment":"vip & !churned"}"#, #","lane":"bulk""#)
    let campaign = try CampaignJob.parse(job, .known(["news": [APNsService(AppTraits(topic: "com.example.news"))]]))
    #expect(try await store.queue.submit(job, as: campaign) == .new)
    let blocked = try await backend.connect()
    let intake = CampaignStore(redis: blocked, keys: world.keys, services: TestStore.services)
    let taken = try #require(try await intake.queue.awaitJob(worker: "w1", seconds: 1, now: 1))
    #expect(taken == job)
    #expect(try await store.queue.unfinishedJob(worker: "w1") == job)
    #expect(try await store.queue.activate(campaign, job: taken, worker: "w1") == .new)
    #expect(try await store.queue.unfinishedJob(worker: "w1") == nil)
    await blocked.close()
    #expect(try await store.campaigns.find("spring")?.state == .active)

    // The worker sends its slices one after the other.
    var targets = 0
    var ended: CampaignState?
    while let slice = try await store.slices.dequeueSlice(worker: "w1") {
      #expect(ended == nil)
      let (ledger, progress) = try await world.claimed(slice.campaign, slice.partition, worker: "w1")
      #expect(!progress.isSealed)
      let count = try #require(try await world.expand(ledger, campaign))
      var batch = OutcomeBatch()
      let granted = try await ledger.commit(&batch, credit: 1000)
      #expect(granted.isOwner)
      #expect(granted.granted == count)
      #expect(granted.inDoubt == count)
      let chunk = try await ledger.targets(from: 0, count: 500)
      #expect(chunk.count == count)
      for position in 0..<chunk.count {
        let user = String(decoding: chunk.user(position), as: UTF8.self)
        let number = try #require(Int(user.dropFirst()))
        #expect(Array(chunk.token(position)) == TestStore.token(number))
        record(number, chunk, position, into: &batch)
      }
      let answer = try await ledger.commit(&batch, credit: 0)
      #expect(answer.inDoubt == 0)
      let counters = try #require(try await ledger.close(.finish).counters)
      #expect(counters.targets == count)
      ended = try await store.slices.finish(slice, counters: counters, lane: .bulk, worker: "w1")
      try await store.results.deliverFeedback(from: [slice.partition])
      targets += count
    }
    #expect(ended == .completed)
    #expect(targets == 50)

    // Commands and the API show the result.
    let record = try #require(try await store.campaigns.show("spring"))
    #expect(record.state == .completed)
    #expect(record.counters.targets == 50)
    #expect(record.counters.outcomes == [.accepted: 40, .unregistered: 5, .badToken: 5])
    #expect(record.counters.pruned == 5)
    #expect(record.counters.quarantined == 5)
    #expect(record.pending == 0)
    #expect((record.slices.finished, record.slices.total) == (4, 4))
    #expect(record.times.startedAt != nil)
    #expect(record.times.finishedAt != nil)
    #expect(try await store.campaigns.all().map(\.id) == ["spring"])

    var lines: [String: TargetResult] = [:]
    try await store.results.forEachResult(of: "spring") { page in
      for result in page { lines[result.user] = result }
      return true
    }
    #expect(lines.count == 50)
    #expect(lines["u0"]?.outcome == .unregistered)
    #expect(lines["u0"]?.status == 410)
    #expect(lines["u0"]?.reason == "Unregistered")
    #expect(lines["u1"]?.outcome == .badToken)
    #expect(lines["u2"]?.outcome == .accepted)
    #expect(try await store.registry.user("u0") == nil)
    #expect(try await store.registry.user("u1")?.devices.first?.isQuarantined == true)
    #expect(try await world.command("LLEN", world.keys.feedback).integer == 5)
  }

  /// Records an outcome by token number: in each ten, one is unregistered and one is bad.
  private func record(_ number: Int, _ chunk: TargetChunk, _ position: Int, into batch: inout OutcomeBatch) {
    let index = chunk.first + position
    switch number % 10 {
    case 0:
      batch.append(
        LedgerRecord(state: .terminal(.unregistered), status: 410, reason: Reason.unregistered.code, at: 5000),
        at: index,
        action: .prune, token: chunk.token(position), user: chunk.user(position), timestamp: 4000, keepsResult: true)
    case 1:
      batch.append(
        LedgerRecord(state: .terminal(.badToken), status: 400, reason: Reason.badDeviceToken.code, at: 5000), at: index,
        action: .quarantine, token: chunk.token(position), user: chunk.user(position), timestamp: 5000,
        keepsResult: true)
    default:
      batch.append(LedgerRecord(state: .terminal(.accepted), status: 200, at: 5000), at: index)
    }
  }
}
