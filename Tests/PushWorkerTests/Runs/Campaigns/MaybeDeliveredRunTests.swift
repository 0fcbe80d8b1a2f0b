import APNs
import APNsSimulator
import CampaignStore
import PushCore
import PushTransport
import PushWorker
import Redis
import TestKit
import TestSupport
import Testing

/// Targets that were sent and not answered, and so may have been delivered. They end as `unknown` in every case, and a
/// correction reaches them.
@Suite(.takesTurns) struct MaybeDeliveredRunTests {
  private static let users = 64
  /// Returns a policy with a wait, in ms, between the second ambiguous attempt and the next one, so that a test can
  /// act.
  private static func policy(wait: Int, attempts: Int = 5) -> RetryPolicy {
    RetryPolicy(firstServerError: 1, serverError: 1, tooManyRequests: wait, attempts: attempts, jitter: 0)
  }

  /// Returns a rig with a simulator that receives every push and answers none.
  private func rig(_ engine: PushEngineKind, log: String) async throws -> WorkerRig {
    let rig = try await WorkerRig(engine: engine, partitions: 1) {
      $0.knobs.resetShare = 1
      $0.log = log
    }
    try await rig.register(Self.users)
    return rig
  }

  private func set(_ rig: WorkerRig, _ change: (inout SimulatorKnobs) -> Void) async {
    var knobs = rig.simulator.knobs
    knobs.resetShare = 0
    knobs.failures = []
    change(&knobs)
    await rig.simulator.set(knobs)
  }

  /// Returns the tokens that the simulator has received and not answered.
  private func taken(_ log: String) throws -> Set<String> {
    Set(try RequestLine.read(log).filter { $0.status == "-" }.map(\.token))
  }

