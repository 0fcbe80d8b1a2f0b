import APNs
import CampaignStore
import PushCore
import Redis
import TestKit
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
    expect(try await store.queue.submit(job, as: campaign), is: .new)
    let blocked = try await backend.connect()
    let intake = CampaignStore(redis: blocked, keys: world.keys, services: TestStore.services)
    let taken = try #require(try await intake.queue.awaitJob(worker: "w1", seconds: 1, now: 1))
    expect(taken, is: job)
    expect(try await store.queue.unfinishedJob(worker: "w1"), is: job)
    expect(try await store.queue.activate(campaign, job: taken, worker: "w1"), is: .new)
    expect(try await store.queue.unfinishedJob(worker: "w1"), is: nil)
    await blocked.close()
    expect(try await store.campaigns.find("spring")?.state, is: .active)

    // The worker sends its slices one after the other.
    var targets = 0
    var ended: CampaignState?
    while let slice = try await store.slices.dequeueSlice(worker: "w1") {
      expect(ended, is: nil)
      let (ledger, progress) = try await world.claimed(slice.campaign, slice.partition, worker: "w1")
      expect(!progress.isSealed)
      let count = try #require(try await world.expand(ledger, campaign))
      var batch = OutcomeBatch()
      let granted = try await ledger.commit(&batch, credit: 1000)
      expect(granted.isOwner)
      expect(granted.granted, is: count)
      expect(granted.inDoubt, is: count)
      let chunk = try await ledger.targets(from: 0, count: 500)
      expect(chunk.count, is: count)
      for position in 0..<chunk.count {
        let user = String(decoding: chunk.user(position), as: UTF8.self)
        let number = try #require(Int(user.dropFirst()))
        expect(Array(chunk.token(position)), is: TestStore.token(number))
        record(number, chunk, position, into: &batch)
      }
      let answer = try await ledger.commit(&batch, credit: 0)
      expect(answer.inDoubt, is: 0)
      let counters = try #require(try await ledger.close(.finish).counters)
      expect(counters.targets, is: count)
      ended = try await store.slices.finish(slice, counters: counters, lane: .bulk, worker: "w1")
      try await store.results.deliverFeedback(from: [slice.partition])
      targets += count
    }
    expect(ended, is: .completed)
    expect(targets, is: 50)

    // Commands and the API show the result.
    let record = try #require(try await store.campaigns.show("spring"))
    expect(record.state, is: .completed)
    expect(record.counters.targets, is: 50)
    expect(record.counters.outcomes, is: [.accepted: 40, .unregistered: 5, .badToken: 5])
    expect(record.counters.pruned, is: 5)
    expect(record.counters.quarantined, is: 5)
    expect(record.pending, is: 0)
    expect((record.slices.finished, record.slices.total) == (4, 4))
    expect(record.times.startedAt != nil)
    expect(record.times.finishedAt != nil)
    expect(try await store.campaigns.all().map(\.id), is: ["spring"])

    var lines: [String: TargetResult] = [:]
    try await store.results.forEachResult(of: "spring") { page in
      for result in page { lines[result.user] = result }
      return true
    }
    expect(lines.count, is: 50)
    expect(lines["u0"]?.outcome, is: .unregistered)
    expect(lines["u0"]?.status, is: 410)
    expect(lines["u0"]?.reason, is: "Unregistered")
    expect(lines["u1"]?.outcome, is: .badToken)
    expect(lines["u2"]?.outcome, is: .accepted)
    expect(try await store.registry.user("u0") == nil)
    expect(try await store.registry.user("u1")?.devices.first?.isQuarantined, is: true)
    expect(try await world.command("LLEN", world.keys.feedback).integer, is: 5)
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
