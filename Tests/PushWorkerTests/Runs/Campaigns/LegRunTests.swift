import APNs
import APNsSimulator
import CampaignStore
import Foundation
import PushCore
import PushTransport
import PushWorker
import TestKit
import TestPushService
import TestSupport
import Testing

/// Whole campaigns with legs for two push services: real workers, Redis, TLS, and a server of each service.
@Suite(.timeLimit(.minutes(6)), .takesTurns)
struct LegRunTests {
  /// A rig whose app uses a second push service.
  private struct LegRig {
    var rig: WorkerRig
    let server: TextServer

    init(users: Int, partitions: Int = 8) async throws {
      rig = try await WorkerRig(engine: .native, partitions: partitions, others: [TextService()])
      let text = try await TextServer.start(in: rig.folder)
      server = text.server
      rig.channel.services.append(text.channel)
      // Every third user has only a device of APNs, every third only one of the other service.
      try await rig.register(users)
      let without = (0..<users).filter { $0 % 3 == 1 }.compactMap { DeviceToken(bytes: WorkerRig.token($0)) }
      _ = try await rig.store.registry.unregister(without, of: APNsService(), at: 2000)
      try await rig.store.registry.register(
        (0..<users).filter { $0 % 3 != 0 }.map { number in
          var device = DeviceRecord(token: Array("t:\(number)".utf8), service: "text")
          device.app = "news"
          device.registeredAt = 1000
          return DeviceRegistration(user: "u\(number)", device: device)
        })
    }

    /// Submits a campaign to all users.
    func submit(_ id: String, _ fields: String = "") async throws {
      try await rig.submit(id, fields, content: #""message":{"body":"Hi"}"#)
    }
  }

  @Test func oneJobReachesTheDevicesOfBothServices() async throws {
    let legs = try await LegRig(users: 600)
    try await legs.submit("both")
    let log = EventLog()
    try await legs.rig.worker("w", log: log).run()
    let record = try #require(try await legs.rig.store.campaigns.show("both"))
    expect(record.state, is: .completed, "\(log.all)")
    expect(record.counters.outcomes, is: [.accepted: 800])
    expect(record.parts.map(\.id), is: ["both~main-apns", "both~main-text"])
    expect(record.parts.map { $0.counters.outcomes[.accepted] }, is: [400, 400])
    expect(record.counters.audience.users, is: 600, "a user counts once")
    let accepted = await legs.server.book.accepted
    expect(accepted.count == 400 && Set(accepted).count == 400)
    await legs.server.stop()
  }

  @Test func workersShareTheLegsOfManyPartitions() async throws {
    let legs = try await LegRig(users: 3000, partitions: 64)
    try await legs.submit("many")
    let log = EventLog()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for name in ["a", "b", "c"] {
        let worker = legs.rig.worker(name, log: log)
        group.addTask { try await worker.run() }
      }
      try await group.waitForAll()
    }
    let record = try #require(try await legs.rig.store.campaigns.show("many"))
    expect(record.state == .completed && record.counters.outcomes == [.accepted: 4000], "\(log.all.suffix(20))")
    let accepted = await legs.server.book.accepted
    expect(accepted.count == 2000 && Set(accepted).count == 2000)
    await legs.server.stop()
  }

  @Test func deadServiceHoldsNothingOfTheOtherLeg() async throws {
    let legs = try await LegRig(users: 300)
    await legs.server.stop()
    try await legs.submit("half")
    let log = EventLog()
    let worker = legs.rig.worker("w", drains: false, log: log)
    let run = Task { try await worker.run() }
    // The leg of APNs ends as if it were alone.
    try await legs.rig.until { try await legs.rig.store.campaigns.find("half~main-apns")?.state == .completed }
    let leg = try await legs.rig.store.campaigns.show("half~main-apns")
    expect(leg?.counters.outcomes, is: [.accepted: 200])
    let whole = try #require(try await legs.rig.store.campaigns.show("half"))
    expect(whole.state == .active && whole.pending == 200)
    await worker.stop()
    try await run.value
  }

  @Test func refusedLegPausesAloneAndContinuesAfterAResume() async throws {
    let legs = try await LegRig(users: 300)
    await legs.server.change { book in for number in 0..<300 { book.refusals["t:\(number)"] = .unfit } }
    try await legs.submit("refused")
    let log = EventLog()
    let worker = legs.rig.worker("w", drains: false, log: log)
    let run = Task { try await worker.run() }
    let campaigns = legs.rig.store.campaigns
    // The leg of APNs ends as if it were alone, and then only the paused leg is left.
    try await legs.rig.until { try await campaigns.find("refused")?.state == .paused }
    let record = try #require(try await campaigns.show("refused"))
    expect(record.parts.map(\.state), is: [.completed, .paused], "\(log.all)")
    expect(record.parts[0].counters.outcomes, is: [.accepted: 200])
    expect(record.pausedItself && record.reason?.contains("the text service refuses every push") == true)
    expect(record.parts[1].reason, is: record.reason)
    await legs.server.change { $0.refusals = [:] }
    expect(try await campaigns.resume("refused", unguarded: false, by: "ada", service: "text").state, is: .active)
    try await legs.rig.until { try await campaigns.find("refused")?.state == .completed }
    await worker.stop()
    try await run.value
    let outcomes = try #require(try await campaigns.show("refused")).counters.outcomes
    // The pushes that were refused before the pause are sent again.
    expect(outcomes, is: [.accepted: 400], "\(log.all)")
    expect(Set(await legs.server.book.accepted).count, is: 200)
    await legs.server.stop()
  }

  @Test func gateDoesNotWaitForAPausedLeg() async throws {
    let legs = try await LegRig(users: 300)
    await legs.server.change { book in for number in 0..<300 { book.refusals["t:\(number)"] = .unfit } }
    try await legs.submit("staged", #","stages":[{"share":0.5,"maxFailures":0.2}]"#)
    let log = EventLog()
    let worker = legs.rig.worker("w", drains: false, log: log)
    let run = Task { try await worker.run() }
    let campaigns = legs.rig.store.campaigns
    try await legs.rig.until { try await campaigns.find("staged~rest-apns")?.state == .completed }
    try await legs.rig.until { try await campaigns.find("staged")?.state == .paused }
    let record = try #require(try await campaigns.show("staged"))
    expect(record.parts.map(\.id), is: ["staged~1-apns", "staged~1-text", "staged~rest-apns", "staged~rest-text"])
    expect(record.parts.map(\.state), is: [.completed, .paused, .completed, .paused], "\(log.all)")
    await legs.server.change { $0.refusals = [:] }
    _ = try await campaigns.resume("staged", unguarded: false, by: "ada")
    try await legs.rig.until { try await campaigns.find("staged")?.state == .completed }
    await worker.stop()
    try await run.value
    expect(try await campaigns.show("staged")?.counters.outcomes, is: [.accepted: 400], "\(log.all)")
    await legs.server.stop()
  }
}
