import CampaignStore
import Foundation
import Synchronization
import TestSupport

/// Trouble of one app must not affect another app's campaigns. Two workers with the standard window and partitions send
/// for two apps, each with an endpoint of its own.
enum IsolationCases {
  static let all = [killed, frozen, slow, refused, silent, rawTokens]

  // MARK: Cases

  static let killed = trouble(
    "isolation-killed", fault: "endpoint of another app killed in its campaign",
    bound: "window × workers: the pushes in flight", duplicates: IsolationScene.workers * IsolationScene.window,
    isUnreachable: true,
    suffer: { await $0.kill() }, heal: { try await $0.restart() })

  /// A worker may give up its first connection, send its pushes again on the second one, and then give up the second
  /// one too.
  static let frozen = trouble(
    "isolation-frozen", fault: "endpoint of another app stopped in its campaign (SIGSTOP)",
    bound: "window × workers × 2 connections: the pushes in flight",
    duplicates: 2 * IsolationScene.workers * IsolationScene.window,
    isUnreachable: true, suffer: { $0.freeze() }, heal: { $0.thaw() })

  static let slow = trouble(
    "isolation-slow", fault: "endpoint of another app answers after 2 s", bound: "0", duplicates: 0,
    isUnreachable: false, suffer: { try await $0.set(#"{"latencyMilliseconds":2000}"#) },
    heal: { try await $0.set(#"{"latencyMilliseconds":50}"#) })

  static let refused = trouble(
    "isolation-refused", fault: "endpoint of another app refuses connections from the start", bound: "0",
    duplicates: 0, isUnreachable: true, isFromTheStart: true, suffer: { await $0.kill() },
    heal: { try await $0.restart() })

  static let silent = trouble(
    "isolation-silent", fault: "endpoint of another app is silent from the start", bound: "0", duplicates: 0,
    isUnreachable: true, isFromTheStart: true, suffer: { $0.freeze() }, heal: { $0.thaw() })

  /// Raw tokens without a device record all use the same connection, so sending to them is slow.
  static let rawTokens = FaultCase(
    "isolation-raw-tokens", faults: ["lists of raw tokens for another app"],
    invariant: "the other app's campaign takes hardly longer than alone", bound: "0"
  ) { stage in
    let scene = try await IsolationScene(stage, sick: 1)
    let alone = try await scene.timeAlone()
    let isMeasured = Mutex(false)
    async let lists = sendLists(scene) { isMeasured.withLock { $0 } }
    try await scene.world.reached(500, of: FaultCampaign("list-0"))
    let healthy = try await scene.expectInTime(alone: alone)
    isMeasured.withLock { $0 = true }
    stage.fired("lists of raw tokens for another app", times: try await lists)
    for campaign in healthy { try await scene.world.ended(campaign) }
    try await stage.check(scene.world)
  }

  /// Sends lists of tokens in succession, so that one of them is always in flight.
  ///
  /// - Returns: number of lists.
  private static func sendLists(_ scene: IsolationScene, until isEnough: @Sendable () -> Bool) async throws -> Int {
    // The number of tokens that fit into a job of a megabyte.
    let size = 14_000
    var number = 0
    repeat {
      let tokens = (0..<size).map { CarillonWorld.token(0x2000_0000 + number * size + $0) }
      let list = FaultCampaign("list-\(number)") {
        $0.app = SecondApp.name
        $0.tokens = tokens
        $0.audience = #"{"tokens":["\#(tokens.joined(separator: #"",""#))"]}"#
      }
      number += 1
      try await scene.world.push(list)
      try await scene.world.ended(list)
    } while !isEnough() && !Task.isCancelled
    return number
  }

  // MARK: Steps

  /// - Parameters:
  ///   - duplicates: number of duplicates that the fault allows.
  ///   - isUnreachable: whether the endpoint accepts no pushes at all.
  ///   - isFromTheStart: whether the endpoint fails before its app's campaign starts, and not during it.
  private static func trouble(
    _ name: String, fault: String, bound: String, duplicates: Int, isUnreachable: Bool, isFromTheStart: Bool = false,
    suffer: @escaping @Sendable (SecondApp) async throws -> Void,
    heal: @escaping @Sendable (SecondApp) async throws -> Void
  ) -> FaultCase {
    FaultCase(
      name, faults: [fault],
      invariant:
        "another app's campaign takes as long as alone; the app's own campaign reports why it waits, and continues later",
      bound: bound
    ) { stage in
      let scene = try await IsolationScene(
        stage, sick: stage.times(short: isUnreachable ? 10_000 : 20_000, full: 40_000))
      let alone = try await scene.timeAlone()
      if isFromTheStart { try await suffer(scene.app) }
      let sick = scene.campaign("sick", app: SecondApp.name)
      // Answers with a delay of 8 s keep the campaign open until the endpoint fails, also on a slow machine.
      let holdsCampaign = isUnreachable && !isFromTheStart
      if holdsCampaign { try await scene.app.set(#"{"stallShare":0.01,"stallMilliseconds":8000}"#) }
      try await scene.world.push(sick)
      if isFromTheStart {
        try await until("campaign sick begins") {
          try await scene.world.store.campaigns.find(sick.id)?.times.startedAt != nil
        }
      } else {
        // After this number of outcomes the guard has decided, and the workers have filled their windows more than
        // once.
        try await scene.world.reached(stage.times(short: 3000, full: 5000), of: sick)
        if holdsCampaign { try await scene.app.set(#"{"stallShare":0}"#) }
        try await suffer(scene.app)
      }
      try await scene.restOfSick()

      let healthy = try await scene.expectInTime(alone: alone)
      let isStuck = try await !scene.world.hasEnded(sick)
      if isUnreachable { try await scene.expectExplanation(of: sick) }
      if isStuck { stage.fired(fault, duplicates: duplicates) }
      try await heal(scene.app)
      let healed = ContinuousClock.now
      try await scene.world.ended(sick)
      stage.addNote("the other app's campaign ended \(healed.duration(to: .now).components.seconds) s after the repair")
      for campaign in healthy { try await scene.world.ended(campaign) }
      let shown = try await scene.show(sick)
      stage.expect(shown.object("waiting") == nil, "campaign sick has ended and waits: \(shown)")
      stage.expect(
        shown.object("outcomes")?.numbers == ["accepted": scene.app.tokens.count],
        "not every target of the failing app was accepted: \(shown)")
      try await stage.check(scene.world)
    }
  }
}
