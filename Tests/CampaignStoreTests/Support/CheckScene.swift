@testable import CampaignStore
import APNs
import Foundation
import PushCore
import Redis
import Testing

/// A consistent store with ended, active and waiting campaigns.
struct CheckScene {
  /// The pause is short, because only the test itself changes the store.
  static let pause = Duration.milliseconds(20)

  let world: TestStore
  /// A slice of the running campaign with targets of each kind: 0 accepted, 1 pruned, 2 quarantined, 3 waiting, the
  /// others in doubt.
  let slice: SliceReference
  /// The users of the slice's targets. The user's name contains the number of the token.
  let users: [String]

  var store: CampaignStore { world.store }
  var keys: Keyspace { world.keys }

  init(on backend: Backend, partitions: Int = 4) async throws {
    world = try await TestStore(on: backend, partitions: partitions)
    try await world.registerUsers(0..<40)
    try await world.store.registry.register([
      DeviceRegistration(user: "u0", device: TestStore.device(0), attributes: Array(#"{"name":"Ada"}"#.utf8))
    ])
    try await world.store.audiences.add((0..<20).map { "u\($0)" } + ["nobody yet"], to: "vip")
    _ = try await world.workOff(world.activate("done"))
    let cancelled = try await world.activate("cancelled", #","lane":"bulk""#)
    _ = try await world.store.campaigns.control("cancelled", .cancel)
    _ = try await world.workOff(cancelled, ending: .cancel)
    try await Self.wait(in: world)
    (slice, users) = try await Self.run(in: world)
  }

  /// Adds jobs and campaigns that wait for an event.
  private static func wait(in world: TestStore) async throws {
    let store = world.store
    try await world.activate("paused", audience: #"{"users":["u1","u2"]}"#, #","lane":"urgent""#)
    _ = try await store.campaigns.control("paused", .pause, reason: "why not")
    let tomorrow = Timestamp.format(milliseconds: try await store.time() / 1000 + 86_400_000)
    for id in ["later", "never", "notnow"] { try await world.activate(id, #","sendAt":"\#(tomorrow)""#) }
    _ = try await store.campaigns.control("never", .cancel)
    _ = try await store.campaigns.control("notnow", .pause)
    let job = TestStore.job("new", audience: #"{"segment":"vip"}"#)
    _ = try await store.queue.submit(job, as: CampaignJob.parse(job, .any([APNsService()])))
    try await store.queue.deadLetter(Array("{}".utf8), reason: "id: is missing", hint: "give one", worker: "w")
    try await world.reportWaiting("paused", worker: "w", reason: "out of reach", since: 7)
    // The reason expires after seconds. It must not expire while a test counts the keys.
    try await world.command("EXPIRE", world.keys.waiting("paused"), 3600)
    try await store.registry.save(
      ImportCheckpoint(offset: 100, line: 7, rows: 6, skipped: 1, imported: 4, outdated: 1, evicted: 2), of: "file")
    var replacement = try await store.audiences.replacement(of: "vip")
    _ = try await store.audiences.add(["u7"], to: &replacement)
  }

  /// Starts the running campaign.
  private static func run(in world: TestStore) async throws -> (SliceReference, [String]) {
    let campaign = try await world.activate("run", #","results":"all""#)
    let slice = try #require(try await world.store.slices.dequeueSlice(worker: "w"))
    let ledger = try await world.claimed("run", slice.partition).ledger
    let count = try #require(try await world.expand(ledger, campaign))
    try #require(count > 4)
    try await ledger.commit(credit: count)
    let chunk = try await ledger.targets(from: 0, count: count)
    var batch = OutcomeBatch()
    batch.append(.accepted, chunk, 0)
    batch.append(.unregistered, chunk, 1, .prune, reason: "Unregistered")
    batch.append(.badToken, chunk, 2, .quarantine, reason: "BadDeviceToken")
    batch.append(.waiting(milliseconds: 3_600_000), at: 3)
    _ = try await ledger.commit(&batch, credit: 0)
    // A second slice, which has nothing to do now.
    let parked = try #require(try await world.store.slices.dequeueSlice(worker: "v"))
    _ = try await world.store.slices.park(parked, for: 3_600_000, worker: "v")
    return (slice, (0..<count).map { String(decoding: chunk.user($0), as: UTF8.self) })
  }

  func check(repairing repairs: Bool = false) async throws -> [StoreFinding] {
    var findings: [StoreFinding] = []
    _ = try await store.repair.check(repairing: repairs, pause: Self.pause) { findings += $0 }
    return findings
  }

  // MARK: Partitions, users and tokens

  func partition(of user: String) -> Int { Partition.of(user: user, count: keys.partitions) }

  /// Returns a partition that is not the user's own.
  func strange(to user: String) -> Int { (partition(of: user) + 1) % keys.partitions }

  func partition(ofToken number: Int) -> Int {
    Partition.of(token: TestStore.token(number), of: TestStore.service, count: keys.partitions)
  }

  /// The user of target 4 in the running slice. This user still has the device.
  var user: String { users[4] }
  /// The number of that user's token.
  var token: Int { Int(user.dropFirst()) ?? 0 }
  /// The number of the token in quarantine.
  var quarantined: Int { Int(users[2].dropFirst()) ?? 0 }

  func command<each Argument: RedisArgument>(
    _ name: StaticString, _ argument: repeat each Argument
  ) async throws -> RedisReply {
    try await world.command(name, repeat each argument)
  }
}
