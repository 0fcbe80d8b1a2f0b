import APNs
import APNsSimulator
import CampaignStore
import PushCore
import PushTransport
import PushWorker
import Testing

/// A match whose fans follow it on their lock screens, from the start to the end.
struct LiveActivityRunTests {
  private static func aps(_ event: String) -> String {
    let more = event == "start" ? #","attributes-type":"Match","attributes":{},"alert":{"title":"Kick-off"}"# : ""
    return #"{"aps":{"event":"\#(event)","timestamp":1800000000,"content-state":{"score":"1:0"}\#(more)}}"#
  }

  private func job(_ id: String, _ event: String, audience: String) -> String {
    #"{"id":"\#(id)","app":"news","audience":\#(audience),"pushType":"liveactivity","payload":\#(Self.aps(event))}"#
  }

  @Test(arguments: PushEngineKind.allCases)
  func activityIsStartedUpdatedAndEndedByItsName(engine: PushEngineKind) async throws {
    let rig = try await WorkerRig(engine: engine)
    // Thirty fans who can be sent a start; what a start makes is said by the app, as an event, with a token of its own.
    var devices: [SimulatedDevice] = []
    for number in 0..<60 {
      let topic = "\(WorkerRig.topic).push-type.liveactivity"
      devices.append(SimulatedDevice(token: WorkerRig.token(number), state: .registered, topic: topic))
    }
    rig.simulator.load(devices)
    let worker = rig.worker("w", drains: false)
    async let running: Void = worker.run()
    func say(_ event: String) async throws { try await rig.command("LPUSH", "registrations", event) }
    func register(_ number: Int, user: Int, _ more: String) async throws {
      try await say(
        #"{"op":"register","user":"u\#(user)","token":"\#(WorkerRig.text(number))","app":"news",\#(more)}"#)
    }
    for fan in 0..<30 { try await register(fan, user: fan, #""kind":"liveactivity-start""#) }
    // The first ten have it on their screens already; five of them follow another match too.
    for fan in 0..<10 { try await register(30 + fan, user: fan, #""kind":"liveactivity","activity":"match-17""#) }
    for fan in 0..<5 { try await register(40 + fan, user: fan, #""kind":"liveactivity","activity":"match-18""#) }
    try await rig.until { try await rig.store.events(on: .registrations).isEmpty }

    try await rig.push(
      raw: job("start", "start", audience: #"{"segment":"*","exclude":{"activity":"match-17"}}"#))
    try await rig.until { try await rig.store.show("start")?.state == .completed }
    #expect(try await rig.results("start").map(\.user).sorted() == (10..<30).map { "u\($0)" }.sorted())
    for fan in 10..<20 { try await register(40 + fan, user: fan, #""kind":"liveactivity","activity":"match-17""#) }
    try await rig.until { try await rig.store.events(on: .registrations).isEmpty }

    for (id, event) in [("goal", "update"), ("whistle", "end")] {
      try await rig.push(raw: job(id, event, audience: #"{"activity":"match-17"}"#))
      try await rig.until { try await rig.store.show(id)?.state == .completed }
      let results = try await rig.results(id)
      #expect(results.allSatisfy { $0.outcome == .accepted })
      #expect(results.map(\.user).sorted() == (0..<20).map { "u\($0)" }.sorted())
      // None of another activity of theirs.
      let tokens = Set(results.map(\.token.bytes))
      #expect((40..<45).allSatisfy { !tokens.contains(WorkerRig.token($0)) })
    }
    await worker.stop()
    try await running
    #expect(await rig.simulator.counters().accepted == 60)
  }
}
