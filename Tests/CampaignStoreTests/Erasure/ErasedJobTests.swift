@testable import CampaignStore
import APNs
import PushCore
import Redis
import TestKit
import TestSupport
import Testing

/// Erasure of a user from jobs and events that others wrote. All data about other users stays.
struct ErasedJobTests {
  private static let user = "u7-to-be-erased"
  private static let value = "Zanzibar-7"
  private static let users = #"{"users":[{"user":"\#(user)","vars":{"x":"\#(value)"}},"u1"]}"#
  private static let token = TestStore.text(7)
  private static let tokens = #"{"tokens":["\#(token.uppercased())","\#(TestStore.text(1))"]}"#

  private func world() async throws -> TestStore {
    let world = try await TestStore(on: .single, partitions: 1, streamLength: 100, users: 0..<3)
    try await world.store.registry.register([DeviceRegistration(user: Self.user, device: TestStore.device(7))])
    return world
  }

  private func expectNothing(in world: TestStore) async throws {
    let needles =
      [Self.user, Self.value, Self.token, Self.token.uppercased()].map { Array($0.utf8) } + [TestStore.token(7)]
    for name in try await world.keyNames("{\(world.keys.namespace)*") {
      // A removed entry of a stream stays in the dump until Redis removes its node, but no command returns it.
      let isStream = try await world.command("TYPE", name).string == "stream"
      let reply = try await isStream ? world.command("XRANGE", name, "-", "+") : world.command("DUMP", name)
      let content = Self.bytes(of: reply)
      for needle in needles {
        expect(!content.has(needle), "\(name) has \(StoreDump.plain(needle))")
      }
    }
  }

  private static func bytes(of reply: RedisReply) -> [UInt8] {
    reply.bytes.map { Array($0) } ?? reply.flatMap { bytes(of: $0) + [0] }
  }

  private func take(in job: [UInt8], _ world: TestStore) async throws -> Campaign {
    let kept = try await world.store.erasure.withoutErased(job)
    let campaign = try CampaignJob.parse(kept, .any([APNsService()]))
    expect(
      try await world.store.queue.activate(campaign, job: kept, request: job, original: job, worker: "w"), is: .new)
    return campaign
  }

