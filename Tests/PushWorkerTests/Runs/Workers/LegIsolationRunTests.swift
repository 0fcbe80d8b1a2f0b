import APNsSimulator
import CampaignStore
import PushCore
import PushTransport
import PushWorker
import TestKit
import TestSupport
import Testing

/// Isolation of the legs of one campaign: every user has an Apple and an Android device, and one of the two services
/// fails in the middle. The leg of the other service must end during this time. As in ``IsolationRunTests``, no check
/// depends on seconds.
@Suite(.timeLimit(.minutes(6)), .takesTurns) struct LegIsolationRunTests {
  private static let users = TestForm.count(short: 900, long: 1500)
  /// A small window, so that the failed leg fills the window of each of the two workers several times.
  private static let window = 200
  /// The number of requests at which the failure begins, after the guard has had its answers.
  private static let middle = 300

  enum Trouble: CaseIterable {
    /// Every connection is reset.
    case dead
    /// Connections stay open, and nothing is answered.
    case frozen
    /// Every answer takes ten seconds, so the leg outlasts the other one also on a loaded machine.
    case slow
    /// Every push gets 429.
    case outOfQuota
  }

  @Test(arguments: TestForm.rows(TestForm.pairs(PushEngineKind.allCases, Trouble.allCases), inParts: 2))
  func troubleOfFCMDoesNotAffectTheLegOfAPNs(engine: PushEngineKind, trouble: Trouble) async throws {
    try await play(engine, sick: "fcm", healthy: "apns") { knobs in
      switch trouble {
      case .dead:
        knobs.fcm.isDown = true
        knobs.fcm.resetAfterRequests = 1
      case .frozen: knobs.fcm.silentAfterRequests = 1
      case .slow: knobs.fcm.latencyMilliseconds = 10_000
      case .outOfQuota: knobs.fcm.failures = [.init(share: 1, kind: .projectQuota, retryAfterSeconds: 1)]
      }
    }
  }

  @Test(arguments: TestForm.rows(TestForm.pairs(PushEngineKind.allCases, Trouble.allCases), inParts: 2))
  func troubleOfAPNsDoesNotAffectTheLegOfFCM(engine: PushEngineKind, trouble: Trouble) async throws {
    try await play(engine, sick: "apns", healthy: "fcm") { knobs in
      switch trouble {
      case .dead:
        knobs.connectResetShare = 1
        knobs.resetAfterRequests = 1
      case .frozen: knobs.silentAfterRequests = 1
      case .slow: knobs.latencyMilliseconds = 10_000
      case .outOfQuota: knobs.failures = [.init(share: 1, status: 429, reason: "TooManyRequests")]
      }
    }
  }

  private func play(
    _ engine: PushEngineKind, sick: String, healthy: String, _ change: (inout SimulatorKnobs) -> Void
  ) async throws {
    let fcm = try await FCMRig(engine: engine, users: Self.users, partitions: 16)
    try await fcm.rig.register(Self.users)
    var well = fcm.rig.simulator.knobs
    // Slow answers, so that the campaign still runs when the test notices the middle on a busy machine.
    (well.latencyMilliseconds, well.fcm.latencyMilliseconds) = (400, 400)
    await fcm.rig.simulator.set(well)
    // With 50 attempts no push uses up its attempts while the trouble lasts.
    let retry = RetryPolicy(firstServerError: 1, serverError: 1, tooManyRequests: 1000, attempts: 50)
    let workers = ["one", "other"].map { fcm.rig.worker($0, window: Self.window, retry: retry, drains: false) }
    let runs = workers.map { worker in Task { try await worker.run() } }
    try await fcm.rig.submit("both", content: #""message":{"title":"Hi","body":"There"}"#)
    try await fcm.rig.until { await received(by: sick, fcm.rig) >= Self.middle }
    var ill = well
    change(&ill)
    await fcm.rig.simulator.set(ill)

    try await fcm.rig.until { try await fcm.leg(healthy, of: "both")?.times.finishedAt != nil }
    expect(try await fcm.outcomes(healthy, of: "both"), is: [.accepted: Self.users])
    let stuck = try #require(try await fcm.leg(sick, of: "both"))
    expect(stuck.times.finishedAt == nil && stuck.state == .active && stuck.pending > 0, "\(stuck.state)")

    await fcm.rig.simulator.set(well)
    try await fcm.rig.until { try await fcm.leg(sick, of: "both")?.times.finishedAt != nil }
    expect(try await fcm.outcomes(sick, of: "both"), is: [.accepted: Self.users])
    // The campaign ends in a script after the one that ends its last leg.
    try await fcm.rig.until { try await fcm.rig.store.campaigns.find("both")?.state == .completed }
    for worker in workers { await worker.stop() }
    for run in runs { try await run.value }
    await fcm.rig.simulator.stop()
  }

  private func received(by service: String, _ rig: WorkerRig) async -> Int {
    let counters = await rig.simulator.counters()
    return service == "fcm" ? counters.fcm.received : counters.received
  }
}
