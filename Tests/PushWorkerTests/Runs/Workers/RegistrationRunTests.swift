import APNs
import APNsSimulator
import CampaignStore
import Foundation
import PushCore
import PushTransport
import PushWorker
import Redis
import TestKit
import TestSupport
import Testing

/// Workers that apply registration events of producers.
struct RegistrationRunTests {
  @Test(arguments: PushEngineKind.one(for: "oneWorkerAppliesEventsAndBadOnesAreDead"))
  func oneWorkerAppliesEventsAndBadOnesAreDead(engine: PushEngineKind) async throws {
    let rig = try await WorkerRig(engine: engine)
    let log = EventLog()
    // The device is stored without its time zone, and the event is on the dead list for an operator to repair.
    let zoneless =
      #"{"op":"register","user":"zoneless","token":"\#(WorkerRig.text(9999))","app":"news","locale":"de","timezone":"PST"}"#
    let workers = ["a", "b", "c"].map { rig.worker($0, drains: false, log: log) }
    try await withThrowingTaskGroup { group in
      for worker in workers { group.addTask { try await worker.run() } }
      // There is more than one page, with every kind of event.
      var events: [String] = []
      for number in 0..<2500 {
        events.append(
          #"{"op":"register","user":"u\#(number)","token":"\#(WorkerRig.text(number))","app":"news","plan":"free"}"#)
      }
      events.append("nonsense")
      events.append(zoneless)
      events.append(#"{"op":"login","user":"ada","token":"\#(WorkerRig.text(7))"}"#)
      events.append(#"{"op":"unregister","token":"\#(WorkerRig.text(8))"}"#)
      events.append(#"{"op":"logout","user":"u10","token":"\#(WorkerRig.text(9))"}"#)
      events.append(#"{"op":"tag","user":"u11","tags":["vip"]}"#)
      events.append(#"{"op":"attribute","user":"u11","plan":"gold"}"#)
      events.append(#"{"op":"preference","user":"u12","app":"news","allowed":false}"#)
      try await rig.push(events: events)
      try await rig.submit("story", audience: #"{"users":["u1","u2"]}"#)
      try await rig.until { try await rig.store.campaigns.show("story")?.state.isFinal == true }
      try await rig.command("LPUSH", "receipts", #"{"event":"opened","campaign":"story","user":"u1"}"#)
      try await rig.until { try await rig.store.registry.events(on: .receipts).events.isEmpty }
      for worker in workers { await worker.stop() }
      try await group.waitForAll()
    }
    expect(try await rig.store.registry.user("ada")?.devices.map(\.token), is: [WorkerRig.token(7)])
    expect(try await rig.store.registry.user("ada")?.devices.first?.app, is: "news")
    for user in ["u7", "u8"] { expect(try await rig.store.registry.user(user) == nil) }
    expect(try await rig.store.registry.user("u9")?.devices.count, is: 1)
    expect(try await rig.store.registry.user("u11")?.attributes, is: Array(#"{"plan":"gold"}"#.utf8))
    expect(try await rig.store.audiences.lists(of: "u11").segments, is: ["vip"])
    expect(try await rig.store.audiences.lists(of: "u12").suppression, is: [SuppressionList(app: "news")])
    expect(try await rig.store.registry.user("u2499")?.devices.count, is: 1)
    let story = try #require(try await rig.store.campaigns.find("story"))
    expect(story.counters.targets, is: 2, "the campaign started before its events were applied")
    expect(try await rig.store.results.receipts(of: story), is: [.delivered: 0, .opened: 1, .dismissed: 0])
    var dead: [DeadJob] = []
    try await rig.store.queue.forEachDeadJob { dead.append($0) }
    let deadEvents = dead.map { String(decoding: $0.job, as: UTF8.self) }.sorted { $0.count < $1.count }
    expect(deadEvents, is: ["nonsense", zoneless])
    expect(dead.allSatisfy { $0.list == .registrations } && dead.contains { $0.reason.contains("abbreviation") })
    let device = try #require(try await rig.store.registry.user("zoneless")?.devices.first)
    expect(device.timezone == "" && device.locale == "de")
    expect(log.all.filter { $0.contains("eventsRefused") }.count, is: 1, "\(log.all)")
  }

  /// The events stay on the list until they are applied. If the maintenance leader dies in between, this costs the time
  /// until the next leader takes over, and loses no user.
  @Test func campaignWaitsForEventsOfADeadLeader() async throws {
    let rig = try await WorkerRig(engine: .native)
    let log = EventLog()
    try await rig.push(events: [
      #"{"op":"register","user":"ada","token":"\#(WorkerRig.text(1))","app":"news"}"#,
      #"{"op":"tag","user":"ada","tags":["vip"]}"#,
    ])
    try await rig.command("SET", "housekeeper", "dead 0123456789abcdef", "PX", "700")
    rig.simulator.load([SimulatedDevice(token: WorkerRig.token(1), topic: WorkerRig.topic)])
    try await rig.push(
      raw: #"{"id":"everybody","app":"news","audience":{"segment":"*"},"apns":{"payload":{"aps":{"alert":"hi"}}}}"#)
    try await rig.push(
      raw: #"{"id":"ada","app":"news","audience":{"users":["ada"]},"apns":{"payload":{"aps":{"alert":"hi"}}}}"#)
    try await rig.worker("a", log: log).run()
    for id in ["everybody", "ada"] {
      expect(try await rig.store.campaigns.find(id)?.counters.outcomes, is: [.accepted: 1], "\(log.all)")
    }
    expect(!log.all.contains { $0.contains("eventsNotApplied") })
  }

  /// A worker that skipped the campaign checks it again when the wait is over. It logs the number of remaining events.
  @Test func workerLogsThatACampaignBeginsBeforeItsEvents() async throws {
    let rig = try await WorkerRig(engine: .native, users: 1)
    try await rig.submit("a", audience: #"{"users":["u0"]}"#)
    let job = try #require(try await rig.store.queue.awaitJob(worker: "other", seconds: 1, now: 1))
    let campaign = try CampaignJob.parse(job, .known(["news": [APNsService(AppTraits(topic: WorkerRig.topic))]]))
    _ = try await rig.store.queue.activate(campaign, job: job, worker: "other")
    // The maintenance leader is suspended: it is connected, and applies no events.
    try await rig.push(events: [#"{"op":"tag","user":"ada","tags":["vip"]}"#])
    try await rig.command("SET", "housekeeper", "other 0123456789abcdef", "PX", "600000")
    let presence = rig.keys.home + "presence:other:0123456789abcdef"
    let housekeeper = try await ChildProcess.start(
      "redis-cli", ["-u", RedisServer.shared.url, "subscribe", presence])
    expect(await housekeeper.line(containing: presence) != nil)
    let log = EventLog()
    let worker = rig.worker("a", drains: false, log: log)
    try await withThrowingTaskGroup { group in
      let deadline = try await rig.store.time() / 1000 + 300
      try await rig.command("HSET", "campaign:a", "awaits", "1 \(deadline)")
      group.addTask { try await worker.run() }
      try await rig.until { try await rig.store.campaigns.show("a")?.state.isFinal == true }
      await worker.stop()
      try await group.waitForAll()
    }
    housekeeper.send(signal: SIGKILL)
    expect(
      log.all.filter { $0.contains("eventsNotApplied") }, is: [#"eventsNotApplied(campaign: "a", events: 1)"#],
      "\(log.all)")
  }
}
