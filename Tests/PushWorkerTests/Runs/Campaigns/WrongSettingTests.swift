import APNsSimulator
import CampaignStore
import FCM
import PushCore
import PushTransport
import PushWorker
import TestKit
import TestSupport
import Testing

/// An answer that FCM gives to every push because of one cause, and its effect on a campaign.
struct WrongSetting: Sendable, CustomTestStringConvertible {
  /// State of the campaign afterwards.
  enum End: Hashable, Sendable {
    /// The guard has paused the campaign. `lostLater` is the most targets that end otherwise than as accepted, if FCM
    /// gives the answer only from the middle of the campaign on.
    case guarded(lostLater: Int)
    /// The campaign is paused because the credential is stopped.
    case stopped
    /// The campaign waits. It continues when FCM accepts pushes again.
    case waits
  }

  var answer: String
  var end: End
  /// Words in the reason of the pause or of the wait.
  var hint: String
  /// Makes FCM give the answer.
  var begin: @Sendable (inout FCMKnobs) -> Void

  var testDescription: String { answer }

  init(
    _ answer: String, _ end: End, _ hint: String, _ begin: @escaping @Sendable (inout FCMKnobs) -> Void
  ) {
    (self.answer, self.end, self.hint, self.begin) = (answer, end, hint, begin)
  }

  init(_ answer: String, _ end: End, _ hint: String, _ kind: FCMKnobs.Failure.Kind) {
    self.init(answer, end, hint) { $0.failures = [.init(share: 1, kind: kind, retryAfterSeconds: 10)] }
  }

  /// A tenth of the latest 200 to 400 answers, and the answers of one report (`deploy/guide/safety.md`).
  private static let refused = End.guarded(lostLater: 45)
  /// Half of the latest 200 to 400 answers.
  private static let gone = End.guarded(lostLater: 205)

  static let rows = [
    WrongSetting(
      "400, the message", refused,
      "mostly with INVALID_ARGUMENT: probably a wrong message or a wrong restricted_package_name", .invalidArgument),
    WrongSetting("400, the size", refused, "probably a message of more than 4,096 bytes") { $0.messageBytes = 1 },
    WrongSetting("400, the token", refused, "probably the wrong tokens for app news", .malformedToken),
    WrongSetting("401 THIRD_PARTY_AUTH_ERROR", refused, "add the key in the Firebase console", .thirdPartyAuth),
    WrongSetting("403 SENDER_ID_MISMATCH", refused, "probably the wrong project for app news", .senderMismatch),
    WrongSetting("404 UNREGISTERED", gone, "probably the wrong devices for app news", .unregistered),
    WrongSetting(
      "409, not documented", refused, "probably a wrong project for app news, or a wrong message", .unlisted),
    WrongSetting("401, the access token", .stopped, "FCM refuses every access token (status 401)", .accessTokenInvalid),
    WrongSetting("403, the role", .stopped, "give it the role “Firebase Cloud Messaging API Admin”", .permissionDenied),
    WrongSetting("403, the API", .stopped, "enable “Firebase Cloud Messaging API”") { $0.isDisabled = true },
    WrongSetting("404, the project", .stopped, "check project and endpoint", .unknownProject),
    WrongSetting("400 of the token endpoint", .stopped, "the key was deleted") { $0.revokedKeys = FCMRig.keyIDs },
    WrongSetting("429, the quota", .waits, "because the quota fcm:test-project is used up", .projectQuota),
    WrongSetting("502", .waits, "answers almost everything with server errors", .badGateway),
    WrongSetting("503", .waits, "answers almost everything with server errors", .unavailable),
  ]
}

/// One wrong setting of the job, the app or the Firebase project must not cost a campaign its audience. Each row is
/// tried with the setting wrong from the start, and from the middle of the campaign on.
@Suite(.timeLimit(.minutes(6)), .takesTurns)
struct WrongSettingTests {
  private static let users = TestForm.count(short: 1500, long: 10_000)
  private static let window = 1000

  @Test(
    arguments: PushEngineKind.one(for: "wrongSettingFailsNoTarget"), TestForm.rows(WrongSetting.rows, inParts: 2))
  func wrongSettingFailsNoTarget(engine: PushEngineKind, row: WrongSetting) async throws {
    try await play(row, engine)
  }

