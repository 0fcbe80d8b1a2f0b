import APNs
import APNsSimulator
import CampaignStore
import PushCore
import PushTransport
import PushWorker
import TestKit
import TestSupport
import Testing

/// A match that fans follow on their lock screens, from the start to the end.
struct LiveActivityRunTests {
  private static func aps(_ event: String) -> String {
    let more = event == "start" ? #","attributes-type":"Match","attributes":{},"alert":{"title":"Kick-off"}"# : ""
    let date = event == "end" ? #","dismissal-date":"15m""# : #","stale-date":"2h""#
    return #"{"aps":{"event":"\#(event)","content-state":{"score":"1:0"}\#(date)\#(more)}}"#
  }

  private func job(_ id: String, _ event: String, audience: String) -> String {
    #"{"id":"\#(id)","app":"news","audience":\#(audience),"apns":{"payload":\#(Self.aps(event)),"pushType":"liveactivity"}}"#
  }

  @Test(arguments: PushEngineKind.one(for: "activityIsStartedUpdatedAndEndedByItsName"))
  func activityIsStartedUpdatedAndEndedByItsName(engine: PushEngineKind) async throws {
    let folder = try ScratchFolder()
    let rig = try await WorkerRig(engine: engine) {
      $0.log = folder.path("requests")
      $0.logsBodies = true
    }
    // Thirty fans have start tokens. The app reports each started activity as an event with its own token.
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
    // The first ten fans have the activity already. Five of them follow another match too.
    for fan in 0..<10 { try await register(30 + fan, user: fan, #""kind":"liveactivity","activity":"match-17""#) }
    for fan in 0..<5 { try await register(40 + fan, user: fan, #""kind":"liveactivity","activity":"match-18""#) }
    try await rig.until { try await rig.store.registry.events(on: .registrations).events.isEmpty }

    try await rig.push(
      raw: job("start", "start", audience: #"{"segment":"*","exclude":{"activity":"match-17"}}"#))
    try await rig.until { try await rig.store.campaigns.show("start")?.state == .completed }
    expect(try await rig.results("start").map(\.user).sorted(), is: (10..<30).map { "u\($0)" }.sorted())
    for fan in 10..<20 { try await register(40 + fan, user: fan, #""kind":"liveactivity","activity":"match-17""#) }
    try await rig.until { try await rig.store.registry.events(on: .registrations).events.isEmpty }

    for (id, event) in [("goal", "update"), ("whistle", "end")] {
      try await rig.push(raw: job(id, event, audience: #"{"activity":"match-17"}"#))
      try await rig.until { try await rig.store.campaigns.show(id)?.state == .completed }
      let results = try await rig.results(id)
      expect(results.allSatisfy { $0.outcome == .accepted })
      expect(results.map(\.user).sorted(), is: (0..<20).map { "u\($0)" }.sorted())
      // No push goes to another activity of these users.
      let tokens = Set(results.compactMap(\.token?.bytes))
      expect((40..<45).allSatisfy { !tokens.contains(WorkerRig.token($0)) })
    }
    await worker.stop()
    try await running
    expect(await rig.simulator.counters().accepted, is: 60)
    // All targets of a campaign get the same payload, with the dates of the campaign's start.
    let bodies = Set(try RequestLine.read(folder.path("requests")).map(\.body))
    expect(bodies.count, is: 3)
    for (id, event, key, seconds) in [
      ("start", "start", "stale-date", 7200), ("goal", "update", "stale-date", 7200),
      ("whistle", "end", "dismissal-date", 900),
    ] {
      let record = try #require(try await rig.store.campaigns.find(id))
      let body = try #require(bodies.first { $0.contains(#""event":"\#(event)""#) })
      let aps = try #require(try JSONObject(body).object("aps"))
      let sent = try #require(aps.number("timestamp"))
      expect(aps.number(key), is: sent + seconds)
      // The worker read Redis' clock just before it wrote the campaign.
      expect(sent * 1000 <= record.start && record.start < sent * 1000 + 30_000)
    }
  }

  /// The dates follow from the start of the campaign, which a later intake or a failover does not move.
  @Test func datesAreFixedWhenItBegins() async throws {
    let rig = try await WorkerRig(engine: .native, partitions: 2)
    let apps = JobApps.known(["news": [APNsService(AppTraits(topic: WorkerRig.topic))]])
    let job = Array(self.job("goal", "update", audience: #"{"tokens":["\#(WorkerRig.text(1))"]}"#).utf8)
    let campaign = try CampaignJob.parse(job, apps)
    func payload() async throws -> String {
      let (record, job) = try #require(try await rig.store.campaigns.findWithJob("goal"))
      return String(decoding: try record.campaign(job, apps).message.payload, as: UTF8.self)
    }
    expect(try await rig.store.queue.activate(campaign, job: job, worker: "one"), is: .new)
    let start = try #require(try await rig.store.campaigns.find("goal")).start
    let written = try await payload()
    expect(written.contains(#""timestamp":\#(start / 1000)"#))
    // A second worker finds that the job is already written, even at a later time.
    expect(try await rig.store.queue.activate(campaign, job: job, worker: "two"), is: .duplicate)
    expect(try await payload(), is: written)
    // A worker restores the campaign after a failover. The start stays.
    try await rig.command("DEL", "campaign:goal")
    try await rig.command("DEL", "job:goal")
    let early = start - 5_000_000
    expect(
      try await rig.store.queue.activate(campaign, job: job, worker: "one", narrowed: true, restored: early), is: .new)
    expect(try await rig.store.campaigns.find("goal")?.start, is: early)
    let restored = try await payload()
    expect(restored.contains(#""timestamp":\#(early / 1000)"#))
    expect(restored.contains(#""stale-date":\#(early / 1000 + 7200)"#))
  }
}