  @Test func jobsOfCampaignsLoseTheUserAndStayTheSameJobs() async throws {
    let world = try await world()
    for (id, audience) in [("users", Self.users), ("tokens", Self.tokens)] {
      try await world.activate(id, audience: audience)
    }
    let digest = try await world.command("GET", world.keys.job("users")).string
    let forgotten = try await world.store.erasure.erase(Self.user)
    expect(forgotten.campaigns == 2 && forgotten.completeBy == nil)
    try await expectNothing(in: world)
    let job = try #require(try await world.store.campaigns.findWithJob("users")?.job)
    expect(String(decoding: job, as: UTF8.self).contains(#""users":[{"erased":true},"u1"]"#))
    expect(try await world.command("GET", world.keys.job("users")).string, is: digest)
    // The producer sends the same job again. The store recognizes it.
    let again = TestStore.job("users", audience: Self.users)
    let campaign = try CampaignJob.parse(again, .any([APNsService()]))
    expect(try await world.store.queue.submit(again, as: campaign), is: .duplicate)
  }

  /// A job that waits, or that is on a worker's list, does not reach a user who was erased in the meantime.
  @Test(arguments: [users, tokens, #"{"users":["\#(user)"]}"#, #"{"tokens":["\#(token)"]}"#])
  func jobThatWaitsDoesNotReachTheUser(audience: String) async throws {
    let world = try await world()
    let job = TestStore.job("waits", audience: audience)
    try await world.command("LPUSH", world.keys.campaigns, job)
    let forgotten = try await world.store.erasure.erase(Self.user)
    expect(forgotten.completeBy != nil)
    // An erasure does not affect a job that is pushed after it.
    let later = TestStore.job("later", audience: audience)
    expect(try await world.store.erasure.withoutErased(later), is: later)
    expect(try await world.store.erasure.finishErasures(), is: 0)
    try await world.command("LMOVE", world.keys.campaigns, world.keys.intake(worker: "w"), "RIGHT", "LEFT")
    let campaign = try await take(in: job, world)
    expect(try await world.command("LLEN", world.keys.intake(worker: "w")).integer, is: 0)
    expect(try await world.store.erasure.finishErasures(), is: 1)
    try await expectNothing(in: world)
    let (ledger, progress) = try await world.claimed("waits")
    let count = try await world.expand(ledger, campaign, departures: progress.departures)
    expect(count, is: audience.contains(",") ? 1 : 0)
    let known = try CampaignJob.parse(job, .any([APNsService()]))
    expect(try await world.store.queue.submit(job, as: known), is: .duplicate)
  }

  /// A worker takes a job in while the user is erased. The next housekeeping run erases the user from the campaign.
  @Test func campaignOfAJobThatWasJustTakenInIsErasedLater() async throws {
    let world = try await world()
    let job = TestStore.job("waits", audience: Self.tokens)
    try await world.command("LPUSH", world.keys.intake(worker: "w"), job)
    try await world.command("ZADD", world.keys.workers, 1, "w")
    _ = try await world.store.erasure.erase(Self.user)
    let campaign = try CampaignJob.parse(job, .any([APNsService()]))
    expect(try await world.store.queue.activate(campaign, job: job, worker: "w"), is: .new)
    expect(try await world.store.erasure.finishErasures(), is: 1)
    try await expectNothing(in: world)
  }

  @Test func deadJobsLoseTheUserAndKeepTheOthers() async throws {
    let world = try await world()
    let others = TestStore.job("others", audience: Self.users)
    try await world.store.queue.deadLetter(
      others, reason: "payload: for user '\(Self.user)', which is", hint: "", worker: "w")
    try await world.store.queue.deadLetter(
      TestStore.job("alone", audience: #"{"users":["\#(Self.user)"]}"#), reason: "r", hint: "", worker: "w")
    try await world.store.queue.deadLetter(
      Array("{\"users\":[\"\(Self.user)\"".utf8), reason: "no JSON", hint: "", worker: "w")
    try await world.store.queue.deadLetter(
      TestStore.job("whole", audience: #"{"segment":"*"}"#), reason: "s", hint: "", worker: "w")
    var before: [DeadJob] = []
    try await world.store.queue.forEachDeadJob { before.append($0) }
    _ = try await world.store.erasure.erase(Self.user)
    try await expectNothing(in: world)
    var after: [DeadJob] = []
    try await world.store.queue.forEachDeadJob { after.append($0) }
    expect(Set(after.map(\.reason)), is: ["payload: for user an erased user, which is", "no JSON", "s"])
    let kept = try #require(after.first { $0.id == "others" })
    expect(kept.at == before.last?.at && !kept.isCut)
    let campaign = try CampaignJob.parse(kept.job, .any([APNsService()]))
    expect(campaign.recipients.audience, is: .users(["u1"]))
    expect(try await world.store.queue.submit(kept.job, as: campaign, from: kept.key), is: .new)
    expect(after.first { $0.reason == "no JSON" }?.isCut, is: true)
  }

  /// The dead list stores only the beginning of a long job. That text is not valid JSON.
  @Test(arguments: [
    (user: "4711", entry: "4711"), ("4711", "4711.0"), ("ada", #""\u0061da""#), ("adé", #""ade\u0301""#),
    ("ada", #"{"user":"ada","vars":{}}"#), ("ada", #""\#(TestStore.text(7).uppercased())""#),
  ])
  func longDeadJobLosesTheUser(user: String, entry: String) async throws {
    let world = try await TestStore(on: .single, partitions: 1)
    try await world.store.registry.register([DeviceRegistration(user: user, device: TestStore.device(7))])
    let others = (0..<8000).map { "\"user-\($0)\"" }.joined(separator: ",")
    let reason = "audience.users[9000]: \(Excerpt.quoted(user)) has vars twice"
    for (id, entries) in [("first", "\(entry),\(others)"), ("none", others)] {
      let job = TestStore.job(id, audience: #"{"users":[\#(entries)]}"#)
      try await world.store.queue.deadLetter(job, reason: reason, hint: "", worker: "w")
    }
    _ = try await world.store.erasure.erase(user)
    var after: [String: DeadJob] = [:]
    try await world.store.queue.forEachDeadJob { after[$0.id ?? ""] = $0 }
    let (first, none) = (try #require(after["first"]), try #require(after["none"]))
    expect(first.job.isEmpty && first.isCut && first.size > Queue.deadJobSize)
    expect(!none.job.isEmpty && none.isCut)
    expect(Set(after.values.map(\.reason)), is: ["audience.users[9000]: an erased user has vars twice"])
  }

  /// Entries whose form is the reason why they are on the dead list.
  @Test(arguments: [
    #"{"id":"x","audience":{"user_ids":["ada"]}}"#, #"{"id":"x","audience":{"users":"ada"}}"#,
    #"{"id":"x","audience":{"users":[{"id":"ada"}]}}"#, #"{"id":"x","audiense":{"users":["ada"]}}"#,
    #"{'id':'x','audience':{'users':['ada']}}"#, #"["ada"]"#,
  ])
  func misspeltDeadJobAndEventLoseTheUser(text: String) async throws {
    let world = try await TestStore(on: .single, partitions: 1)
    let other = text.replacing("ada", with: "ben")
    for job in [text, other] {
      try await world.store.queue.deadLetter(Array(job.utf8), reason: "r", hint: "", worker: "w")
      try await world.command("XADD", world.keys.dead, "*", "list", "registrations", "reason", "r", "job", job)
    }
    _ = try await world.store.erasure.erase("ada")
    var (jobs, events): ([String], [String]) = ([], [])
    try await world.store.queue.forEachDeadJob { dead in
      let text = String(decoding: dead.job, as: UTF8.self)
      if dead.list == nil { jobs.append(text) } else { events.append(text) }
    }
    expect(Set(jobs), is: ["", other])
    expect(events, is: [other])
  }

  /// A worker puts such a job on the dead list after the erasure.
  @Test func misspeltJobThatWaitsLosesTheUser() async throws {
    let world = try await TestStore(on: .single, partitions: 1)
    let job = Array(#"{"id":"waits","audience":{"user_ids":["ada"]}}"#.utf8)
    try await world.command("LPUSH", world.keys.campaigns, job)
    expect(try await world.store.erasure.erase("ada").completeBy != nil)
    try await world.command("LMOVE", world.keys.campaigns, world.keys.intake(worker: "w"), "RIGHT", "LEFT")
    try await world.store.queue.deadLetter(job, reason: "r", hint: "", worker: "w")
    expect(try await world.store.erasure.finishErasures(), is: 1)
    var jobs: [DeadJob] = []
    try await world.store.queue.forEachDeadJob { jobs.append($0) }
    expect(jobs.map(\.job.isEmpty), is: [true])
  }

  /// An event without a time takes effect when it is read, so it would restore the user.
  @Test func eventsThatWaitLoseTheUserAndKeepTheirPlaces() async throws {
    let world = try await world()
    let events = [
      #"{"op":"register","user":"\#(Self.user)","token":"\#(Self.token)","app":"news"}"#,
      #"{"op":"tag","user":"u1","tags":["fans"]}"#, #"{"op":"unregister","token":"\#(Self.token)"}"#,
    ]
    for event in events { try await world.command("LPUSH", world.keys.events(.registrations), event) }
    let receipt = #"{"event":"opened","campaign":"c","user":"\#(Self.user)"}"#
    try await world.command("LPUSH", world.keys.events(.receipts), receipt)
    _ = try await world.store.erasure.erase(Self.user)
    try await expectNothing(in: world)
    let left = try await world.command("LRANGE", world.keys.events(.registrations), 0, -1).map(\.string)
    expect(left, is: [#"{"erased":true}"#, events[1], #"{"erased":true}"#])
    expect(try await world.command("LLEN", world.keys.events(.receipts)).integer, is: 1)
  }

  /// The outcomes of a slice enter the stream when the slice ends, which may be after the erasure.
  @Test func housekeepingReadsTheStreamAgain() async throws {
    let world = try await world()
    let entry = #"{"user":"\#(Self.user)","token":"\#(Self.token)"}"#
    try await world.store.erasure.save(PendingErasure("1 q gone")!, of: Self.user)
    try await world.command("XADD", world.keys.events, "*", "kind", "outcome", "json", entry)
    try await world.command("HDEL", world.keys.devices(0), Self.user)
    try await world.command("SREM", world.keys.users(0), Self.user)
    expect(try await world.store.erasure.finishErasures(), is: 1)
    expect(try await world.command("XLEN", world.keys.events).integer, is: 0)
  }
}
