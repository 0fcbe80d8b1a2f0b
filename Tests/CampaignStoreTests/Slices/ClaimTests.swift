@testable import CampaignStore
import PushCore
import Redis
import TestKit
import Testing

/// Claims: a slice has one owner. Every change checks the claim, and only the lease decides how long a claim is valid.
struct ClaimTests {
  @Test(arguments: Backend.allCases)
  func liveLeaseKeepsOthersOut(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1, activating: "a")
    _ = try await world.claimed("a", worker: "w1")
    let other = SliceLedger(
      store: world.store, slice: SliceReference(campaign: "a", partition: 0), lease: 1000, app: "news")
    guard case .held(let left) = try await other.claim(worker: "w2") else {
      Issue.record("claimed a slice that another worker holds")
      return
    }
    expect((1...TestStore.timeout).contains(left))
    expect(try await world.slice("a").text["owner"], is: "w1")
  }

  @Test(arguments: Backend.allCases)
  func leaseThatRanOutGivesTheSliceToTheNext(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1, activating: "a")
    let first = try await world.claimed("a", worker: "w1", lease: 1)
    expect(first.progress.claims, is: 1)
    let other = SliceLedger(
      store: world.store, slice: SliceReference(campaign: "a", partition: 0), lease: TestStore.timeout, app: "news")
    // The lease lasts 1 ms by Redis' clock, so each round trip brings its end nearer.
    while true {
      if case .claimed(let progress) = try await other.claim(worker: "w2") {
        expect(progress.claims, is: 2)
        break
      }
    }
    expect(try await first.ledger.commit().isOwner, is: false)
    expect(try await other.commit().isOwner)
  }

  @Test(arguments: Backend.allCases)
  func claimWhoseReplyWasLostCanBeRepeated(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    let campaign = try await world.activate("a")
    try await world.registerUsers(0..<10)
    let (ledger, _) = try await world.claimed("a")
    guard case .claimed = try await ledger.claim(worker: "w") else {
      Issue.record("the owner was refused its own slice")
      return
    }
    expect(try await world.expand(ledger, campaign), is: 10)
  }

  @Test(arguments: Backend.allCases)
  func releasedSliceNeedsNoWaiting(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1, activating: "a")
    let (first, _) = try await world.claimed("a", worker: "w1")
    try await first.unclaim()
    let (second, progress) = try await world.claimed("a", worker: "w2")
    expect(progress.claims, is: 2)
    // Only the owner of a claim can release it.
    try await first.unclaim()
    expect(try await second.commit().isOwner)
  }

  @Test(arguments: Backend.allCases)
  func standingShowsTheNextOwnerTheProgress(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    let first = try await world.sealed("a", count: 10)
    try await first.commit(credit: 6)
    try await first.commit([0: .terminal(.accepted), 1: .waiting(milliseconds: 60_000)])
    try await first.unclaim()
    let progress = try await world.claimed("a").progress
    expect(progress.isSealed)
    expect(progress.count, is: 10)
    expect(progress.granted, is: 6)
    expect(progress.inDoubt, is: 4)
    expect(progress.waiting, is: 1)
  }

  @Test(arguments: Backend.allCases)
  func sliceThatHasEndedCantBeClaimed(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    let ledger = try await world.sealed("a", count: 1, granted: 1)
    try await ledger.commit([0: .terminal(.accepted)])
    expect(try await ledger.close(.finish).counters != nil)
    guard case .finished = try await ledger.claim(worker: "w") else {
      Issue.record("claimed a slice that had ended")
      return
    }
  }

  @Test(arguments: Backend.allCases)
  func everyStepRenewsTheLease(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1, users: 0..<10)
    let campaign = try await world.activate("a")
    let (ledger, _) = try await world.claimed("a")
    expect(try await world.leaseLeft("a") > TestStore.timeout / 2)

    // Before the seal, an empty commit renews the lease too. It then neither merges nor grants.
    try await world.endLease("a")
    let early = try await ledger.commit([0: .terminal(.accepted)], credit: 5)
    expect(early.isOwner)
    expect(early.granted, is: 0)
    expect(try await world.leaseLeft("a") > TestStore.timeout / 2)

    try await world.endLease("a")
    expect(try await world.expand(ledger, campaign), is: 10)
    expect(try await world.leaseLeft("a") > TestStore.timeout / 2)

    try await world.endLease("a")
    try await ledger.commit()
    expect(try await world.leaseLeft("a") > TestStore.timeout / 2)
  }

  @Test(arguments: Backend.allCases)
  func ownerWithAnExpiredLeaseKeepsAnUnclaimedSlice(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    let ledger = try await world.sealed("a", count: 10)
    try await world.endLease("a")
    expect(try await ledger.commit(credit: 3).granted, is: 3)
    expect(try await world.leaseLeft("a") > TestStore.timeout / 2)
  }

  @Test(arguments: Backend.allCases)
  func staleOwnerCantBuildSealReleaseOrClose(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1, users: 0..<10)
    let campaign = try await world.activate("a")
    let (stale, _) = try await world.claimed("a", worker: "w1")
    try await world.endLease("a")
    let (owner, _) = try await world.claimed("a", worker: "w2")
    expect(try await world.expand(stale, campaign), is: nil)
    expect(try await world.slice("a").text["phase"], is: "expanding")
    expect(try await stale.close(.cancel).counters, is: nil)
    expect(try await world.expand(owner, campaign), is: 10)
    expect(try await stale.close(.cancel).counters, is: nil)
  }

  @Test(arguments: Backend.allCases)
  func ownerThatDiesBeforeTheSealLeavesNothingBehind(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1, users: 0..<10)
    let campaign = try await world.activate("a")
    let (dead, _) = try await world.claimed("a", worker: "w1")
    var pipeline = RedisPipeline()
    dead.append(SealedTargets(pages: (0..<7).map { [$0] }), to: &pipeline)
    expect(try await world.store.run(pipeline).map(\.integer), is: [5, 8])
    let left = try #require(try await world.command("TTL", world.building(dead)).integer)
    expect((1...SliceLedger.buildingLifetime).contains(left))
    try await world.endLease("a")
    let (ledger, progress) = try await world.claimed("a", worker: "w2")
    expect(!progress.isSealed)
    expect(try await world.expand(ledger, campaign), is: 10)
    expect(try await ledger.targets(from: 0, count: 100).count, is: 10)
    expect(try await !world.isBuilding(dead))
  }

  @Test(arguments: Backend.allCases)
  func targetsOfAStaleOwnerAreNeverSealedByAnother(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1, activating: "a")
    let (stale, _) = try await world.claimed("a", worker: "w1")
    try await world.endLease("a")
    let (owner, _) = try await world.claimed("a", worker: "w2")
    // Both owners build at the same time. The list of the stale owner does not exist any more.
    for page in 1...3 {
      var pipeline = RedisPipeline()
      stale.append(SealedTargets(pages: [[9]]), to: &pipeline)
      owner.append(SealedTargets(pages: [[UInt8(page)]]), to: &pipeline)
      expect(try await world.store.run(pipeline).map(\.integer), is: [0, page + 1])
    }
    var pipeline = RedisPipeline()
    stale.seal(SliceSeal(count: 3, pages: 3, departures: 0), to: &pipeline)
    owner.seal(SliceSeal(count: 3, pages: 3, departures: 0), to: &pipeline)
    expect(try await world.store.run(pipeline).map(\.integer), is: [-1, 1])
    expect(try await world.command("LRANGE", world.keys.targets(0, "a"), 0, -1).map { $0.bytes?.first }, is: [1, 2, 3])
  }

  @Test(arguments: Backend.allCases)
  func newClaimOfTheSameOwnerRestartsTheExpansion(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1, users: 0..<10)
    let campaign = try await world.activate("a")
    let (ledger, _) = try await world.claimed("a")
    var pipeline = RedisPipeline()
    ledger.append(SealedTargets(pages: [[1], [2]]), to: &pipeline)
    _ = try await world.store.run(pipeline)
    guard case .claimed = try await ledger.claim(worker: "w") else { Issue.record("not claimed"); return }
    expect(try await world.expand(ledger, campaign), is: 10)
    expect(try await ledger.targets(from: 0, count: 100).count, is: 10)
  }

  @Test(arguments: Backend.allCases)
  func longExpansionRenewsItsLeaseAndEndsIfItIsLost(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1, activating: "a")
    let (ledger, _) = try await world.claimed("a")
    var renewal = RedisPipeline()
    ledger.renewLease(to: &renewal)
    try await world.endLease("a")
    expect(try await SliceLedger.isRefused(world.store.run(renewal)[0]), is: false)
    expect(try await world.leaseLeft("a") > TestStore.timeout / 2)
    try await world.endLease("a")
    _ = try await world.claimed("a", worker: "other")
    let before = try await world.leaseLeft("a")
    expect(try await SliceLedger.isRefused(world.store.run(renewal)[0]))
    expect(try await world.leaseLeft("a") <= before)
    // A list that has expired or was sealed accepts no pages.
    try await world.command("DEL", world.building(ledger))
    var pipeline = RedisPipeline()
    ledger.append(SealedTargets(pages: [[1]]), to: &pipeline)
    expect(try await SliceLedger.isRefused(world.store.run(pipeline)[0]))
  }

  @Test(arguments: Backend.allCases)
  func sealIsRepeatableAndItsTargetsImmutable(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1, users: 0..<10)
    let campaign = try await world.activate("a")
    let (ledger, _) = try await world.claimed("a")
    expect(try await world.expand(ledger, campaign), is: 10)
    let sealed = try await ledger.targets(from: 0, count: 100).bytes
    var pipeline = RedisPipeline()
    ledger.seal(SliceSeal(count: 10, pages: 1, departures: 0), to: &pipeline)
    ledger.seal(SliceSeal(count: 11, pages: 1, departures: 0), to: &pipeline)
    ledger.append(SealedTargets(pages: [[1]]), to: &pipeline)
    expect(try await world.store.run(pipeline).map(\.integer), is: [1, -1, 0])
    expect(try await ledger.targets(from: 0, count: 100).bytes, is: sealed)
    expect(try await world.slice("a").numbers["count"], is: 10)
  }
}
