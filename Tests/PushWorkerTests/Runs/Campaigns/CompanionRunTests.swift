import PushTransport
import APNs
import APNsSimulator
import CampaignStore
import PushCore
import PushWorker
import TestKit
import TestSupport
import Testing

/// An alert with a companion that refreshes the widgets of its recipients.
@Suite struct CompanionRunTests {
  private static let fans = 120
  private static let also = #","also":["widgets"]"#

  /// Returns a rig with fans; every second fan also has a widget.
  private func rig(_ engine: PushEngineKind, log: String) async throws -> WorkerRig {
    var rig = try await WorkerRig(engine: engine, partitions: 8) {
      $0.log = log
      $0.logsBodies = true
    }
    rig.channel.caps = [FrequencyCap(most: 1, seconds: 86_400)]
    try await rig.register(Self.fans)
    let widgets = (0..<Self.fans / 2).map { (user: 2 * $0, token: WorkerRig.token(1000 + $0)) }
    try await rig.store.registry.register(
      widgets.map { widget in
        var record = DeviceRecord(token: widget.token, service: "apns")
        record.app = "news"
        record.kind = .widgets
        return DeviceRegistration(user: "u\(widget.user)", device: record)
      })
    rig.simulator.load(
      widgets.map {
        SimulatedDevice(token: $0.token, state: .registered, topic: "\(WorkerRig.topic).push-type.widgets")
      })
    return rig
  }

  /// Caps apply to the alert only. The companion is neither capped nor counted.
  @Test(arguments: PushEngineKind.one(for: "widgetsOfTheRecipientsAreRefreshed"))
  func widgetsOfTheRecipientsAreRefreshed(engine: PushEngineKind) async throws {
    let folder = try ScratchFolder()
    let rig = try await rig(engine, log: folder.path("requests"))
    try await rig.submit("goal", Self.also, audience: #"{"segment":"*","sample":0.5}"#)
    async let other: Void = rig.worker("other").run()
    try await rig.worker("one").run()
    try await other
    let (alerts, widgets) = (try await rig.results("goal"), try await rig.results("goal~main.widgets"))
    expect((alerts + widgets).allSatisfy { $0.outcome == .accepted })
    let reached = Set(alerts.map(\.user))
    expect(reached.count == alerts.count && (30...90).contains(alerts.count), "\(alerts.count)")
    // The companion reaches the users of the same sample who have a widget.
    expect(Set(widgets.map(\.user)), is: reached.filter { Int($0.dropFirst()).map { $0 % 2 == 0 } ?? false })
    let counters = await rig.simulator.counters()
    expect(counters.accepted == alerts.count + widgets.count && counters.duplicatesReceived == 0)
    let bodies = try RequestLine.read(folder.path("requests")).map(\.body)
    expect(bodies.count { $0 == #"{"aps":{"content-changed":true}}"# }, is: widgets.count)
    // A user who got the alert has reached the cap, but still gets the companion, which shows nothing.
    try await rig.submit("again", Self.also)
    try await rig.worker("w").run()
    let again = try #require(try await rig.store.campaigns.show("again"))
    expect(again.counters.outcomes, is: [.accepted: Self.fans - alerts.count, .capped: alerts.count])
    expect(try await rig.store.campaigns.show("again~main.widgets")?.counters.outcomes, is: [.accepted: Self.fans / 2])
  }

  /// A cancel of the story also cancels its companion, in any state.
  @Test(arguments: PushEngineKind.one(for: "cancelStopsBoth"))
  func cancelStopsBoth(engine: PushEngineKind) async throws {
    let folder = try ScratchFolder()
    let rig = try await rig(engine, log: folder.path("requests"))
    try await rig.submit("story", #","rate":20,"lane":"urgent""# + Self.also)
    // The companion has few targets and ends soon, so the test cancels the story as soon as the companion exists.
    let worker = rig.worker("w", window: 10, drains: false)
    async let running: Void = worker.run()
    try await rig.until { try await rig.store.campaigns.find("story~main.widgets") != nil }
    let (state, unconfirmed) = try await rig.store.campaigns.controlEverywhere("story", .cancel, lease: 6000)
    expect(state == .cancelled && unconfirmed.isEmpty)
    try await rig.until {
      for id in ["story", "story~main.widgets"] {
        guard try await rig.store.campaigns.show(id)?.times.finishedAt != nil else { return false }
      }
      return true
    }
    await worker.stop()
    try await running
    let received = await rig.simulator.counters().received
    var accepted = 0
    for id in ["story", "story~main.widgets"] {
      let record = try #require(try await rig.store.campaigns.show(id))
      expect(record.pending, is: 0)
      accepted += record.counters.outcomes[.accepted] ?? 0
      // A companion that was already completed has ended.
      expect(record.state == .cancelled || id == "story~main.widgets")
    }
    expect(accepted == received && received < Self.fans + Self.fans / 2)
  }
}