  /// Checks that every reader reports the possible deliveries, that the others have `outcome`, and that a correction
  /// reaches the possible deliveries.
  private func expectEnd(
    _ id: String, _ state: CampaignState, maybe: Set<String>, others outcome: Outcome, _ rig: WorkerRig
  ) async throws {
    let record = try #require(try await rig.store.campaigns.show(id))
    expect(record.state, is: state)
    expect(!maybe.isEmpty)
    let left = Self.users - maybe.count
    expect(record.counters.outcomes, is: left > 0 ? [.unknown: maybe.count, outcome: left] : [.unknown: maybe.count])
    let results = try await rig.results(id)
    let unknown = results.filter { $0.outcome == .unknown }.compactMap(\.token).map {
      String(decoding: Hex.encode($0.bytes), as: UTF8.self)
    }
    expect(results.count == Self.users && Set(unknown) == maybe)
    await set(rig) { _ in }
    try await rig.submit("correction", audience: #"{"campaign":"\#(id)","outcome":["accepted","unknown"]}"#)
    try await rig.submit("to-others", audience: #"{"campaign":"\#(id)","outcome":["\#(outcome.name)"]}"#)
    try await rig.submit("excluding", audience: #"{"segment":"*","exclude":{"campaign":"\#(id)"}}"#)
    try await rig.worker("late").run()
    expect(try await rig.store.campaigns.show("correction")?.counters.targets, is: maybe.count)
    for id in ["to-others", "excluding"] {
      expect(try await rig.store.campaigns.show(id)?.counters.targets, is: left, "\(id)")
    }
  }

  @Test(arguments: PushEngineKind.one(for: "cancelEndsUnansweredTargetsAsUnknown"))
  func cancelEndsUnansweredTargetsAsUnknown(engine: PushEngineKind) async throws {
    let folder = try ScratchFolder()
    let log = folder.path("requests")
    let rig = try await rig(engine, log: log)
    try await rig.submit("story")
    let worker = rig.worker("w", retry: Self.policy(wait: 600_000))
    async let running: Void = worker.run()
    try await rig.until { try await rig.store.campaigns.show("story")?.counters.retrying ?? 0 >= 5 }
    try await rig.store.campaigns.control("story", .cancel)
    try await running
    let taken = try taken(log)
    try await expectEnd("story", .cancelled, maybe: taken, others: .cancelled, rig)
    // The results hash has the same outcomes. By default it has all outcomes except acceptances.
    let client = RedisClient(url: rig.url, options: WorkerRig.unhurried)
    for number in 0..<Self.users where taken.contains(WorkerRig.text(number)) {
      let key = rig.keys.results(Partition.of(user: "u\(number)", count: rig.keys.partitions), "story")
      let line = try await client.command("HGET", key, WorkerRig.text(number)).get().string
      expect(line?.hasPrefix("unknown "), is: true, "\(line ?? "no line")")
    }
    await client.close()
  }

  @Test(arguments: PushEngineKind.one(for: "expiryEndsUnansweredTargetsAsUnknown"))
  func expiryEndsUnansweredTargetsAsUnknown(engine: PushEngineKind) async throws {
    let folder = try ScratchFolder()
    let log = folder.path("requests")
    let rig = try await rig(engine, log: log)
    try await rig.submit("story", #","expiration":"3s""#)
    try await rig.worker("w", retry: Self.policy(wait: 600_000)).run()
    try await expectEnd("story", .completed, maybe: taken(log), others: .expired, rig)
  }

  @Test(arguments: PushEngineKind.one(for: "exhaustedRetriesEndUnansweredTargetsAsUnknown"))
  func exhaustedRetriesEndUnansweredTargetsAsUnknown(engine: PushEngineKind) async throws {
    let folder = try ScratchFolder()
    let log = folder.path("requests")
    let rig = try await rig(engine, log: log)
    try await rig.submit("story")
    let worker = rig.worker("w", retry: Self.policy(wait: 1000, attempts: 3))
    async let running: Void = worker.run()
    try await rig.until { try await rig.store.campaigns.show("story")?.counters.retrying ?? 0 >= 5 }
    // Every further attempt is refused. Without the ambiguity bit these targets would be `failed`.
    await set(rig) { $0.failures = [.init(share: 1, status: 500, reason: "InternalServerError")] }
    try await running
    try await expectEnd("story", .completed, maybe: taken(log), others: .failed, rig)
  }

  /// How the targets in doubt of a dead worker end, other than by an answer.
  enum Ending: CaseIterable {
    case cancelledBeforeTheTakeover, cancelled, expired, exhausted, optedOut, deviceGone, notResent
  }

  /// A worker dies with all targets in doubt. The answers to its pushes arrive after the slice has ended, and are
  /// dropped.
  @Test(arguments: PushEngineKind.one(for: "targetsInDoubtOfADeadWorkerStayMaybeDelivered"), Ending.allCases)
  func targetsInDoubtOfADeadWorkerStayMaybeDelivered(engine: PushEngineKind, ending: Ending) async throws {
    let rig = try await WorkerRig(
      engine: engine, partitions: 1,
      users: Self.users)
    try await rig.submit("story", #","expiration":"1h","ambiguity":"\#(ending == .notResent ? "skip" : "resend")""#)
    let ledger = try await die(rig)
    // The next owner sends all targets again, and each is refused. A refusal does not show whether the first attempt
    // arrived.
    await set(rig) { $0.failures = [.init(share: 1, status: 500, reason: "InternalServerError")] }
    var policy = RetryPolicy(firstServerError: 600_000, serverError: 600_000, jitter: 0)
    switch ending {
    case .cancelledBeforeTheTakeover: try await rig.store.campaigns.control("story", .cancel)
    case .expired: try await rig.command("HSET", "campaign:story", "expiration", "1700000000")
    case .exhausted: policy.attempts = 1
    case .optedOut: try await rig.store.audiences.add((0..<Self.users).map { "u\($0)" }, to: "~news")
    case .deviceGone:
      let tokens = try (0..<Self.users).map { try #require(DeviceToken(bytes: WorkerRig.token($0))) }
      _ = try await rig.store.registry.unregister(tokens, of: APNsService(), at: rig.store.time() / 1000)
    case .cancelled, .notResent: break
    }
    let worker = rig.worker("w", retry: policy, lease: 100)
    async let running: Void = worker.run()
    if ending == .cancelled {
      try await rig.until { try await rig.store.campaigns.show("story")?.counters.retrying == Self.users }
      try await rig.store.campaigns.control("story", .cancel)
    }
    try await running
    let sent = ending == .cancelled || ending == .exhausted ? Self.users : 0
    expect(await rig.simulator.counters().received, is: sent)
    let ended = try #require(try await rig.store.campaigns.show("story"))
    expect(ended.counters.outcomes, is: [.unknown: Self.users])
    var late = OutcomeBatch()
    for index in 0..<Self.users {
      late.append(LedgerRecord(state: .terminal(.accepted), attempt: 1, status: 200, at: 5000), at: index)
    }
    _ = try await ledger.commit(&late, CommitRequest(seal: ledger.claim, expected: .acknowledged(SliceVersion())))
    expect(try await rig.results("story").allSatisfy { $0.outcome == .unknown })
    expect(try await rig.store.campaigns.show("story")?.counters, is: ended.counters)
    // No campaign reaches users who left.
    guard ending != .optedOut, ending != .deviceGone else { return }
    let isCancelled = ending == .cancelled || ending == .cancelledBeforeTheTakeover
    let all = Set((0..<Self.users).map(WorkerRig.text))
    try await expectEnd("story", isCancelled ? .cancelled : .completed, maybe: all, others: .cancelled, rig)
  }

  /// Leaves the slice of a submitted campaign with all targets in doubt, like a worker that died. It is unknown whether
  /// it sent any.
  private func die(_ rig: WorkerRig) async throws -> SliceLedger {
    let job = try #require(try await rig.store.queue.awaitJob(worker: "dead", seconds: 1, now: 1))
    let campaign = try CampaignJob.parse(job, .known(["news": [APNsService(AppTraits(topic: WorkerRig.topic))]]))
    _ = try await rig.store.queue.activate(campaign, job: job, worker: "dead")
    let slice = try #require(try await rig.store.slices.dequeueSlice(worker: "dead"))
    let ledger = SliceLedger(store: rig.store, slice: slice, lease: 1, app: "news")
    _ = try await ledger.claim(worker: "dead")
    let filter = DeviceFilter(service: "apns", kind: .alert, app: "news", environment: "production")
    expect(try await rig.store.expansion.expand(ledger, of: campaign, filter: filter)?.count, is: Self.users)
    var nothing = OutcomeBatch()
    let request = CommitRequest(seal: ledger.claim, expected: .acknowledged(SliceVersion()), credit: Self.users)
    expect(try await ledger.commit(&nothing, request).granted, is: Self.users)
    _ = try await rig.store.fleet.heartbeat(worker: "dead", timeout: 1)
    return ledger
  }
}
