import PushTransport
import APNs
import APNsSimulator
import CampaignStore
import PushCore
import PushWorker
import TestKit
import TestSupport
import Testing

/// Whole campaigns of an app with frequency caps.
@Suite(.takesTurns) struct CapRunTests {
  private static let day = 86_400
  private static let users = 240

  private func rig(_ engine: PushEngineKind, partitions: Int, caps: [FrequencyCap]) async throws -> WorkerRig {
    var rig = try await WorkerRig(engine: engine, partitions: partitions)
    rig.channel.caps = caps
    return rig
  }

  /// Returns how often each user got one of these campaigns.
  private func received(_ ids: [String], _ rig: WorkerRig) async throws -> [String: Int] {
    var counts: [String: Int] = [:]
    for id in ids {
      for result in try await rig.results(id) {
        expect(result.outcome == .accepted || result.outcome == .capped)
        counts[result.user, default: 0] += result.outcome == .accepted ? 1 : 0
      }
    }
    return counts
  }

  /// Three campaigns at the same time, with two workers. There are few slices with many targets each, or slices with
  /// one or two targets.
  @Test(arguments: PushEngineKind.one(for: "eachUserGetsAsManyAsTheCapAllows"), [4, 300])
  func eachUserGetsAsManyAsTheCapAllows(engine: PushEngineKind, partitions: Int) async throws {
    let rig = try await rig(
      engine, partitions: partitions,
      caps: [
        FrequencyCap(most: 2, seconds: Self.day), FrequencyCap(category: "offers", most: 1, seconds: 7 * Self.day),
      ])
    try await rig.register(Self.users)
    let ids = ["a", "b", "c"]
    for id in ids { try await rig.submit(id) }
    // Caps neither limit nor count these two campaigns.
    try await rig.submit("news", #","lane":"urgent""#)
    try await rig.submit("receipt", #","transactional":true"#)
    async let other: Void = rig.worker("other").run()
    try await rig.worker("one").run()
    try await other
    let counts = try await received(ids, rig)
    expect(counts.count == Self.users && counts.values.allSatisfy { $0 == 2 })
    for id in ["news", "receipt"] {
      expect(try await rig.store.campaigns.show(id)?.counters.outcomes, is: [.accepted: Self.users])
    }
    let counters = await rig.simulator.counters()
    expect(counters.accepted == 4 * Self.users && counters.duplicatesReceived == 0)
    // All users have reached the caps now, including the one for offers.
    try await rig.submit("late", #","category":"offers""#)
    try await rig.worker("w").run()
    let record = try #require(try await rig.store.campaigns.show("late"))
    expect(record.state == .completed && record.counters.outcomes == [.capped: Self.users])
    expect(record.counters.targets == Self.users && record.pending == 0)
    // A capped target has an outcome like any other.
    _ = try await rig.store.repair.check { findings in
      expect(findings.isEmpty, "\(findings.map { "\($0.key): \($0.problem)" })")
    }
  }

  /// A worker with granted targets dies. The next owner keeps the decisions about them, and no user is counted twice.
  @Test(arguments: PushEngineKind.one(for: "takeoverKeepsEarlierDecisions"), ["resend", "skip"])
  func takeoverKeepsEarlierDecisions(engine: PushEngineKind, ambiguity: String) async throws {
    let rig = try await rig(engine, partitions: 1, caps: [FrequencyCap(most: 1, seconds: Self.day)])
    try await rig.register(Self.users)
    // Half of the users have reached the cap.
    let some = (0..<Self.users / 2).map { "\"u\($0)\"" }.joined(separator: ",")
    try await rig.submit("first", audience: "{\"users\":[\(some)]}")
    try await rig.worker("w").run()
    expect(try await rig.store.campaigns.show("first")?.counters.outcomes, is: [.accepted: Self.users / 2])
    try await rig.submit("second", ",\"ambiguity\":\"\(ambiguity)\"")
    let inDoubt = try await die(rig, granted: 100)
    try await rig.worker("heir", lease: 100).run()
    let record = try #require(try await rig.store.campaigns.show("second"))
    let half = Self.users / 2
    let expected: [Outcome: Int] =
      ambiguity == "resend"
      ? [.accepted: half, .capped: half] : [.accepted: half - inDoubt, .unknown: inDoubt, .capped: half]
    expect(record.state == .completed && record.counters.outcomes == expected)
    expect(await rig.simulator.counters().received, is: half + half - (ambiguity == "skip" ? inDoubt : 0))
    try await rig.submit("third")
    try await rig.worker("last").run()
    expect(try await rig.store.campaigns.show("third")?.counters.outcomes, is: [.capped: Self.users])
  }

  /// Leaves a slice with `granted` targets in doubt, like a worker that died.
  ///
  /// - Returns: the number of these targets that should get the push.
  private func die(_ rig: WorkerRig, granted: Int) async throws -> Int {
    let job = try #require(try await rig.store.queue.awaitJob(worker: "dead", seconds: 1, now: 1))
    let campaign = try CampaignJob.parse(job, .known(["news": [APNsService(AppTraits(topic: WorkerRig.topic))]]))
    _ = try await rig.store.queue.activate(campaign, job: job, worker: "dead")
    let slice = try #require(try await rig.store.slices.dequeueSlice(worker: "dead"))
    let ledger = SliceLedger(
      store: rig.store, slice: slice, lease: 1, app: "news",
      rules: GrantRules(campaign, caps: rig.channel.caps))
    _ = try await ledger.claim(worker: "dead")
    _ = try await rig.store.expansion.expand(
      ledger, of: campaign,
      filter: DeviceFilter(service: "apns", kind: .alert, app: "news", environment: "production"))
    var nothing = OutcomeBatch()
    let request = CommitRequest(seal: ledger.claim, expected: .acknowledged(SliceVersion()), credit: granted)
    let answer = try await ledger.commit(&nothing, request)
    expect(answer.granted == granted && answer.firstDecisions.count == granted)
    _ = try await rig.store.fleet.heartbeat(worker: "dead", timeout: 1)
    return answer.firstDecisions.count { $0.withheld == nil }
  }
}
