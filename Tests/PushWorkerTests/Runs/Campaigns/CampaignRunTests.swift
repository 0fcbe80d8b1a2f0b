import PushTransport
import APNs
import APNsSimulator
import CampaignStore
import PushCore
import PushWorker
import TestKit
import TestSupport
import Testing

/// Whole campaigns with a real Redis, TLS and HTTP/2.
@Suite struct CampaignRunTests {
  @Test(arguments: PushEngineKind.one(for: "campaignEndsWithOneOutcomeForEveryTarget"))
  func campaignEndsWithOneOutcomeForEveryTarget(engine: PushEngineKind) async throws {
    let rig = try await WorkerRig(engine: engine)
    try await rig.register(700) { $0 % 10 == 3 ? .unregistered : $0 % 50 == 7 ? .bad : .registered }
    try await rig.submit("news-1")
    let log = EventLog()
    // With a window of 100 the guard checks the latest 50 to 100 answers. Six of them may be bad by chance.
    try await rig.worker("w1", guard: GuardPolicy(threshold: 0.5), log: log).run()
    let record = try #require(try await rig.store.campaigns.show("news-1"))
    expect(record.state, is: .completed, "\(log.all)")
    expect(record.counters.targets, is: 700)
    expect(record.counters.outcomes, is: [.accepted: 616, .unregistered: 70, .badToken: 14])
    expect(record.counters.pruned, is: 70)
    expect(record.counters.quarantined, is: 14)
    expect(record.pending, is: 0)
    let counters = await rig.simulator.counters()
    expect(counters.accepted, is: 616)
    expect(counters.duplicatesReceived, is: 0)
    let results = try await rig.results("news-1")
    expect(results.count, is: 700)
    expect(results.allSatisfy { $0.outcome != nil })
  }
}
