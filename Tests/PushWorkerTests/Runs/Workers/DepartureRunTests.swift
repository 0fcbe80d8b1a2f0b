import PushTransport
import APNs
import APNsSimulator
import CampaignStore
import Foundation
import PushCore
import PushWorker
import TestKit
import TestSupport
import Testing

/// Whole campaigns whose targets wait while users leave. A user who leaves before the due time gets nothing.
@Suite(.timeLimit(.minutes(6)), .takesTurns) struct DepartureRunTests {
  private static let users = 120

  /// The groups of ten users that leave, by their first number.
  private static let optedOut = [0, 10, 20]
  private static let gone = [30, 40, 50, 60]

  /// Makes each group leave in its own way, partly by events as apps send them.
  ///
  /// - Parameter start: when the pushes become due, in seconds of UNIX time.
  /// - Returns: whether all had left by then. After this time the workers may have ended, and then nothing applies the
  ///   events.
  private func leave(_ rig: WorkerRig, before start: Int) async throws -> Bool {
    if Self.isPast(start) { return false }
    func users(_ first: Int) -> [String] { (first..<(first + 10)).map { "u\($0)" } }
    let now = Int(Date().timeIntervalSince1970 * 1000)
    let store = rig.store
    try await store.audiences.add(users(0), to: "~news")
    var replacement = try await store.audiences.replacement(of: "~news~offers")
    _ = try await store.audiences.add(users(10), to: &replacement)
    try await store.audiences.putInForce(replacement)
    try await rig.push(
      events: (20..<30).map { #"{"op":"preference","user":"u\#($0)","app":"news","allowed":false}"# })
    try await rig.push(
      events: (30..<40).map { #"{"op":"logout","user":"u\#($0)","token":"\#(WorkerRig.text($0))"}"# })
    let tokens = try (40..<50).map { try #require(DeviceToken(bytes: WorkerRig.token($0))) }
    _ = try await store.registry.unregister(tokens, of: APNsService(), at: now)
    for user in users(50) { _ = try await store.erasure.erase(user) }
    // Another user has the phone now.
    try await store.registry.register(
      (60..<70).map { number in
        var device = DeviceRecord(token: WorkerRig.token(number), service: "apns")
        device.registeredAt = UInt64(now)
        return DeviceRegistration(user: "other\(number)", device: device)
      })
    try await rig.until {
      if Self.isPast(start) { return true }
      for number in 20..<30 where try await store.audiences.lists(of: "u\(number)").suppression.isEmpty { return false }
      for number in 30..<40 where try await store.registry.user("u\(number)") != nil { return false }
      return true
    }
    return !Self.isPast(start)
  }

  /// Returns whether this second, in UNIX time, has begun.
  private static func isPast(_ second: Int) -> Bool { Date().timeIntervalSince1970 >= Double(second) }

  private func expectOutcomes(_ rig: WorkerRig) async throws {
    let results = try await rig.results("news-of-the-day")
    for result in results {
      guard result.token != nil else {
        expect(result.outcome, is: .deviceGone)
        continue
      }
      let number = try #require(Int(result.user.dropFirst()))
      let group = number / 10 * 10
      let expected: Outcome =
        Self.optedOut.contains(group) ? .optedOut : Self.gone.contains(group) ? .deviceGone : .accepted
      expect(result.outcome, is: expected, "\(result.user)")
    }
    let others = Self.users - 10 * (Self.optedOut.count + Self.gone.count)
    let record = try #require(try await rig.store.campaigns.show("news-of-the-day"))
    expect(record.state == .completed && record.counters.targets == Self.users)
    expect(record.counters.outcomes, is: [.accepted: others, .optedOut: 30, .deviceGone: 40])
    _ = try await rig.store.repair.check { findings in
      expect(findings.isEmpty, "\(findings.map { "\($0.key): \($0.problem)" })")
    }
  }

  /// All slices are sealed and wait for the users' local time. There are few slices with many targets, or many with a
  /// few.
  @Test(arguments: TestForm.pairs(PushEngineKind.allCases, [4, 200]))
  func userWhoLeavesBeforeTheTimeGetsNothing(engine: PushEngineKind, partitions: Int) async throws {
    try await withEnoughTime { seconds in
      let folder = try ScratchFolder()
      let path = folder.path("requests")
      let rig = try await WorkerRig(engine: engine, partitions: partitions) { $0.log = path }
      try await rig.register(Self.users)
      let start = Int(Date().timeIntervalSince1970) + seconds
      try await rig.submit(
        "news-of-the-day", #","category":"offers","sendAt":"\#(WallTime.format(start))","localTime":true"#)
      async let one: Void = rig.worker("one").run()
      async let other: Void = rig.worker("other").run()
      try await rig.until {
        try await rig.store.campaigns.show("news-of-the-day")?.counters.later == Self.users || Self.isPast(start)
      }
      let isInTime = try await leave(rig, before: start)
      _ = try await (one, other)
      guard isInTime else { return false }
      try await expectOutcomes(rig)
      let reached = Set(try RequestLine.read(path).map(\.token))
      let gone = (Self.optedOut + Self.gone).flatMap { $0..<($0 + 10) }.map(WorkerRig.text)
      expect(reached.isDisjoint(with: gone) && reached.count == Self.users - gone.count)
      return true
    }
  }

  /// Every first attempt fails with 429. A user who leaves before the retry gets none.
  @Test(arguments: PushEngineKind.one(for: "userWhoLeavesBeforeTheRetryGetsNothing"))
  func userWhoLeavesBeforeTheRetryGetsNothing(engine: PushEngineKind) async throws {
    try await withEnoughTime { seconds in
      let folder = try ScratchFolder()
      let path = folder.path("requests")
      let rig = try await WorkerRig(engine: engine, partitions: 4) {
        $0.log = path
        $0.knobs.tokenFailures = (0..<Self.users).map {
          .init(token: WorkerRig.text($0), status: 429, reason: "TooManyRequests", times: 1)
        }
      }
      try await rig.register(Self.users)
      // No retry comes earlier than this.
      let start = Int(Date().timeIntervalSince1970) + seconds
      try await rig.submit("news-of-the-day", #","category":"offers""#)
      let retry = RetryPolicy(tooManyRequests: seconds * 1000, jitter: 0)
      async let one: Void = rig.worker("one", retry: retry).run()
      try await rig.until {
        try await rig.store.campaigns.show("news-of-the-day")?.counters.retrying == Self.users || Self.isPast(start)
      }
      let isInTime = try await leave(rig, before: start)
      try await one
      guard isInTime else { return false }
      try await expectOutcomes(rig)
      let attempts = Dictionary(grouping: try RequestLine.read(path), by: \.token).mapValues(\.count)
      for number in 0..<Self.users {
        let isGone = (Self.optedOut + Self.gone).contains(number / 10 * 10)
        expect(attempts[WorkerRig.text(number)], is: isGone ? 1 : 2, "user \(number)")
      }
      return true
    }
  }
}
