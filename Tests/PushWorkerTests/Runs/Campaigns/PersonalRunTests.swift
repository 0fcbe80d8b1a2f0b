import APNs
import APNsSimulator
import CampaignStore
import PushCore
import PushTransport
import PushWorker
import TestKit
import TestSupport
import Testing

/// Campaigns with personal pushes, compared with the requests that the simulator received.
struct PersonalRunTests {
  private static let locales = ["", "en", "de-AT", "zh-Hans-CN", "zh-Hant-HK", "fr"]
  private static let content = #"""
    ,"apns":{"payload":{"aps":{"alert":{"title":"Hi {{name|there}}","body":"{{city}}: {{name}}"}},"n":1}},
    "localized":{"de":{"apns":{"payload":{"aps":{"alert":{"title":"Hallo {{name|du}}"}}}}},"zh-Hans":{"apns":{"payload":{"aps":{"alert":"你好{{name}}"},"n":null}}}},
    "uniqueKey":"push"
    """#

  /// Returns the expected payload of a user, built without code of the product.
  private static func text(_ number: Int, city: String, id: String) -> String {
    let name: String? = number % 5 == 0 ? nil : names[number % names.count]
    switch locales[number % locales.count] {
    case "de-AT":
      return
        #"{"aps":{"alert":{"title":"Hallo \#(name ?? "du")","body":"\#(city): \#(name ?? "")"}},"n":1,"push":"\#(id)"}"#
    case "zh-Hans-CN": return #"{"aps":{"alert":"你好\#(name ?? "")"},"push":"\#(id)"}"#
    default:
      return
        #"{"aps":{"alert":{"title":"Hi \#(name ?? "there")","body":"\#(city): \#(name ?? "")"}},"n":1,"push":"\#(id)"}"#
    }
  }

  /// Names as they appear in JSON.
  private static let names = ["Ada", #"O\"Neil"#, "张伟", "e\u{301}😀", "{{name}}", #"a\\"#]

  private func register(_ rig: WorkerRig, _ count: Int, city: String, at instant: UInt64 = 1000) async throws {
    try await rig.store.registry.register(
      (0..<count).map { number in
        var device = DeviceRecord(token: WorkerRig.token(number), service: "apns")
        device.app = "news"
        device.registeredAt = instant
        device.locale = Self.locales[number % Self.locales.count]
        let name = number % 5 == 0 ? "" : #","name":"\#(Self.names[number % Self.names.count])""#
        return DeviceRegistration(
          user: "u\(number)", device: device, attributes: Array(#"{"city":"\#(city)"\#(name)}"#.utf8))
      })
    rig.simulator.load((0..<count).map { SimulatedDevice(token: WorkerRig.token($0), topic: WorkerRig.topic) })
  }

  private func rig(_ engine: PushEngineKind, partitions: Int, _ folder: ScratchFolder) async throws -> WorkerRig {
    try await WorkerRig(engine: engine, partitions: partitions) {
      $0.log = folder.path("requests")
      $0.logsBodies = true
    }
  }

  /// The push of the dead worker and that of the next owner are equal, even if the user's data changed in between.
  @Test(arguments: PushEngineKind.one(for: "eachTargetGetsItsOwnPushAfterATakeover"))
  func eachTargetGetsItsOwnPushAfterATakeover(engine: PushEngineKind) async throws {
    let folder = try ScratchFolder()
    let rig = try await rig(engine, partitions: 4, folder)
    try await register(rig, 240, city: "Wien")
    let job = Array(#"{"id":"own","app":"news","audience":{"segment":"*"}\#(Self.content)}"#.utf8)
    let campaign = try CampaignJob.parse(job, .known(["news": [APNsService(AppTraits(topic: WorkerRig.topic))]]))
    expect(try await rig.store.queue.submit(job, as: campaign), is: .new)
    // A worker dies with a sealed slice and some targets sent.
    let taken = try #require(try await rig.store.queue.awaitJob(worker: "dead", seconds: 1, now: 1))
    _ = try await rig.store.queue.activate(campaign, job: taken, worker: "dead")
    let slice = try #require(try await rig.store.slices.dequeueSlice(worker: "dead"))
    let ledger = SliceLedger(store: rig.store, slice: slice, lease: 1, app: "news")
    _ = try await ledger.claim(worker: "dead")
    let filter = DeviceFilter(campaign, service: APNsService(), environment: "production", start: 0)
    let sealed = try #require(try await rig.store.expansion.expand(ledger, of: campaign, filter: filter))
    var nothing = OutcomeBatch()
    let request = CommitRequest(seal: ledger.claim, expected: .acknowledged(SliceVersion()), credit: 20)
    expect(try await ledger.commit(&nothing, request).granted, is: 20)
    _ = try await rig.store.fleet.heartbeat(worker: "dead", timeout: 1)
    try await register(rig, 240, city: "Graz", at: 2000)
    let log = EventLog()
    async let other: Void = rig.worker("other", lease: 100, log: log).run()
    try await rig.worker("heir", lease: 100, log: log).run()
    try await other
    expect(try await rig.store.campaigns.show("own")?.counters.outcomes, is: [.accepted: 240], "\(log.all)")
    let ids = PushID(campaign: "own")
    let lines = try RequestLine.read(folder.path("requests"))
    expect(Set(lines.map(\.token)).count, is: 240)
    let bodies = Dictionary(lines.map { ($0.token, $0.body) }) { $1 }
    for number in 0..<240 {
      let isOfTheDead = Partition.of(user: "u\(number)", count: 4) == slice.partition
      let id = UUIDText.text(ids.id(token: WorkerRig.token(number)))
      let expected = Self.text(number, city: isOfTheDead ? "Wien" : "Graz", id: id)
      expect(bodies[WorkerRig.text(number)], is: expected)
    }
    expect(sealed.count > 20)
  }

  /// Slices with one or two targets, in batches, and users that the job lists.
  @Test(arguments: PushEngineKind.one(for: "batchesOfSmallSlicesArePersonalToo"))
  func batchesOfSmallSlicesArePersonalToo(engine: PushEngineKind) async throws {
    let folder = try ScratchFolder()
    let rig = try await rig(engine, partitions: 200, folder)
    try await register(rig, 120, city: "Wien")
    let users = (0..<120).map { #""u\#($0)""# }.joined(separator: ",")
    let job = Array(#"{"id":"few","app":"news","audience":{"users":[\#(users)]}\#(Self.content)}"#.utf8)
    let campaign = try CampaignJob.parse(job, .known(["news": [APNsService(AppTraits(topic: WorkerRig.topic))]]))
    expect(try await rig.store.queue.submit(job, as: campaign), is: .new)
    try await rig.worker("w").run()
    let ids = PushID(campaign: "few")
    let lines = try RequestLine.read(folder.path("requests"))
    let bodies = Dictionary(lines.map { ($0.token, $0.body) }) { $1 }
    expect(lines.count, is: 120)
    for number in 0..<120 {
      let id = UUIDText.text(ids.id(token: WorkerRig.token(number)))
      expect(bodies[WorkerRig.text(number)], is: Self.text(number, city: "Wien", id: id))
    }
  }

  @Test(arguments: PushEngineKind.one(for: "targetThatExceedsIsRefusedUnsentOrTrimmed"))
  func targetThatExceedsIsRefusedUnsentOrTrimmed(engine: PushEngineKind) async throws {
    let folder = try ScratchFolder()
    let rig = try await rig(engine, partitions: 2, folder)
    try await register(rig, 60, city: "Wien")
    // Users with values in the job. Five values of a thousand bytes are too large.
    let long = String(repeating: "é", count: 500)
    try await rig.store.registry.register(
      (0..<10).map { number in
        var device = DeviceRecord(token: WorkerRig.token(number), service: "apns")
        device.app = "news"
        device.registeredAt = 3000
        let values = (0..<5).map { #""v\#($0)":"\#(long)""# }.joined(separator: ",")
        return DeviceRegistration(user: "u\(number)", device: device, attributes: Array("{\(values)}".utf8))
      })
    let text = (0..<5).map { "{{v\($0)}}" }.joined()
    let payload = #","apns":{"payload":{"aps":{"alert":{"title":"t","body":"\#(text)"}}}}"#
    for (id, trim) in [("refused", ""), ("trimmed", #","trim":"apns.payload.aps.alert.body""#)] {
      let job = Array(#"{"id":"\#(id)","app":"news","audience":{"segment":"*"}\#(payload)\#(trim)}"#.utf8)
      _ = try await rig.store.queue.submit(
        job, as: CampaignJob.parse(job, .known(["news": [APNsService(AppTraits(topic: WorkerRig.topic))]])))
    }
    let log = EventLog()
    try await rig.worker("w", log: log).run()
    let refused = try #require(try await rig.store.campaigns.show("refused"))
    expect(refused.state == .completed && refused.counters.outcomes == [.accepted: 50, .rejected: 10], "\(log.all)")
    let results = try await rig.results("refused").filter { $0.outcome == .rejected }
    expect(results.allSatisfy { $0.reason == "PayloadTooLargeForTarget" && $0.status == 0 })
    expect(Set(results.map(\.user)), is: Set((0..<10).map { "u\($0)" }))
    expect(try await rig.store.campaigns.show("trimmed")?.counters.outcomes, is: [.accepted: 60])
    let lines = try RequestLine.read(folder.path("requests"))
    expect(lines.count == 110 && lines.allSatisfy { $0.status == "200" })
    let trimmed = lines.filter { $0.body.contains("…") }
    expect(trimmed.count, is: 10)
    for line in trimmed {
      expect(4095...4096 ~= line.body.utf8.count && line.body.hasSuffix(#"é…"}}}"#), "\(line.body.suffix(20))")
    }
  }
}