  /// The longest answer: about 900 bytes, with the reason at its end.
  @Test(arguments: PushEngineKind.allCases)
  func longAnswerIsReadToItsEnd(engine: PushEngineKind) async throws {
    try await play(#require(WrongSetting.rows.first { $0.answer == "403, the API" }), engine)
  }

  private func play(_ row: WrongSetting, _ engine: PushEngineKind) async throws {
    let fcm = try await FCMRig(engine: engine, users: Self.users)
    await fcm.rig.simulator.change { row.begin(&$0.fcm) }
    let log = EventLog()
    let worker = fcm.rig.worker("w", window: Self.window, drains: false, log: log)
    let run = Task { try await worker.run() }
    try await submit(to: fcm)
    let reason = try await reasonToStop(row, fcm)
    expect(reason.contains(row.hint), "\(reason)")
    let record = try #require(try await fcm.rig.store.campaigns.show("wrong"))
    expect(try await outcomes(fcm).isEmpty, "\(record.counters.outcomes)")
    expect(record.counters.pruned == 0 && record.counters.quarantined == 0)
    let received = await fcm.rig.simulator.counters().fcm.received
    switch row.end {
    case .guarded: expect((200...400).contains(received), "\(received)")
    case .stopped, .waits: expect(received <= Self.window, "\(received)")
    }

    // The setting is corrected.
    if case .waits = row.end {
      expect(record.state, is: .active)
    } else {
      expect(record.pausedItself)
      await fcm.rig.simulator.change { $0.fcm = FCMKnobs() }
      _ = try await fcm.rig.store.campaigns.resume("wrong", unguarded: false, by: "")
      try await fcm.rig.until { try await fcm.rig.store.campaigns.find("wrong")?.state == .completed }
      expect(try await outcomes(fcm), is: [.accepted: Self.users], "\(log.all)")
    }
    await worker.stop()
    try await run.value
    await fcm.rig.simulator.stop()
  }

  @Test(
    arguments: PushEngineKind.one(for: "settingThatBecomesWrongFailsFewTargets"),
    TestForm.rows(WrongSetting.rows, oneOfEach: \.end))
  func settingThatBecomesWrongFailsFewTargets(engine: PushEngineKind, row: WrongSetting) async throws {
    let fcm = try await FCMRig(engine: engine, users: Self.users)
    await fcm.rig.simulator.change { $0.fcm.latencyMilliseconds = 20 }
    let worker = fcm.rig.worker("w", window: Self.window, drains: false)
    let run = Task { try await worker.run() }
    try await submit(to: fcm)
    try await fcm.rig.until { await fcm.rig.simulator.counters().fcm.accepted >= 400 }
    await fcm.rig.simulator.change { row.begin(&$0.fcm) }
    // A refused key has no effect before the worker needs another token.
    if case .stopped = row.end { fcm.rig.simulator.expireAccessTokens() }
    let reason = try await reasonToStop(row, fcm)
    expect(reason.contains(row.hint), "\(reason)")
    let outcomes = try await outcomes(fcm)
    let lost = outcomes.filter { $0.key != .accepted }.values.reduce(0, +)
    switch row.end {
    case .guarded(let most): expect(lost <= most, "\(outcomes)")
    case .stopped, .waits: expect(lost, is: 0, "\(outcomes)")
    }
    expect((1..<Self.users).contains(outcomes[.accepted, default: 0]), "\(outcomes)")
    await worker.stop()
    try await run.value
    await fcm.rig.simulator.stop()
  }

  private func submit(to fcm: FCMRig) async throws {
    try await fcm.rig.submit("wrong", #","services":["fcm"]"#, content: #""message":{"title":"Hi","body":"There"}"#)
  }

  private func outcomes(_ fcm: FCMRig) async throws -> [Outcome: Int] {
    try await fcm.rig.store.campaigns.show("wrong")?.counters.outcomes.filter { $0.value > 0 } ?? [:]
  }

  /// Waits until the campaign sends nothing more because of the answers.
  ///
  /// - Returns: the reason that operators see.
  private func reasonToStop(_ row: WrongSetting, _ fcm: FCMRig) async throws -> String {
    var reason = ""
    try await fcm.rig.until {
      guard let record = try await fcm.rig.store.campaigns.show("wrong") else { return false }
      if case .waits = row.end {
        reason = record.waiting?.reason ?? ""
        return reason.contains(row.hint)
      }
      reason = record.reason ?? ""
      return record.state == .paused && record.counters.inDoubt == 0
    }
    return reason
  }
}
