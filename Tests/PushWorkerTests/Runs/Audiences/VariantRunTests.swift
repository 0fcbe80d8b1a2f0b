import APNs
import APNsSimulator
import CampaignStore
import PushCore
import PushTransport
import PushWorker
import TestKit
import TestSupport
import Testing

/// Campaigns with variants. Each user gets one variant, and the later stages get the winner.
struct VariantRunTests {
  private static let variants = #"""
    ,"apns":{"payload":{"aps":{"alert":{"title":"Hi","body":"{{name|you}}"}},"n":1}},
    "localized":{"de":{"apns":{"payload":{"aps":{"alert":{"title":"Hallo"}}}}}},
    "variants":[{"name":"a"},{"name":"b","weight":2,"apns":{"payload":{"n":2}}},
      {"name":"c","apns":{"payload":{"n":null,"aps":{"alert":{"title":"Hey"}}}},"localized":{"de":{"apns":{"payload":{"aps":{"alert":{"title":"Hej"}}}}}}}]
    """#

  /// Returns the expected payload of a user, built without code of the product.
  private static func text(_ number: Int, _ variant: Int) -> String {
    let isGerman = number % 3 == 0
    let title = variant == 2 ? isGerman ? "Hej" : "Hey" : isGerman ? "Hallo" : "Hi"
    let name = number % 2 == 0 ? "you" : "N\(number)"
    return #"{"aps":{"alert":{"title":"\#(title)","body":"\#(name)"}}"# + [#","n":1"#, #","n":2"#, ""][variant] + "}"
  }

  /// Returns the variant of a user for the weights 1, 2 and 1.
  private static func variant(_ number: Int, _ id: String) -> Int {
    let share = drawn("u\(number)", "variant of campaign " + id)
    return share < 0.25 ? 0 : share < 0.75 ? 1 : 2
  }

  /// Returns the token of a user's second device.
  private static func token(second number: Int) -> [UInt8] { WorkerRig.token(number + 100_000) }

  /// Returns a rig with users in two languages, some with two devices.
  private func rig(_ engine: PushEngineKind, _ folder: ScratchFolder, users: Int) async throws -> WorkerRig {
    let rig = try await WorkerRig(engine: engine, partitions: 4) {
      $0.log = folder.path("requests")
      $0.logsBodies = true
    }
    var registrations: [DeviceRegistration] = []
    for number in 0..<users {
      for token in [WorkerRig.token(number)] + (number % 5 == 0 ? [Self.token(second: number)] : []) {
        var device = DeviceRecord(token: token, service: "apns")
        device.locale = number % 3 == 0 ? "de-AT" : "en"
        registrations.append(
          DeviceRegistration(
            user: "u\(number)", device: device,
            attributes: number % 2 == 0 ? [] : Array(#"{"name":"N\#(number)"}"#.utf8)))
        rig.simulator.load([SimulatedDevice(token: token, topic: WorkerRig.topic)])
      }
    }
    try await rig.store.registry.register(registrations)
    return rig
  }

  private func submit(
    _ rig: WorkerRig, _ id: String, _ more: String = "", audience: String = #"{"segment":"*"}"#
  ) async throws -> Campaign {
    let job = Array(#"{"id":"\#(id)","app":"news","audience":\#(audience)\#(Self.variants)\#(more)}"#.utf8)
    let campaign = try CampaignJob.parse(job, .known(["news": [APNsService(AppTraits(topic: WorkerRig.topic))]]))
    expect(try await rig.store.queue.submit(job, as: campaign), is: .new)
    return campaign
  }

  /// Returns the last payload of each device.
  private func bodies(_ folder: ScratchFolder) throws -> [String: String] {
    Dictionary(try RequestLine.read(folder.path("requests")).map { ($0.token, $0.body) }) { $1 }
  }

  private func tokens(_ number: Int) -> [String] {
    [WorkerRig.text(number)]
      + (number % 5 == 0 ? [String(decoding: Hex.encode(Self.token(second: number)), as: UTF8.self)] : [])
  }

  /// Leaves two slices to a worker that dies after it has sent a part of its granted targets.
  private func leaveDoubt(_ rig: WorkerRig, _ campaign: Campaign, granted: Int) async throws {
    let job = try #require(try await rig.store.queue.awaitJob(worker: "dead", seconds: 1, now: 1))
    _ = try await rig.store.queue.activate(campaign, job: job, worker: "dead")
    let filter = DeviceFilter(campaign, service: APNsService(), environment: "production", start: 0)
    for _ in 0..<2 {
      let slice = try #require(try await rig.store.slices.dequeueSlice(worker: "dead"))
      let ledger = SliceLedger(store: rig.store, slice: slice, lease: 1, app: "news")
      _ = try await ledger.claim(worker: "dead")
      let targets = try #require(try await rig.store.expansion.expand(ledger, of: campaign, filter: filter))
      var batch = OutcomeBatch()
      _ = try await ledger.commit(
        &batch, CommitRequest(seal: ledger.claim, expected: .acknowledged(SliceVersion()), credit: granted))
      // The worker received and recorded answers for some of them.
      for index in 0..<granted / 2 {
        var record = LedgerRecord(state: .terminal(.accepted), status: 200, at: 5000)
        record.variant = UInt8((campaign.message.content?.variant(of: targets.chunk.values(index)) ?? 0) + 1)
        batch.append(record, at: index)
      }
      _ = try await ledger.commit(
        &batch, CommitRequest(seal: ledger.claim, expected: .acknowledged(SliceVersion(sequence: 1))))
    }
    _ = try await rig.store.fleet.heartbeat(worker: "dead", timeout: 1)
  }

  /// Two workers take over from a third.
  @Test(arguments: PushEngineKind.one(for: "eachUserGetsOneVariantAndIsCountedOnce"))
  func eachUserGetsOneVariantAndIsCountedOnce(engine: PushEngineKind) async throws {
    let folder = try ScratchFolder()
    let rig = try await rig(engine, folder, users: 200)
    let campaign = try await submit(rig, "abc")
    try await leaveDoubt(rig, campaign, granted: 20)
    async let other: Void = rig.worker("other", lease: 100).run()
    try await rig.worker("one", lease: 100).run()
    try await other
    let bodies = try bodies(folder)
    var expected = [0, 0, 0]
    for number in 0..<200 {
      let variant = Self.variant(number, "abc")
      expected[variant] += tokens(number).count
      // A push that the dead worker has recorded was not sent here.
      for token in tokens(number) {
        expect(bodies[token] == nil || bodies[token] == Self.text(number, variant), "\(number)")
      }
    }
    expect(bodies.count, is: 240 - 20)
    try await rig.store.results.apply((0..<50).map { ReceiptEvent(.opened, campaign: "abc", user: "u\($0)") })
    let record = try #require(try await rig.store.campaigns.show("abc"))
    expect(record.counters.outcomes == [.accepted: 240] && record.counters.resent == 20)
    let counts = try await rig.store.campaigns.variantCounts(of: record, try #require(campaign.message.variants))
    expect(counts.map(\.targets), is: expected)
    expect(counts.map(\.outcomes), is: expected.map { [.accepted: $0] })
    expect(
      counts.map { $0.receipts[.opened] ?? 0 },
      is: (0..<3).map { variant in (0..<50).count { Self.variant($0, "abc") == variant } })
    for result in try await rig.results("abc") {
      expect(result.variant, is: Self.variant(try #require(Int(result.user.dropFirst())), "abc"))
    }
  }

  /// Returns the users of the first stage, which has this share.
  private func first(_ id: String, _ share: Double, users: Int) -> Set<Int> {
    Set((0..<users).filter { drawn("u\($0)", "stage of campaign " + id) < share })
  }

  /// The winner has the largest share of openings. It is `c`, which has fewer openings than `b`.
  @Test(arguments: PushEngineKind.one(for: "restGetsTheWinner"))
  func restGetsTheWinner(engine: PushEngineKind) async throws {
    let folder = try ScratchFolder()
    let rig = try await rig(engine, folder, users: 300)
    let campaign = try await submit(
      rig, "won", #","stages":[{"share":0.4,"wait":"1h","winner":{"by":"opened"}}]"#)
    let first = first("won", 0.4, users: 300)
    let tested = first.reduce(0) { $0 + tokens($1).count }
    let workers = ["a", "b"].map { rig.worker($0, lease: 500, drains: false) }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for worker in workers { group.addTask { try await worker.run() } }
      try await rig.until { try await rig.store.campaigns.find("won~1")?.times.finishedAt != nil }
      // The openers are all users with `c`, half of the others, and all users who have not got a push yet.
      let openers = (0..<300).filter { !first.contains($0) || Self.variant($0, "won") == 2 || $0 % 2 == 0 }
      try await rig.store.results.apply(openers.map { ReceiptEvent(.opened, campaign: "won", user: "u\($0)") })
      expect(await rig.simulator.counters().accepted, is: tested)
      try await rig.endWait(ofStage: "won~1", of: "won", seconds: 3600)
      try await rig.until { try await rig.store.campaigns.find("won")?.staging.winner != nil }
      expect(try await rig.store.campaigns.decision(of: "won")?.winner, is: 2)
      // All other users open the push now, which is too late.
      try await rig.store.results.apply(first.map { ReceiptEvent(.opened, campaign: "won", user: "u\($0)") })
      try await rig.until { try await rig.store.campaigns.show("won")?.state == .completed }
      for worker in workers { await worker.stop() }
      try await group.waitForAll()
    }
    let bodies = try bodies(folder)
    for number in 0..<300 {
      let variant = first.contains(number) ? Self.variant(number, "won") : 2
      for token in tokens(number) { expect(bodies[token], is: Self.text(number, variant), "\(number)") }
    }
    let record = try #require(try await rig.store.campaigns.show("won"))
    expect(record.counters.outcomes, is: [.accepted: 360])
    expect(await rig.simulator.counters().accepted, is: 360)
    let counts = try await rig.store.campaigns.variantCounts(of: record, try #require(campaign.message.variants))
    let own = (0..<3).map { variant in
      first.filter { Self.variant($0, "won") == variant }.reduce(0) { $0 + tokens($1).count }
    }
    expect(counts.map(\.targets), is: [own[0], own[1], own[2] + 360 - tested])
    expect(counts.map { $0.outcomes[.accepted] ?? 0 }, is: counts.map(\.targets))
  }

  /// If there are too few results, the campaign pauses itself. A person who chooses a variant resumes it.
  @Test(arguments: PushEngineKind.one(for: "personDecidesIfThereIsNoWinner"))
  func personDecidesIfThereIsNoWinner(engine: PushEngineKind) async throws {
    let folder = try ScratchFolder()
    let rig = try await rig(engine, folder, users: 100)
    _ = try await submit(rig, "unclear", #","stages":[{"share":0.5,"winner":{}}]"#)
    let worker = rig.worker("w", lease: 500, drains: false)
    async let running: Void = worker.run()
    try await rig.until { try await rig.store.campaigns.show("unclear")?.state == .paused }
    expect(
      try await rig.store.campaigns.show("unclear")?.reason?.hasPrefix("stage 1: no winner: 0 opened in total"),
      is: true)
    expect(try await rig.store.campaigns.decide("unclear", variant: "b", by: "ada").state, is: .active)
    try await rig.until { try await rig.store.campaigns.show("unclear")?.state == .completed }
    await worker.stop()
    try await running
    let bodies = try bodies(folder)
    let first = first("unclear", 0.5, users: 100)
    for number in 0..<100 {
      let variant = first.contains(number) ? Self.variant(number, "unclear") : 1
      for token in tokens(number) { expect(bodies[token], is: Self.text(number, variant), "\(number)") }
    }
  }

  /// Variants do not affect the audience: the limit and the control group hold, and each user gets the push at the
  /// local time.
  @Test(arguments: PushEngineKind.one(for: "audienceDoesNotDependOnVariants"))
  func audienceDoesNotDependOnVariants(engine: PushEngineKind) async throws {
    let folder = try ScratchFolder()
    let rig = try await rig(engine, folder, users: 120)
    // The quiet hours do not include the present time, whenever the test runs.
    let hour = (try await rig.store.time() / 3_600_000_000 + 12) % 24
    let quiet = hour < 10 ? "0\(hour)" : "\(hour)"
    _ = try await submit(
      rig, "some", ",\"control\":0.3,\"quietHours\":{\"from\":\"\(quiet):00\",\"to\":\"\(quiet):30\"}",
      audience: #"{"segment":"*","sample":0.5,"limit":40,"devices":"latest"}"#)
    try await rig.worker("w").run()
    let record = try #require(try await rig.store.campaigns.show("some"))
    let results = try await rig.results("some")
    expect(record.state == .completed && results.count + record.counters.control == 40)
    for result in results {
      let number = try #require(Int(result.user.dropFirst()))
      expect(drawn(result.user, "control of campaign some") >= 0.3)
      expect(result.variant, is: Self.variant(number, "some"))
    }
  }
}
