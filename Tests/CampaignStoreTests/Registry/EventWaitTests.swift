@testable import CampaignStore
import APNs
import PushCore
import Redis
import TestKit
import TestSupport
import Testing

/// The wait of a campaign for registration events. A campaign begins to expand when the events that were queued before
/// it are applied.
struct EventWaitTests {
  private static let audiences = [#"{"segment":"*"}"#, #"{"users":["u1"]}"#]

  /// A store with events on the list, and a maintenance leader.
  private struct Scene {
    let world: TestStore
    let instance: WorkerInstance

    init(on backend: Backend = .cluster, events: Int, server: RedisServer? = nil) async throws {
      world = try await TestStore(on: backend, partitions: 2, server: server)
      var chance = SystemRandomNumberGenerator()
      instance = WorkerInstance(name: "a", using: &chance)
      try await push(events)
    }

    func push(_ events: Int) async throws {
      for number in 0..<events { try await world.command("LPUSH", world.keys.events(.registrations), "e\(number)") }
    }

    /// Takes the oldest events off the list, as a maintenance leader does after it has applied them.
    func takeOff(_ count: Int) async throws {
      try await world.lead(as: instance)
      var page = try await world.store.registry.events(on: .registrations)
      page.events = Array(page.events.prefix(count))
      expect(try await world.store.registry.takeOff(page, .registrations, dead: [], as: instance))
    }

    func dequeue() async throws -> (slices: [SliceReference], waits: [EventWait]) {
      var waits: [EventWait] = []
      let slices = try await world.store.slices.dequeueSlices(worker: "a", report: { waits.append($0) })
      return (slices, waits)
    }

    func activate(_ id: String, _ audience: String, _ more: String = "") async throws {
      let job = TestStore.job(id, audience: audience, more)
      let campaign = try CampaignJob.parse(job, .any([APNsService()]))
      expect(try await world.store.queue.activate(campaign, job: job, worker: "a"), is: .new)
    }
  }

  @Test(arguments: Backend.allCases, audiences)
  func slicesWaitForTheEventsBeforeTheirCampaign(on backend: Backend, audience: String) async throws {
    let scene = try await Scene(on: backend, events: 3)
    try await scene.activate("c", audience)
    var answer = try await scene.dequeue()
    guard case .waits("c", let milliseconds)? = answer.waits.first else { throw TestSupportError("\(answer)") }
    expect(answer.slices.isEmpty && (1...EventWait.longest).contains(milliseconds))
    // The campaign does not wait for later events.
    try await scene.push(2)
    try await scene.takeOff(2)
    answer = try await scene.dequeue()
    expect(answer.slices.isEmpty && answer.waits.count == 1)
    try await scene.takeOff(1)
    answer = try await scene.dequeue()
    expect(answer.slices.map(\.campaign) == ["c"] && answer.waits.isEmpty)
    // The other slices are handed out, whatever is on the list by then.
    try await scene.push(1)
    expect(try await scene.dequeue().waits.isEmpty)
    expect(try await scene.world.store.campaigns.find("c")?.placement.eventsNotApplied, is: 0)
    expect(try await scene.world.command("HEXISTS", scene.world.keys.housekeeping, "awaited").integer, is: 0)
  }

  @Test func campaignBeginsWithoutTheEventsAfterATimeout() async throws {
    let scene = try await Scene(events: 3)
    try await scene.activate("c", #"{"users":["u1"]}"#)
    expect(try await scene.dequeue().slices.isEmpty)
    try await scene.takeOff(1)
    // The wait has timed out.
    try await scene.world.command("HSET", scene.world.keys.campaign("c"), "awaits", "3 1")
    let answer = try await scene.dequeue()
    expect(answer.slices.map(\.campaign) == ["c"] && answer.waits == [.expired(campaign: "c", events: 2)])
    expect(try await scene.dequeue().waits.isEmpty)
    expect(try await scene.world.store.campaigns.find("c")?.placement.eventsNotApplied, is: 2)
  }

  /// A suspended maintenance leader continues and tries to take off a page that another one has taken off already.
  @Test func pageIsTakenOffOnce() async throws {
    let scene = try await Scene(events: 3)
    try await scene.world.lead(as: scene.instance)
    var page = try await scene.world.store.registry.events(on: .registrations)
    page.events = Array(page.events.prefix(1))
    for isFirst in [true, false] {
      expect(
        try await scene.world.store.registry.takeOff(page, .registrations, dead: [], as: scene.instance), is: isFirst)
      expect(try await scene.world.store.registry.events(on: .registrations).events.count, is: 2)
    }
  }

  /// The campaign wakes the maintenance leader once, and the leader applies the events. Each page that leaves the list
  /// wakes the workers.
  @Test func waitWakesTheLeaderAndItsEndWakesWorkers() async throws {
    let server = try await RedisServer.start()
    let scene = try await Scene(on: .single, events: 2, server: server)
    try await scene.activate("c", #"{"users":["u1"]}"#)
    func messages(_ body: () async throws -> Void) async throws -> Int {
      func count() async throws -> Int {
        let line = try await scene.world.command("INFO", "commandstats").string?.split(whereSeparator: \.isNewline)
          .first { $0.hasPrefix("cmdstat_publish:calls=") }
        return line.flatMap { Int($0.drop { $0 != "=" }.dropFirst().prefix { $0 != "," }) } ?? 0
      }
      let before = try await count()
      try await body()
      return try await count() - before
    }
    expect(try await messages { _ = try await scene.dequeue() }, is: 1)
    expect(try await messages { _ = try await scene.dequeue() }, is: 0)
    try await scene.world.lead(as: scene.instance)
    for isAwaited in [true, true, false] {
      if !isAwaited { try await scene.push(1) }
      var page = try await scene.world.store.registry.events(on: .registrations)
      page.events = Array(page.events.prefix(1))
      let sent = try await messages {
        _ = try await scene.world.store.registry.takeOff(page, .registrations, dead: [], as: scene.instance)
      }
      expect(sent, is: isAwaited ? 1 : 0)
    }
    await scene.world.redis.close()
    await server.stop()
  }

  @Test func otherCampaignsContinueDuringTheWait() async throws {
    let scene = try await Scene(events: 0)
    try await scene.activate("running", #"{"users":["u1"]}"#)
    expect(try await scene.dequeue().slices.count, is: 1)
    try await scene.activate("before", #"{"users":["u1","u2","u3","u4","u5"]}"#)
    expect(try await scene.dequeue().slices.map(\.campaign), is: ["before"])
    try await scene.push(1)
    try await scene.activate("c", #"{"users":["u1"]}"#)
    // Raw tokens depend on no event.
    try await scene.activate("raw", #"{"tokens":["\#(TestStore.text(1))"]}"#)
    var campaigns: [String] = []
    while case let answer = try await scene.dequeue(), let slice = answer.slices.first {
      campaigns.append(slice.campaign)
    }
    expect(Set(campaigns), is: ["before", "raw"])
    try await scene.world.command("DEL", scene.world.keys.events(.registrations))
    expect(try await scene.dequeue().slices.map(\.campaign), is: ["c"])
  }

  @Test func eachStageWaitsWhenItBegins() async throws {
    let scene = try await Scene(events: 0)
    try await scene.activate("c", #"{"segment":"*"}"#, #","stages":[{"users":["u1"],"wait":"1m"}]"#)
    for id in try #require(try await scene.world.store.campaigns.find("c")).staging.partIDs {
      let field = try await scene.world.command("HGET", scene.world.keys.campaign(id), "awaits")
      expect(field.string, is: "registrations", "\(id)")
    }
  }

  @Test func damagedListDelaysNoCampaign() async throws {
    let scene = try await Scene(events: 0)
    try await scene.world.command("SET", scene.world.keys.events(.registrations), "no list")
    try await scene.activate("c", #"{"users":["u1"]}"#)
    expect(try await scene.dequeue().slices.map(\.campaign), is: ["c"])
  }
}
