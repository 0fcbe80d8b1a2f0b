import PushTransport
import APNs
import APNsSimulator
import CampaignStore
import PushCore
import PushWorker
import TestKit
import TestSupport
import Testing

/// Pushes that use the connection for suspects.
@Suite(.timeLimit(.minutes(6))) struct UnprovenRunTests {
  @Test(arguments: PushEngineKind.one(for: "listedTokensHaveAConnectionOfTheirOwn"))
  func listedTokensHaveAConnectionOfTheirOwn(engine: PushEngineKind) async throws {
    let folder = try ScratchFolder()
    let log = try folder.write("requests.log", "")
    let rig = try await WorkerRig(engine: engine, partitions: 2) { $0.log = log }
    try await rig.register(60)
    let listed = (100..<130).map { WorkerRig.text($0) }
    try await rig.submit("listed", audience: #"{"tokens":[\#(listed.map { "\"\($0)\"" }.joined(separator: ","))]}"#)
    try await rig.submit("registered")
    try await rig.worker("w").run()
    expect(try await rig.store.campaigns.show("listed")?.counters.outcomes, is: [.accepted: 30])
    expect(try await rig.store.campaigns.show("registered")?.counters.outcomes, is: [.accepted: 60])
    let requests = try RequestLine.read(log)
    let suspects = Set(requests.filter { listed.contains($0.token) }.map(\.connection))
    let others = Set(requests.filter { !listed.contains($0.token) }.map(\.connection))
    expect(suspects.count, is: 1)
    expect(suspects.isDisjoint(with: others))
  }

  @Test(arguments: PushEngineKind.one(for: "recentlyRejectedTokensUseThatConnection"))
  func recentlyRejectedTokensUseThatConnection(engine: PushEngineKind) async throws {
    let folder = try ScratchFolder()
    let log = try folder.write("requests.log", "")
    let rig = try await WorkerRig(engine: engine, partitions: 2) { $0.log = log }
    // The tokens are bad at first, so the worker records them. The guard holds bad answers back only until it has its
    // minimum of 20 answers.
    try await rig.register(40) { $0 < 4 ? .bad : .registered }
    let worker = rig.worker("w", guard: GuardPolicy(threshold: 0.5, minimum: 20), drains: false)
    async let running: Void = worker.run()
    try await rig.submit("first")
    try await rig.until { try await rig.store.campaigns.show("first")?.state == .completed }
    // The tokens are good now, and an operator releases them.
    try await rig.register(40)
    try await rig.store.results.forEachQuarantined {
      _ = try await rig.store.results.release($0)
      return true
    }
    let before = try RequestLine.read(log)
    try await rig.submit("second")
    try await rig.until { try await rig.store.campaigns.show("second")?.state == .completed }
    await worker.stop()
    try await running
    let bad = Set((0..<4).map { WorkerRig.text($0) })
    let second = try RequestLine.read(log).dropFirst(before.count)
    expect(second.count, is: 40)
    let suspects = Set(second.filter { bad.contains($0.token) }.map(\.connection))
    let others = Set(second.filter { !bad.contains($0.token) }.map(\.connection))
    expect(suspects.count, is: 1)
    expect(suspects.isDisjoint(with: others))
    expect(Set(before.map(\.connection)).isDisjoint(with: suspects))
  }
}
