@testable import CampaignStore
import APNs
import PushCore
import Redis
import TestKit
import TestSupport
import Testing

/// Pause, resume and cancel. They change immediately which slices workers get.
struct CampaignControlTests {
  @Test(arguments: Backend.allCases)
  func pausedCampaignGivesNoSlicesUntilItIsResumed(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 3, activating: "a")
    let held = try #require(try await world.store.slices.dequeueSlice(worker: "w"))
    expect(try await world.store.campaigns.control("a", .pause, reason: "looks wrong"), is: .paused)
    expect(try await world.store.slices.dequeueSlice(worker: "w"), is: nil)
    expect(try await world.store.campaigns.find("a")?.reason, is: "looks wrong")
    // A slice that a worker returns during the pause waits with the others.
    try await world.store.slices.requeue(held, lane: .normal, worker: "w")
    expect(try await world.store.slices.dequeueSlice(worker: "w"), is: nil)
    expect(try await world.store.campaigns.control("a", .resume), is: .active)
    expect(try await world.store.campaigns.find("a")?.reason, is: nil)
    var dequeued: Set<Int> = []
    while let slice = try await world.store.slices.dequeueSlice(worker: "w") { dequeued.insert(slice.partition) }
    expect(dequeued, is: [0, 1, 2])
  }

  @Test(arguments: Backend.allCases)
  func verbThatDoesNotApplyChangesNothing(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1, activating: "a")
    expect(try await world.store.campaigns.control("a", .resume), is: .active)
    for _ in 0..<2 { expect(try await world.store.campaigns.control("a", .pause), is: .paused) }
    for _ in 0..<2 { expect(try await world.store.campaigns.control("a", .resume), is: .active) }
    for _ in 0..<2 { expect(try await world.store.campaigns.control("a", .cancel), is: .cancelled) }
    expect(try await world.store.campaigns.control("a", .pause), is: .cancelled)
    expect(try await world.store.campaigns.control("a", .resume), is: .cancelled)
    // The campaign is on its lane once.
    expect(try await world.command("LRANGE", world.keys.lane("normal"), 0, -1).map(\.string), is: ["a"])
  }

  @Test(arguments: Backend.allCases)
  func completedCampaignStaysCompleted(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1, activating: "a")
    let slice = try #require(try await world.store.slices.dequeueSlice(worker: "w"))
    _ = try await world.store.slices.finish(slice, counters: SliceCounters(), lane: .normal, worker: "w")
    for verb in [ControlVerb.pause, .resume, .cancel] {
      expect(try await world.store.campaigns.control("a", verb), is: .completed)
    }
  }

  @Test(arguments: Backend.allCases)
  func pauseOfAnEarlierRoundChangesNothing(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, activating: "a")
    expect(try await world.store.campaigns.control("a", .pause, round: 0), is: .paused)
    try await world.store.campaigns.control("a", .resume)
    let epoch = try await world.store.campaigns.syncControl([], worker: "w", applied: nil).epoch
    expect(try await world.store.campaigns.control("a", .pause, reason: "late", round: 0), is: .active)
    expect(try await world.store.campaigns.timeline(of: "a").count, is: 2)
    expect(try await world.store.campaigns.syncControl([], worker: "w", applied: nil).epoch, is: epoch)
    expect(try await world.store.campaigns.control("a", .pause, round: 1), is: .paused)
    // A pause of a later generation shows that Redis has lost resumes. It takes effect.
    try await world.store.campaigns.control("a", .resume)
    expect(try await world.store.campaigns.control("a", .pause, round: 5), is: .paused)
  }

  @Test(arguments: Backend.allCases)
  func pausedCampaignWhoseLastSliceFinishesIsCompleted(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1, activating: "a")
    let slice = try #require(try await world.store.slices.dequeueSlice(worker: "w"))
    try await world.store.campaigns.control("a", .pause)
    expect(
      try await world.store.slices.finish(slice, counters: SliceCounters(), lane: .normal, worker: "w"), is: .completed)
  }

  @Test(arguments: Backend.allCases)
  func cancelledCampaignGivesOutItsSlicesToBeClosed(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 600, activating: "a")
    var held: [SliceReference] = []
    for _ in 0..<5 { held.append(try #require(try await world.store.slices.dequeueSlice(worker: "w"))) }
    // Two slices are parked for an hour, but the cancel does not wait for them. One slice stays with its worker.
    for slice in held[0..<2] { expect(try await world.store.slices.park(slice, for: 3_600_000, worker: "w")) }
    try await world.store.campaigns.control("a", .pause)
    expect(try await world.store.campaigns.control("a", .cancel), is: .cancelled)
    expect(try await world.command("ZCARD", world.keys.parked).integer, is: 0)
    var dequeued: Set<Int> = []
    while let slice = try await world.store.slices.dequeueSlice(worker: "v") { dequeued.insert(slice.partition) }
    expect(dequeued, is: Set(0..<600).subtracting(held[2...].map(\.partition)))
    // The campaign has no parked slice any more.
    expect(try await world.store.slices.park(held[2], for: 1000, worker: "w"), is: false)
    try await world.store.slices.requeue(held[2], lane: .normal, worker: "w")
    expect(try await world.store.slices.dequeueSlice(worker: "v"), is: held[2])
  }

  @Test(arguments: Backend.allCases)
  func cancelThatWasCutShortCanBeRepeated(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 4, activating: "a")
    var held: [SliceReference] = []
    while let slice = try await world.store.slices.dequeueSlice(worker: "w") { held.append(slice) }
    for slice in held { expect(try await world.store.slices.park(slice, for: 3_600_000, worker: "w")) }
    try await world.command("HSET", world.keys.campaign("a"), "state", "cancelled")
    expect(try await world.store.campaigns.control("a", .cancel), is: .cancelled)
    var dequeued = 0
    while try await world.store.slices.dequeueSlice(worker: "v") != nil { dequeued += 1 }
    expect(dequeued, is: 4)
  }

  @Test(arguments: Backend.allCases)
  func unknownCampaignIsAnError(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    for verb in [ControlVerb.pause, .resume, .cancel] {
      let error = await #expect(throws: StoreError.self) { try await world.store.campaigns.control("nope", verb) }
      expect(error?.code, is: .notFound)
    }
    expect(try await world.store.campaigns.show("nope") == nil)
    await #expect(throws: StoreError.self) { try await world.store.results.forEachResult(of: "nope") { _ in true } }
  }

  @Test(arguments: Backend.allCases)
  func statesAreReadInOneCall(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    for id in ["a", "b", "c"] { try await world.activate(id) }
    try await world.store.campaigns.control("b", .pause)
    try await world.store.campaigns.control("c", .cancel)
    let view = try await world.store.campaigns.syncControl(["c", "x", "a", "b"], worker: "w", applied: nil)
    expect(view.states, is: [.cancelled, nil, .active, .paused])
    expect(view.rounds, is: [0, 0, 0, 0])
    expect(view.epoch, is: 2)
    expect(try await world.store.campaigns.syncControl([], worker: "w", applied: nil).states, is: [])
  }

  @Test(arguments: Backend.allCases)
  func controlIsConfirmedWhenEveryLiveWorkerHasAppliedIt(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1, activating: "a")
    for name in ["one", "two"] { _ = try await world.store.fleet.join(WorkerInstance(name: name, nonce: "0")) }
    // This worker has been silent for longer than any lease, so the command does not wait for it.
    try await world.command("ZADD", world.keys.workers, 1, "dead")
    async let confirmed = world.store.campaigns.controlEverywhere("a", .pause, lease: 60_000)
    try await poll(until: "the campaign is paused", every: .milliseconds(1)) {
      try await world.store.campaigns.find("a")?.state == .paused
    }
    let epoch = try await world.store.campaigns.syncControl([], worker: "one", applied: nil).epoch
    // Reading the control does not confirm it. The worker has to apply it first.
    expect(
      try await world.store.campaigns.workersLagging(behind: epoch, timeout: TestStore.timeout).sorted(),
      is: [
        "one", "two",
      ])
    _ = try await world.store.campaigns.syncControl([], worker: "one", applied: epoch)
    expect(try await world.store.campaigns.workersLagging(behind: epoch, timeout: TestStore.timeout), is: ["two"])
    // The second worker shuts down cleanly instead.
    try await world.store.fleet.removeWorker("two")
    let answer = try await confirmed
    expect(answer.state, is: .paused)
    expect(answer.unconfirmed, is: [])
    expect(try await world.command("ZSCORE", world.keys.applied, "two").isNull)
  }

  @Test(arguments: Backend.allCases)
  func controlThatALiveWorkerDoesNotApplyIsUnconfirmed(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1, activating: "a")
    _ = try await world.store.fleet.join(WorkerInstance(name: "deaf", nonce: "0"))
    // The worker counts as alive as long as the command waits for it, even on a slow machine.
    try await world.command("ZADD", world.keys.workers, 9_999_999_999_999, "deaf")
    let answer = try await world.store.campaigns.controlEverywhere("a", .cancel, lease: 100)
    expect(answer.state, is: .cancelled)
    expect(answer.unconfirmed, is: ["deaf"])
  }

  @Test(arguments: Backend.allCases)
  func idleIsWhenEveryCampaignHasEnded(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    expect(try await world.store.campaigns.isIdle())
    let job = TestStore.job("a", audience: #"{"segment":"*"}"#)
    _ = try await world.store.queue.submit(job, as: CampaignJob.parse(job, .any([APNsService()])))
    expect(try await world.store.campaigns.isIdle(), is: false)
    // A job that a worker is taking in counts as work.
    try await world.command("LMOVE", world.keys.campaigns, world.keys.intake(worker: "v"), "LEFT", "LEFT")
    _ = try await world.store.fleet.heartbeat(worker: "v", timeout: 1000)
    expect(try await world.store.campaigns.isIdle(), is: false)
    try await world.command("DEL", world.keys.intake(worker: "v"))
    expect(try await world.store.campaigns.isIdle())
    try await world.activate("b")
    expect(try await world.store.campaigns.isIdle(), is: false)
    // A cancelled campaign still has to be closed.
    try await world.store.campaigns.control("b", .cancel)
    expect(try await world.store.campaigns.isIdle(), is: false)
    let slice = try #require(try await world.store.slices.dequeueSlice(worker: "w"))
    _ = try await world.store.slices.finish(slice, counters: SliceCounters(), lane: .normal, worker: "w")
    expect(try await world.store.campaigns.isIdle())
  }
}
