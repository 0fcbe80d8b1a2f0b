import APNs
import APNsSimulator
import CampaignStore
import PushCore
import PushTransport
import PushWorker
import TestKit
import TestSupport
import Testing

/// Campaigns with a limit. The limit holds for the whole fleet, even if workers die.
struct LimitRunTests {
  @Test(arguments: PushEngineKind.one(for: "fleetSendsToTheMostRecentlySeenUsersOfTheLimit"))
  func fleetSendsToTheMostRecentlySeenUsersOfTheLimit(engine: PushEngineKind) async throws {
    let rig = try await WorkerRig(engine: engine, partitions: 16)
    let now = try await rig.store.time() / 1000
    var registrations: [DeviceRegistration] = []
    var devices: [SimulatedDevice] = []
    for number in 0..<600 {
      var record = DeviceRecord(token: WorkerRig.token(number), service: "apns")
      // Each device was seen longer ago than the one before, by more than the resolution of the ranking.
      record.lastSeen = UInt64(Double(now) - 60_000 * pow(1.01, number))
      registrations.append(DeviceRegistration(user: "u\(number)", device: record))
      devices.append(
        SimulatedDevice(token: WorkerRig.token(number), state: .registered, topic: WorkerRig.topic, timestamp: 2000))
    }
    try await rig.store.registry.register(registrations)
    rig.simulator.load(devices)
    try await rig.submit("best", audience: #"{"segment":"*","limit":150}"#)
    try await rig.submit("few", audience: #"{"users":["u1","u9","u3","nobody"],"limit":2}"#)
    // Another worker has counted a slice, and died while it held another.
    let job = try #require(try await rig.store.queue.awaitJob(worker: "dead", seconds: 1, now: 1))
    let campaign = try CampaignJob.parse(job, .known(["news": [APNsService(AppTraits(topic: WorkerRig.topic))]]))
    _ = try await rig.store.queue.activate(campaign, job: job, worker: "dead")
    let filter = DeviceFilter(campaign, service: APNsService(), environment: "production", start: now)
    let slices = try await rig.store.slices.dequeueSlices(worker: "dead", atMost: { _ in 2 })
    expect(try await rig.store.expansion.quotas(for: slices[0], of: campaign, filter: filter), is: nil)
    async let first: Void = rig.worker("a").run()
    async let second: Void = rig.worker("b").run()
    _ = try await (first, second)
    expect(Set(try await rig.results("best").map(\.user)), is: Set((0..<150).map { "u\($0)" }))
    expect(try await rig.store.campaigns.show("best")?.counters.outcomes, is: [.accepted: 150])
    expect(Set(try await rig.results("few").map(\.user)), is: ["u1", "u3"])
    expect(await rig.simulator.counters().accepted, is: 152)
  }

  private func pow(_ base: Double, _ exponent: Int) -> Double { (0..<exponent).reduce(1) { power, _ in power * base } }
}
