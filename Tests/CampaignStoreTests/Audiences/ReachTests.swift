@testable import CampaignStore
import APNs
import PushCore
import Redis
import TestKit
import TestSupport
import Testing

/// Partition pruning. A partition without a possible target gets no slice and costs nothing.
@Suite(.takesTurns) struct ReachTests {
  private static let names = ["a", "b", "c"]

  // MARK: The bound

  @Test func boundNeverExcludesAPartitionWithTargets() {
    var seed = Seed("boundNeverExcludesAPartitionWithTargets")
    var (leftOut, needless) = (0, 0)
    for _ in 0..<20_000 {
      let expression = AudienceExpression(root: .random(of: Self.names, depth: 5, using: &seed))
      // The partition has a few users, and many of its sets are empty. Some members have never registered.
      let allUsers = Set((0..<Int.random(in: 0...3, using: &seed)).map { "u\($0)" })
      var segments: [String: Set<String>] = [:]
      for name in Self.names where Bool.random(using: &seed) {
        segments[name] = Set((0..<4).filter { _ in Bool.random(using: &seed) }.map { "u\($0)" })
      }
      let selectsAUser = !expression.root.members(segments, allUsers).isEmpty
      var asked: Set<AudienceSet> = []
      let bound = AudienceTerm(expression).canMeanAnybody { set in
        asked.insert(set)
        return switch set {
        case .users: !allUsers.isEmpty
        case .segment(let name): segments[name]?.isEmpty == false
        case .listed, .reached, .opened, .matching: false
        }
      }
      expect(bound || !selectsAUser, "\(expression), \(segments), \(allUsers), seed \(seed.value)")
      expect(asked.isSubset(of: AudienceTerm(expression).decidingSets), "\(expression)")
      expect(AudienceTerm(expression).canMeanAnybody { _ in true })
      leftOut += bound ? 0 : 1
      needless += bound && !selectsAUser ? 1 : 0
    }
    // The check is useful: it finds most of the empty partitions.
    expect(leftOut > needless, "\(leftOut) were left out, \(needless) were not and could have been")
  }

  @Test func bitmapIsNumberedAsRedisDoesIt() async throws {
    let world = try await TestStore(on: .single, partitions: 20)
    let bitmap = PartitionBitmap(allBut: [0, 9, 19], of: 20)
    try await world.command("SET", world.keys.finished("a"), bitmap.bytes)
    for partition in 0..<20 {
      let bit = try await world.command("GETBIT", world.keys.finished("a"), partition).integer
      expect(bitmap.contains(partition), is: bit == 1)
      expect(bitmap.contains(partition), is: ![0, 9, 19].contains(partition))
    }
    expect(PartitionBitmap(allBut: Array(0..<20), of: 20).bytes.isEmpty)
    expect(!PartitionBitmap().contains(0))
  }

  // MARK: Campaigns that begin immediately

