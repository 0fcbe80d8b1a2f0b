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

/// A wrong story that is recalled or corrected.
@Suite struct StoryRunTests {
  /// When the cancel command returns, every worker has stopped. That takes less than a second, including pushes in
  /// flight. In `make test` other tests use the processors at the same time, so the limit is much higher there.
  @Test(arguments: PushEngineKind.one(for: "cancelStopsEveryWorkerWithinASecond"))
  func cancelStopsEveryWorkerWithinASecond(engine: PushEngineKind) async throws {
    let folder = try ScratchFolder()
    let path = folder.path("requests")
    let rig = try await WorkerRig(engine: engine, partitions: 16) {
      $0.log = path
      $0.knobs.latencyMilliseconds = 20
    }
    try await rig.register(20_000)
    try await rig.submit("story", #","lane":"urgent""#)
    let workers = ["one", "two", "three"].map { rig.worker($0, window: 50, drains: false) }
    async let first: Void = workers[0].run()
    async let second: Void = workers[1].run()
    async let third: Void = workers[2].run()
    try await rig.until { await rig.simulator.counters().received >= 300 }
    let limit = TestForm.count(short: 20_000, long: 1000)
    let asked = ContinuousClock.now
    // The simulator uses the clock of this machine.
    let askedAt = Int(Date().timeIntervalSince1970 * 1000)
    let (state, unconfirmed) = try await rig.store.campaigns.controlEverywhere("story", .cancel, lease: 6000)
    expect(state == .cancelled && unconfirmed.isEmpty)
    // Pushes in flight are answered within the simulator's latency.
    expect(ContinuousClock.now - asked < .milliseconds(limit), "\(ContinuousClock.now - asked)")
    let sent = await rig.simulator.counters().received
    try await rig.until { try await rig.store.campaigns.show("story")?.times.finishedAt != nil }
    for worker in workers { await worker.stop() }
    _ = try await (first, second, third)
    let record = try #require(try await rig.store.campaigns.show("story"))
    let received = await rig.simulator.counters().received
    // Each worker may have a window of pushes in flight when it receives the cancel.
    expect(received <= sent + 3 * 50 && received < 20_000, "\(sent) \(received)")
    expect(record.counters.outcomes[.accepted] == received && record.pending == 0)
    let requests = try RequestLine.read(path)
    expect(requests.count, is: received)
    // The push service's own log shows that no push arrived later.
    let last = requests.map(\.time).max() ?? 0
    expect(last - askedAt < limit, "\(last - askedAt) ms")
  }

  /// The correction has the same collapse id and a new text, and goes only to users who got the story.
  @Test(arguments: PushEngineKind.one(for: "correctionReplacesTheStoryForItsRecipientsOnly"))
  func correctionReplacesTheStoryForItsRecipientsOnly(engine: PushEngineKind) async throws {
    let folder = try ScratchFolder()
    let rig = try await WorkerRig(engine: engine) {
      $0.knobs.tracksCollapse = true
      $0.log = folder.path("requests")
      $0.logsBodies = true
    }
    try await rig.register(100) { $0 % 10 == 3 ? .unregistered : .registered }
    try await rig.submit("story", #","collapseId":"story-1","lane":"urgent""#)
    try await rig.worker("first").run()
    expect(await rig.simulator.counters().collapsed, is: 0)
    let late = (100..<120).map { number -> DeviceRegistration in
      var record = DeviceRecord(token: WorkerRig.token(number), service: "apns")
      record.app = "news"
      return DeviceRegistration(user: "u\(number)", device: record)
    }
    try await rig.store.registry.register(late)
    let reached = try await rig.results("story").filter { $0.outcome == .accepted }.compactMap(\.token)
    let before = try RequestLine.read(folder.path("requests")).count
    let job = #"""
      {"id":"correction","app":"news","lane":"urgent","collapseId":"story-1",
       "audience":{"campaign":"story","outcome":"accepted"},"apns":{"payload":{"aps":{"alert":"Correction: it did not happen."}}}}
      """#
    try await rig.push(raw: job)
    try await rig.worker("second").run()
    expect(try await rig.store.campaigns.show("correction")?.counters.outcomes, is: [.accepted: 90])
    expect(await rig.simulator.counters().collapsed, is: 90)
    // The new text goes to exactly those tokens and replaces the story.
    let second = try RequestLine.read(folder.path("requests")).dropFirst(before)
    expect(second.allSatisfy { $0.body.contains("Correction: it did not happen.") })
    expect(Set(second.map(\.token)), is: Set(reached.map { APNsService().text(of: $0) }))
  }
}
