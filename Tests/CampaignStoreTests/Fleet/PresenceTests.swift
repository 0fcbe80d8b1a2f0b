@testable import CampaignStore
import EventLoop
import PushCore
import Redis
import TestKit
import Testing

/// Recovery of the slices and jobs of a dead worker, as soon as its lease has expired and not before.
struct PresenceTests {
  @Test(arguments: Backend.allCases)
  func parkedSliceComesBackWhenItIsDue(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 2, activating: "a")
    let soon = try #require(try await world.store.slices.dequeueSlice(worker: "w"))
    let later = try #require(try await world.store.slices.dequeueSlice(worker: "w"))
    expect(try await world.store.slices.park(soon, for: 0, worker: "w"))
    expect(try await world.store.slices.park(later, for: 3_600_000, worker: "w"))
    expect(try await world.command("LLEN", world.keys.processing(worker: "w")).integer, is: 0)
    expect(try await world.store.slices.dequeueSlice(worker: "w"), is: nil)
    let pulse = try await world.store.dueTasks("w")
    expect(pulse.due, is: [soon])
    // Several workers may unpark slices at the same time.
    for worker in ["w", "v"] { try await world.store.slices.unpark(pulse.due, worker: worker) }
    expect(try await world.store.slices.dequeueSlice(worker: "v"), is: soon)
    expect(try await world.store.slices.dequeueSlice(worker: "v"), is: nil)
    expect(try await world.store.dueTasks("w").due, is: [])
  }

  @Test(arguments: Backend.allCases)
  func parkedSliceOfAnExpiredCampaignIsRemoved(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1, activating: "a")
    let slice = try #require(try await world.store.slices.dequeueSlice(worker: "w"))
    expect(try await world.store.slices.park(slice, for: 0, worker: "w"))
    try await world.command("DEL", world.keys.campaign("a"))
    try await world.store.slices.unpark(try await world.store.dueTasks("w").due, worker: "w")
    expect(try await world.store.dueTasks("w").due, is: [])
  }

  /// - Returns: the listener and its messages, with `nil` when the subscription begins.
  private func listen(
    _ world: TestStore, as instance: WorkerInstance
  ) async -> (WakeListener, AsyncStream<WakeMessage?>) {
    let (messages, feed) = AsyncStream.makeStream(of: WakeMessage?.self)
    let listener = world.store.fleet.listener(for: instance, on: EventLoop(label: "listener")) { event in
      switch event {
      case .listening: feed.yield(nil)
      case .message(let message): feed.yield(message)
      case .deaf: feed.finish()
      }
    }
    await listener.start()
    return (listener, messages)
  }

  /// A leader signal costs Redis a write for each worker. While no campaign runs, it is only sent on request.
  @Test(arguments: Backend.allCases)
  func beatsAreFewerWhileNoCampaignRuns(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    let instance = WorkerInstance(name: "w", nonce: "0")
    let (listener, messages) = await listen(world, as: instance)
    var received = messages.makeAsyncIterator()
    expect(await received.next(), is: .some(nil))
    func housekeep(_ idleSignalDelay: Int?) async throws {
      let dueTasks = try await world.store.fleet.housekeep(
        as: instance, timeout: TestStore.timeout, signalInterval: 250, idleSignalDelay: idleSignalDelay)
      expect(dueTasks != nil)
    }
    try await housekeep(nil)
    try await housekeep(1000)
    expect(await received.next(), is: .beat(campaigns: 0, epoch: 0, next: 1000))
    try await world.activate("a")
    expect(await received.next(), is: .slices(1))
    try await housekeep(nil)
    expect(await received.next(), is: .beat(campaigns: 1, epoch: 0, next: 250))
    // The campaign has no slice left to take, but it is running.
    _ = try #require(try await world.store.slices.dequeueSlice(worker: "w"))
    expect(try await world.store.slices.dequeueSlice(worker: "w"), is: nil)
    try await housekeep(nil)
    expect(await received.next(), is: .beat(campaigns: 0, epoch: 0, next: 250))
    await listener.close()
  }

  /// A worker takes an abandoned slice even if it holds enough slices, so a message announces each abandoned slice.
  @Test(arguments: Backend.allCases)
  func slicesOfADeadWorkerAreAnnounced(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 2, activating: "a")
    let (listener, messages) = await listen(world, as: WorkerInstance(name: "w", nonce: "0"))
    var received = messages.makeAsyncIterator()
    expect(await received.next(), is: .some(nil))
    let slice = try #require(try await world.store.slices.dequeueSlice(worker: "dead"))
    expect(try await world.store.slices.takeOver(from: "dead"), is: [slice])
    expect(await received.next(), is: .left(slice))
    let another = SliceReference(campaign: "a", partition: 1 - slice.partition)
    expect(try await world.store.slices.dequeueSlice(worker: "v"), is: slice)
    // Another worker has taken the first slice in the meantime.
    expect(try await world.store.slices.dequeueFirst(of: [slice, another], worker: "w"), is: another)
    expect(try await world.store.slices.dequeueFirst(of: [slice, another], worker: "w"), is: nil)
    expect(try await processing(world, "w"), is: [another.description])
    try await world.store.slices.requeue(slice, lane: .normal, worker: "v")
    expect(await received.next(), is: .slices(1))
    try await world.store.campaigns.control("a", .pause)
    expect(try await world.store.slices.dequeueFirst(of: [slice], worker: "w"), is: nil)
    await listener.close()
  }

  /// A worker that starts under the name of a dead one checks twice. Between the checks another worker may have removed
  /// the name from the list.
  @Test(arguments: Backend.allCases)
  func workerOffTheListIsNotAlive(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    let dead = WorkerInstance(name: "w", nonce: "0")
    expect(try await world.store.fleet.join(dead))
    let seen = try #require(try await world.store.fleet.presence(of: "w"))
    func livesNow() async throws -> Bool {
      try await world.store.fleet.presences(of: [dead]).contains { $0.isAlive(since: seen) }
    }
    expect(try await !livesNow())
    // Redis' clock must have advanced by a millisecond.
    while try await world.store.time() / 1000 <= seen.heartbeat {}
    try await world.store.fleet.heartbeat(worker: "w", timeout: TestStore.timeout)
    expect(try await livesNow())
    try await world.store.fleet.removeWorker("w", nonce: "0")
    expect(try await !livesNow())
  }

  @Test(arguments: Backend.allCases)
  func silentWorkerIsNoticedByTheOthers(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    _ = try await world.store.fleet.heartbeat(worker: "old", timeout: TestStore.timeout)
    let pulse = try await world.store.dueTasks("w")
    expect(pulse.dead, is: [])
    expect(try await abs(pulse.now - world.store.time() / 1000) < TestStore.timeout)
    try await world.command("ZADD", world.keys.workers, pulse.now - 2 * TestStore.timeout, "old")
    expect(try await world.store.dueTasks("w").dead, is: ["old"])
    expect(try await world.store.dueTasks("w", timeout: 4 * TestStore.timeout).dead, is: [])
  }

  @Test(arguments: Backend.allCases)
  func liveLeaseOfASilentWorkerIsLeftAlone(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1, activating: "a")
    let slice = try #require(try await world.store.slices.dequeueSlice(worker: "slow"))
    _ = try await world.claimed("a", worker: "slow")
    expect(try await world.store.slices.takeOver(from: "slow"), is: [])
    expect(try await processing(world, "slow"), is: [slice.description])
    try await world.store.fleet.removeWorker("slow")
    // The worker stays listed as long as one of its slices is listed.
    try await world.command("ZADD", world.keys.workers, 1, "slow")
    try await world.store.fleet.removeWorker("slow")
    expect(try await world.store.dueTasks("w").dead, is: ["slow"])

    try await world.endLease("a")
    expect(try await world.store.slices.takeOver(from: "slow"), is: [slice])
    try await world.store.fleet.removeWorker("slow")
    expect(try await world.store.dueTasks("w").dead, is: [])
    expect(try await world.store.slices.dequeueSlice(worker: "w"), is: slice)
  }

  @Test(arguments: Backend.allCases)
  func unclaimedReferenceComesBackImmediately(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 2, activating: "a")
    let lost = try #require(try await world.store.slices.dequeueSlice(worker: "w"))
    let held = try #require(try await world.store.slices.dequeueSlice(worker: "w"))
    // The worker itself finds references in its list that a lost reply, or an earlier process of its name, left there.
    expect(try await world.store.slices.processing(of: "w"), is: [lost, held])
    expect(try await world.store.slices.takeOver(from: "w", only: [lost]), is: [lost])
    expect(try await processing(world, "w"), is: [held.description])
    expect(try await world.store.slices.dequeueSlice(worker: "w"), is: lost)
  }

  @Test(arguments: Backend.allCases)
  func referenceToAHeldSliceIsParkedUntilItsLeaseExpires(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1, activating: "a")
    let slice = try #require(try await world.store.slices.dequeueSlice(worker: "old"))
    _ = try await world.claimed("a", worker: "new")
    expect(try await world.store.slices.takeOver(from: "old"), is: [])
    expect(try await processing(world, "old"), is: [])
    expect(try await world.store.slices.dequeueSlice(worker: "w"), is: nil)
    let pulse = try await world.store.dueTasks("w")
    expect(pulse.due, is: [])
    let due = try #require(try await world.command("ZSCORE", world.keys.parked, slice.description).string)
    expect(abs((Double(due) ?? 0) - Double(pulse.now + TestStore.timeout)) < Double(TestStore.timeout / 2))
  }

  @Test(arguments: Backend.allCases)
  func heldSliceOfACancelledCampaignIsParked(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1, activating: "a")
    let slice = try #require(try await world.store.slices.dequeueSlice(worker: "w"))
    try await world.store.campaigns.control("a", .cancel)
    expect(try await world.store.slices.park(slice, for: 0, worker: "w"), is: false)
    try await world.store.slices.postpone(slice, for: 0, worker: "w")
    expect(try await processing(world, "w"), is: [])
    expect(try await world.store.dueTasks("w").due, is: [slice])
  }

  @Test(arguments: Backend.allCases)
  func referenceOfACampaignThatHasGoneIsDropped(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1, activating: "a")
    _ = try await world.store.slices.dequeueSlice(worker: "old")
    try await world.command("DEL", world.keys.campaign("a"))
    expect(try await world.store.slices.takeOver(from: "old"), is: [])
    expect(try await processing(world, "old"), is: [])
  }

  @Test(arguments: Backend.allCases)
  func jobOfADeadWorkerIsNextInTurn(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    // The oldest job is on the right in both lists.
    try await world.command("LPUSH", world.keys.intake(worker: "dead"), "1", "2")
    try await world.command("LPUSH", world.keys.campaigns, "3", "4")
    try await world.command("ZADD", world.keys.workers, 1, "dead")
    try await world.store.fleet.removeWorker("dead")
    expect(try await world.command("LRANGE", world.keys.campaigns, 0, -1).map(\.string), is: ["4", "3", "2", "1"])
    expect(try await world.command("ZSCORE", world.keys.workers, "dead").isNull)
  }

  @Test(arguments: Backend.allCases)
  func onlyTargetsInDoubtAreLeftToTheNextOwner(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    let dead = try await world.sealed("a", count: 100)
    expect(try await world.store.slices.dequeueSlice(worker: "dead") != nil)
    try await dead.commit(credit: 50)
    try await dead.commit(.accepted, 0..<30, credit: 20)
    try await world.endLease("a")
    expect(try await world.store.slices.takeOver(from: "dead").count, is: 1)
    expect(try await world.store.slices.dequeueSlice(worker: "w") != nil)
    let (ledger, progress) = try await world.claimed("a")
    expect(progress.inDoubt, is: 40)
    let (records, isOwner) = try await ledger.records(from: 0, count: progress.granted)
    expect(isOwner)
    expect(records.indices.filter { records[$0].state == .granted }, is: Array(30..<70))
    // The worker was only slow, not dead. Its answers still count, and the new owner has fewer targets in doubt.
    try await dead.commit(.accepted, 30..<40)
    expect(try await !dead.records(from: 0, count: progress.granted).isOwner)
    expect(try await ledger.commit().inDoubt, is: 30)
  }

  @Test(arguments: Backend.allCases)
  func referenceThatIsInNoListIsFoundMissing(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 12, activating: "a")
    var dequeued: [SliceReference] = []
    for _ in 0..<6 { dequeued.append(try #require(try await world.store.slices.dequeueSlice(worker: "w"))) }
    expect(try await world.store.slices.park(dequeued[0], for: 3_600_000, worker: "w"))
    _ = try await world.store.slices.finish(dequeued[1], counters: SliceCounters(), lane: .normal, worker: "w")
    expect(try await world.store.slices.reopenLost().opened, is: 0)
    // Two references get lost, as when two workers share a name and a list.
    for slice in dequeued[2...3] { try await world.store.slices.dismiss(slice, worker: "w") }
    expect(try await world.store.slices.reopenLost().opened, is: 2)
    expect(try await world.store.slices.reopenLost().opened, is: 0)
    var open: Set<Int> = []
    while let slice = try await world.store.slices.dequeueSlice(worker: "v") { open.insert(slice.partition) }
    expect(open, is: Set(0..<12).subtracting([dequeued[0], dequeued[1], dequeued[4], dequeued[5]].map(\.partition)))
  }

  @Test(arguments: Backend.allCases)
  func partitionWithoutASliceIsNotMissing(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 20)
    try await world.activate("a", audience: #"{"users":["x","y","z"]}"#)
    let slice = try #require(try await world.store.slices.dequeueSlice(worker: "w"))
    expect(try await world.store.slices.reopenLost().opened, is: 0)
    try await world.store.campaigns.control("a", .pause)
    try await world.store.slices.dismiss(slice, worker: "w")
    expect(try await world.store.slices.reopenLost().opened, is: 1)
    // The slice of the paused campaign is open and on no lane.
    expect(try await world.store.slices.dequeueSlice(worker: "w"), is: nil)
    try await world.store.campaigns.control("a", .resume)
    var open: Set<Int> = []
    while let slice = try await world.store.slices.dequeueSlice(worker: "w") { open.insert(slice.partition) }
    expect(open, is: Set(["x", "y", "z"].map { Partition.of(user: $0, count: 20) }))
  }

  @Test(arguments: Backend.allCases)
  func endedOrExpiredCampaignIsNotRepaired(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    for id in ["gone", "ended"] { try await world.activate(id) }
    try await world.command("DEL", world.keys.campaign("gone"))
    let slice = SliceReference(campaign: "ended", partition: 0)
    _ = try await world.store.slices.finish(slice, counters: SliceCounters(), lane: .normal, worker: "w")
    expect(try await world.store.slices.reopenLost().opened, is: 0)
    expect(try await world.command("EXISTS", world.keys.running).integer, is: 0)
  }

  private func processing(_ world: TestStore, _ worker: String) async throws -> [String] {
    try await world.command("LRANGE", world.keys.processing(worker: worker), 0, -1).compactMap(\.string)
  }
}