  @Test(arguments: Backend.allCases)
  func campaignHasSlicesOnlyWhereTargetsArePossible(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 64, users: 0..<100)
    try await world.store.audiences.add(["u1", "u2", "u3"], to: "a")
    try await world.store.audiences.add(["u3", "u4"], to: "b")
    try await expectReached("a", ["u1", "u2", "u3"], world)
    let both = Self.partitions(["u1", "u2", "u3"]).intersection(Self.partitions(["u3", "u4"]))
    try await expectReached("a & b", ["u3"], world, bound: both)
    try await expectReached("a & !b", ["u1", "u2"], world, bound: Self.partitions(["u1", "u2", "u3"]))
    try await expectReached("!a & b", ["u4"], world, bound: Self.partitions(["u3", "u4"]))
    try await expectReached("a | b", ["u1", "u2", "u3", "u4"], world)
    try await expectReached("*", Set((0..<100).map { "u\($0)" }), world)
  }

  /// Runs a campaign to its end, and compares it with its audience and the partitions of its slices.
  private func expectReached(
    _ expression: String, _ users: Set<String>, _ world: TestStore, bound: Set<Int>? = nil
  ) async throws {
    let id = "c-" + expression.map { $0.isLetter ? String($0) : "\($0.asciiValue ?? 0)" }.joined()
    let campaign = try await world.activate(id, audience: #"{"segment":"\#(expression)"}"#, narrowing: true)
    expect(try await world.openSlices(id) == bound ?? Self.partitions(users), "\(expression)")
    try await world.expectEnd(of: campaign, users)
  }

  /// A campaign waits for a worker, an approval or a busy lane. A user who joins its audience during the wait is
  /// reached.
  @Test(arguments: Backend.allCases)
  func userWhoJoinsBeforeTheFirstSliceIsTakenIsReached(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 64, users: 0..<20)
    try await world.store.audiences.add(["u1"], to: "a")
    let job = TestStore.job("x", audience: #"{"segment":"a"}"#)
    var campaign = try CampaignJob.parse(job, .any([APNsService()]))
    expect(try await world.store.queue.activate(campaign, job: job, worker: "w"), is: .new)
    try await world.store.audiences.add(["u2", "u3"], to: "a")
    let reference = try #require(try await world.store.slices.dequeueSlice(worker: "w"))
    let reached = Self.partitions(["u1", "u2", "u3"])
    expect(try await world.openSlices("x").union([reference.partition]), is: reached)
    try await world.store.slices.requeue(reference, lane: .normal, worker: "w")
    campaign.recipients.definitions = try #require(try await world.store.audiences.fixPartitions(of: campaign))
    try await world.expectEnd(of: campaign, ["u1", "u2", "u3"])
  }

  @Test(arguments: Backend.allCases)
  func campaignWithoutPossibleTargetsEnds(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 64)
    let campaign = try await world.activate("a", narrowing: true)
    expect(try await world.openSlices("a"), is: [0])
    try await world.expectEnd(of: campaign, [])
    let slices = try #require(try await world.store.campaigns.show("a")).slices
    expect((slices.finished, slices.total) == (1, 1))
  }

  @Test(arguments: Backend.allCases)
  func partitionWithASliceIsNeverLeftOut(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 64, users: 0..<10)
    try await world.store.audiences.add(["u1", "u2"], to: "a")
    try await world.store.audiences.add(["u9"], to: "b")
    let here = try #require(Self.partitions(["u1", "u2"]).first)
    // A server that loses some writes may keep the slice and lose the members of the segment.
    let campaign = try await world.activate("x", audience: #"{"segment":"a & b"}"#, narrowing: false)
    let ledger = try await world.claimed("x", here).ledger
    expect(try await world.expand(ledger, campaign), is: 0)
    for key in [world.keys.campaign("x"), world.keys.open("x"), world.keys.finished("x"), world.keys.job("x")] {
      try await world.command("DEL", key)
    }
    try await world.command("DEL", world.keys.segment(here, "a"))
    try await world.activate("x", audience: #"{"segment":"a & b"}"#, narrowing: true)
    expect(try await world.openSlices("x").contains(here))
    expect(try await world.openSlices("x").count < 4)
  }

  /// Redis lost the users of a partition and the beginning of the campaign, which then began again without that
  /// partition. Later a worker appears that has sealed its slice there.
  @Test(arguments: Backend.allCases, [false, true])
  func sealedSliceOfAPrunedPartitionIsCounted(on backend: Backend, hasEnded: Bool) async throws {
    let world = try await TestStore(on: backend, partitions: 64, users: 0..<10)
    try await world.store.audiences.add(["u1", "u2"], to: "a")
    let campaign = try await world.activate("x", audience: #"{"segment":"a"}"#, narrowing: true)
    let reached = Self.partitions(["u1", "u2"])
    let late = try #require((3..<10).first { !reached.contains(Partition.of(user: "u\($0)", count: 64)) })
    let slice = SliceReference(campaign: "x", partition: Partition.of(user: "u\(late)", count: 64))
    if hasEnded { expect(try await world.workOff(campaign), is: reached) }
    expect(try await world.store.campaigns.find("x")?.state, is: hasEnded ? .completed : .active)

    try await world.store.audiences.add(["u\(late)"], to: "a")
    for _ in 1...2 { try await world.store.audiences.addSlice(slice) }
    expect(try await world.store.campaigns.find("x")?.slices.total, is: reached.count + 1)
    if !hasEnded { expect(try await world.workOff(campaign), is: reached) }
    expect(try await world.store.campaigns.find("x")?.state, is: .active)
    expect(try await world.command("TTL", world.keys.campaign("x")).integer, is: -1)
    // No list has the reference of the slice, and the repair finds it.
    expect(try await world.store.slices.reopenLost().opened, is: 1)
    expect(try await world.openSlices("x"), is: [slice.partition])
    try await world.expectEnd(of: campaign, ["u1", "u2", "u\(late)"], slices: reached.union([slice.partition]).count)
    // A slice that the campaign already has does not count as pruned.
    try await world.store.audiences.addSlice(slice)
    expect(try await world.store.campaigns.find("x")?.state, is: .completed)
  }

  /// The campaign began again without the partition after the worker had checked whether its slice was pruned.
  @Test(arguments: Backend.allCases)
  func endedSliceOfAPrunedPartitionIsCountedOnce(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 64, users: 0..<10)
    try await world.store.audiences.add(["u1", "u2"], to: "a")
    let campaign = try await world.activate("x", audience: #"{"segment":"a"}"#, narrowing: true)
    let reached = Self.partitions(["u1", "u2"])
    let late = try #require((0..<64).first { !reached.contains($0) })
    let slice = SliceReference(campaign: "x", partition: late)
    var counters = SliceCounters()
    (counters.targets, counters.outcomes) = (3, [.accepted: 3])
    for _ in 1...2 {
      expect(try await world.store.slices.finish(slice, counters: counters, lane: .normal, worker: "w"), is: nil)
    }
    let record = try #require(try await world.store.campaigns.find("x"))
    expect(record.counters.outcomes, is: [.accepted: 3])
    expect(record.slices.total, is: reached.count + 1)
    expect(!record.placement.absent.contains(late))
    expect(try await world.workOff(campaign), is: reached)
    expect(try await world.store.campaigns.find("x")?.state, is: .completed)
    // The campaign has ended by then. It gets one more slice and stays ended.
    let later = try #require((0..<64).first { !reached.contains($0) && $0 != late })
    let last = SliceReference(campaign: "x", partition: later)
    expect(try await world.store.slices.finish(last, counters: counters, lane: .normal, worker: "w"), is: .completed)
    expect(try await world.store.campaigns.find("x")?.counters.outcomes[.accepted], is: 8)
    expect(try await world.store.campaigns.find("x")?.slices.finished, is: reached.count + 2)
  }

  @Test(arguments: Backend.allCases)
  func campaignWithoutPruningHasAllSlices(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 64, users: 0..<3)
    let campaign = try await world.activate("a", narrowing: false)
    expect(try await world.openSlices("a"), is: Set(0..<64))
    try await world.expectEnd(of: campaign, ["u0", "u1", "u2"])
  }

  @Test(arguments: Backend.allCases)
  func narrowedCampaignIsCancelled(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 64, users: 0..<3)
    let campaign = try await world.activate("a", narrowing: true)
    let reached = try await world.openSlices("a")
    expect(try await world.store.campaigns.control("a", .cancel), is: .cancelled)
    expect(try await world.workOff(campaign, ending: .cancel), is: reached)
    let record = try #require(try await world.store.campaigns.show("a"))
    expect(record.state == .cancelled && record.times.finishedAt != nil && record.counters.targets == 0)
    // None of the pruned slices comes back.
    expect(try await world.store.slices.reopenLost().opened, is: 0)
    expect(try await world.store.slices.dequeueSlice(worker: "w"), is: nil)
  }

  // MARK: Cost

  @Test func fiveTargetsCostWhatFiveSlicesCost() async throws {
    let server = try await RedisServer.start()
    let world = try await TestStore(on: .single, partitions: 256, server: server, users: 0..<2000)
    let users = Set((1...5).map { "u\($0)" })
    try await world.store.audiences.add(Array(users), to: "few")
    let slices = Self.partitions(users, of: 256).count
    try await world.command("CONFIG", "RESETSTAT")
    let campaign = try await world.activate("a", audience: #"{"segment":"few"}"#, narrowing: true)
    expect(try await world.workOff(campaign).count, is: slices)
    let calls = try await Self.calls(world)
    // One check of each partition.
    expect((256...264).contains(calls["exists", default: 0]), "\(calls)")
    expect(calls["eval", default: 0] + calls["evalsha", default: 0] <= 4 + 12 * slices, "\(calls)")
    expect(calls["expire", default: 0] <= 4 + 6 * slices, "\(calls)")
    // The same campaign with a slice in every partition shows that the counts depend on pruning.
    try await world.command("CONFIG", "RESETSTAT")
    expect(try await world.workOff(world.activate("b", audience: #"{"segment":"few"}"#)).count, is: 256)
    let unnarrowed = try await Self.calls(world)
    expect(unnarrowed["evalsha", default: 0] > 1500 && unnarrowed["expire", default: 0] > 1200, "\(unnarrowed)")
    await world.redis.close()
    await server.stop()
  }

  /// The number of calls of each command since the last reset, including calls by scripts.
  private static func calls(_ world: TestStore) async throws -> [String: Int] {
    var calls: [String: Int] = [:]
    for (name, value) in try await world.redis.serverInfo(section: "commandstats").fields {
      guard name.hasPrefix("cmdstat_"), let count = value.split(separator: ",").first?.split(separator: "=").last else {
        continue
      }
      calls[String(name.dropFirst("cmdstat_".count))] = Int(count)
    }
    return calls
  }

  // MARK: Helpers

  private static func partitions(_ users: Set<String>, of count: Int = 64) -> Set<Int> {
    Set(users.map { Partition.of(user: $0, count: count) })
  }
}
