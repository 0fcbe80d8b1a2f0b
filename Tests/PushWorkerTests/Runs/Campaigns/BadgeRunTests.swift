import PushTransport
import APNs
import APNsSimulator
import CampaignStore
import Foundation
import PushCore
import PushWorker
import TestKit
import TestSupport
import Testing

/// Badge counts. Each user's badge continues from its last value, once for each campaign, and a resent push has the
/// same badge.
@Suite struct BadgeRunTests {
  private static let users = 150
  private static let payload = #"{"aps":{"alert":"hi","badge":"+1"}}"#

  private func submit(_ id: String, _ rig: WorkerRig) async throws -> Campaign {
    let job = Array(
      #"{"id":"\#(id)","app":"news","audience":{"segment":"*"},"apns":{"payload":\#(Self.payload)}}"#.utf8)
    let campaign = try CampaignJob.parse(job, .known(["news": [APNsService(AppTraits(topic: WorkerRig.topic))]]))
    expect(try await rig.store.queue.submit(job, as: campaign), is: .new)
    return campaign
  }

  /// Returns the badges that each device was sent, in order.
  private func badges(_ path: String) throws -> [String: [Int]] {
    var badges: [String: [Int]] = [:]
    for line in try RequestLine.read(path) {
      let digits = line.body.firstRange(of: #""badge":"#).map { line.body[$0.upperBound...].prefix { $0.isNumber } }
      badges[line.token, default: []].append(try #require(digits.flatMap { Int($0) }, "\(line.body)"))
    }
    return badges
  }

  @Test(arguments: PushEngineKind.one(for: "badgesContinueAndStayTheSameAfterATakeover"), [2, 200])
  func badgesContinueAndStayTheSameAfterATakeover(engine: PushEngineKind, partitions: Int) async throws {
    let folder = try ScratchFolder()
    let path = folder.path("requests")
    let rig = try await WorkerRig(engine: engine, partitions: partitions) {
      $0.log = path
      $0.logsBodies = true
    }
    try await rig.register(Self.users)
    _ = try await submit("first", rig)
    try await rig.worker("one").run()
    // Some users opened the app.
    try await rig.store.registry.apply(
      (0..<10).map { RegistrationEvent(.badge(user: "u\($0)", app: "news", value: 0), at: 1) })
    let second = try await submit("second", rig)
    // A worker dies with targets that are granted and perhaps sent.
    let job = try #require(try await rig.store.queue.awaitJob(worker: "dead", seconds: 1, now: 1))
    _ = try await rig.store.queue.activate(second, job: job, worker: "dead")
    let slice = try #require(try await rig.store.slices.dequeueSlice(worker: "dead"))
    let ledger = SliceLedger(store: rig.store, slice: slice, lease: 1, app: "news", rules: GrantRules(second, caps: []))
    _ = try await ledger.claim(worker: "dead")
    let filter = DeviceFilter(second, service: APNsService(), environment: "production", start: 0)
    _ = try #require(try await rig.store.expansion.expand(ledger, of: second, filter: filter))
    var nothing = OutcomeBatch()
    let request = CommitRequest(seal: ledger.claim, expected: .acknowledged(SliceVersion()), credit: 10)
    _ = try await ledger.commit(&nothing, request)
    _ = try await rig.store.fleet.heartbeat(worker: "dead", timeout: 1)
    async let other: Void = rig.worker("other", lease: 100).run()
    try await rig.worker("heir", lease: 100).run()
    try await other
    _ = try await submit("third", rig)
    try await rig.worker("last").run()
    let badges = try badges(path)
    expect(badges.count, is: Self.users)
    for number in 0..<Self.users {
      expect(badges[WorkerRig.text(number)], is: number < 10 ? [1, 1, 2] : [1, 2, 3], "user \(number)")
    }
  }
}
