import PushTransport
import APNs
import APNsSimulator
import CampaignStore
import PushCore
import PushWorker
import TestKit
import TestSupport
import Testing

/// Campaigns with a condition. They reach exactly the matching devices.
struct ConditionRunTests {
  @Test(arguments: PushEngineKind.one(for: "onlyMatchingDevicesAreReached"))
  func onlyMatchingDevicesAreReached(engine: PushEngineKind) async throws {
    let rig = try await WorkerRig(engine: engine)
    var registrations: [DeviceRegistration] = []
    var devices: [SimulatedDevice] = []
    for number in 0..<300 {
      var record = DeviceRecord(token: WorkerRig.token(number), service: "apns")
      record.locale = number % 2 == 0 ? "en-GB" : "de-DE"
      // Every third device was seen an hour ago.
      record.lastSeen = UInt64(try await rig.store.time() / 1000) - (number % 3 == 0 ? 1 : 1000) * 3_600_000
      registrations.append(
        DeviceRegistration(
          user: "u\(number)", device: record, attributes: Array("{\"level\":\(number)}".utf8)))
      devices.append(
        SimulatedDevice(token: WorkerRig.token(number), state: .registered, topic: WorkerRig.topic, timestamp: 2000))
    }
    try await rig.store.registry.register(registrations)
    rig.simulator.load(devices)
    try await rig.submit(
      "a", audience: #"{"segment":"*","where":"locale = 'en' & lastSeen < 7d & level >= 100"}"#)
    try await rig.submit("b", audience: #"{"segment":"*","sample":0.5}"#)
    try await rig.worker("w").run()
    let users = Set(try await rig.results("a").map(\.user))
    expect(users, is: Set((100..<300).filter { $0 % 6 == 0 }.map { "u\($0)" }))
    expect(try await rig.store.campaigns.show("a")?.counters.outcomes, is: [.accepted: users.count])
    let half = try await rig.results("b").count
    // The tolerance is five standard deviations.
    expect(abs(half - 150) < 44)
    expect(await rig.simulator.counters().accepted, is: users.count + half)
  }
}
