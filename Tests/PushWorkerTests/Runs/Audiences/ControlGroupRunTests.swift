import APNs
import APNsSimulator
import CampaignStore
import PushCore
import PushTransport
import PushWorker
import TestKit
import TestSupport
import Testing

/// Control groups. No worker sends to their users.
struct ControlGroupRunTests {
  @Test(arguments: PushEngineKind.one(for: "controlGroupsGetNothingAndAreCounted"))
  func controlGroupsGetNothingAndAreCounted(engine: PushEngineKind) async throws {
    var made = try await WorkerRig(engine: engine, partitions: 16)
    made.channel.control = 0.3
    let rig = made
    try await rig.register(500)
    try await rig.submit("story", #","control":0.2"#)
    try await rig.submit("offer", #","control":0.2"#)
    try await rig.submit("receipt", #","transactional":true"#)
    async let first: Void = rig.worker("a").run()
    async let second: Void = rig.worker("b").run()
    _ = try await (first, second)
    var control: [String: Set<String>] = [:]
    for id in ["story", "offer", "receipt"] {
      try await rig.store.expansion.forEachControlUser(of: id) { control[id, default: []].formUnion($0) }
      let reached = Set(try await rig.results(id).map(\.user))
      let counters = try #require(try await rig.store.campaigns.show(id)?.counters)
      expect(reached.isDisjoint(with: control[id] ?? []) && reached.union(control[id] ?? []).count == 500, "\(id)")
      expect(counters.control == control[id]?.count ?? 0 && counters.outcomes == [.accepted: reached.count], "\(id)")
    }
    let (story, offer) = (try #require(control["story"]), try #require(control["offer"]))
    // Each group has 0.44 of 500 users, and 0.328 are in both. The tolerance is five standard deviations.
    expect(abs(story.count - 220) < 56 && abs(offer.count - 220) < 56)
    expect(abs(story.intersection(offer).count - 164) < 53 && story != offer && control["receipt"] == nil)
    expect(await rig.simulator.counters().accepted, is: 1500 - story.count - offer.count)
  }
}
