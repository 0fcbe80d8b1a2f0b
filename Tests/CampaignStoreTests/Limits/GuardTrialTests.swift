@testable import CampaignStore
import PushCore
import Redis
import TestKit
import Testing

/// Trial sends of a campaign while its guard is undecided.
@Suite struct GuardTrialTests {
  private func ask(
    _ world: TestStore, wanted: Int, news: GuardCounts = GuardCounts(), returned: Int = 0, lease: Int = 3_600_000,
    round: Int = 0
  ) async throws -> GuardTrialAnswer {
    try #require(
      try await world.store.limits.guardTrial(
        "a", app: "news", minimum: 100, lease: lease, wanted: wanted, news: news, returned: returned, round: round))
  }

  @Test(arguments: Backend.allCases)
  func fleetLeasesTwiceTheMinimum(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    expect(try await ask(world, wanted: 150).leased, is: 150)
    expect(try await ask(world, wanted: 150).leased, is: 50)
    expect(try await ask(world, wanted: 150), is: GuardTrialAnswer(counts: GuardCounts(), leased: 0, inFlight: 200))
  }

  @Test(arguments: Backend.allCases)
  func answersAddUpAndReturnedSendsAreLeasedAgain(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    _ = try await ask(world, wanted: 200)
    _ = try await ask(world, wanted: 0, news: GuardCounts(answers: 30, suspects: 20, gone: 5))
    let answer = try await ask(world, wanted: 500, news: GuardCounts(answers: 10, gone: 10), returned: 7)
    expect(answer.counts, is: GuardCounts(answers: 40, suspects: 20, gone: 15))
    // Answered sends are not leased again. At most twice the minimum may be sent.
    expect(answer.leased, is: 7)
    expect(answer.inFlight, is: 160)
  }

  /// Redis lost the call that leased sends, but receives the answers.
  @Test(arguments: Backend.allCases)
  func answersCountAsLeasedIfRedisLostTheLease(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    _ = try await ask(world, wanted: 0, news: GuardCounts(answers: 60), returned: 20)
    expect(try await ask(world, wanted: 500).leased, is: 140)
  }

  @Test(arguments: Backend.allCases)
  func nothingIsLeasedAfterEnoughAnswers(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    _ = try await ask(world, wanted: 120)
    expect(try await ask(world, wanted: 50, news: GuardCounts(answers: 100)).leased, is: 0)
  }

  @Test(arguments: Backend.allCases)
  func sendsOfADeadWorkerAreLeasedAgainAfterTheirLease(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    _ = try await ask(world, wanted: 200)
    _ = try await ask(world, wanted: 0, news: GuardCounts(answers: 10))
    expect(try await ask(world, wanted: 50).leased, is: 0)
    // The lease is in the past. A worker that requests nothing keeps waiting, because another may take over the dead
    // worker's sends.
    expect(try await ask(world, wanted: 0, lease: -1).inFlight, is: 190)
    expect(try await ask(world, wanted: 50, lease: -1).leased, is: 50)
    expect(try await ask(world, wanted: 500).leased, is: 140)
  }

  @Test(arguments: Backend.allCases)
  func resumedCampaignHasANewGuardTrial(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1, activating: "a")
    _ = try await ask(world, wanted: 200)
    _ = try await ask(world, wanted: 0, news: GuardCounts(answers: 90))
    try await world.store.campaigns.control("a", .pause)
    expect(try await ask(world, wanted: 1).leased, is: 0)
    try await world.store.campaigns.control("a", .resume)
    expect(
      try await ask(world, wanted: 200, round: 1),
      is: GuardTrialAnswer(counts: GuardCounts(), leased: 200, inFlight: 200))
  }

  @Test(arguments: Backend.allCases)
  func answersOfTheCampaignsOfAnAppAddUpUntilOneIsResumed(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1, activating: "a")
    try await world.activate("b")
    func report(_ id: String, _ news: GuardCounts, app: String = "news") async throws -> GuardCounts? {
      try await world.store.limits.guardTrial(
        id, app: app, minimum: 100, lease: 6000, wanted: 0, news: news, returned: 0, round: 0)?.app
    }
    expect(try await report("a", GuardCounts(answers: 60, suspects: 6)), is: GuardCounts(answers: 60, suspects: 6))
    expect(
      try await report("b", GuardCounts(answers: 40, gone: 4)), is: GuardCounts(answers: 100, suspects: 6, gone: 4))
    expect(try await report("b", GuardCounts(), app: "other"), is: GuardCounts())
    expect(
      try await report("b", GuardCounts(answers: 101, suspects: 9)), is: GuardCounts(answers: 100, suspects: 7, gone: 2)
    )
    try await world.store.campaigns.control("b", .cancel)
    // A campaign that has ended leaves no trial key behind.
    _ = try await world.command("DEL", world.keys.guardTrial("b"))
    expect(try await report("b", GuardCounts(answers: 1)), is: GuardCounts(answers: 101, suspects: 7, gone: 2))
    expect(try await world.command("EXISTS", world.keys.guardTrial("b")).integer, is: 0)
    try await world.store.campaigns.control("a", .pause)
    try await world.store.campaigns.control("a", .resume)
    expect(try await report("b", GuardCounts()), is: GuardCounts())
  }

  @Test(arguments: Backend.allCases)
  func answersFromBeforeTheResumeAreNotCounted(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1, activating: "a")
    _ = try await ask(world, wanted: 200)
    try await world.store.campaigns.control("a", .pause)
    try await world.store.campaigns.control("a", .resume)
    let late = try await world.store.limits.guardTrial(
      "a", app: "news", minimum: 100, lease: 6000, wanted: 1, news: GuardCounts(answers: 99, suspects: 99), returned: 0,
      round: 0)
    expect(late, is: nil)
    expect(try await ask(world, wanted: 0, round: 1).counts, is: GuardCounts())
  }

  // MARK: After the trial

  private func watch(_ world: TestStore, _ news: GuardCounts, round: Int = 0) async throws -> GuardCounts? {
    try await world.store.limits.guardWatch("a", minimum: 100, news: news, round: round)
  }

  @Test(arguments: Backend.allCases)
  func answersOfTheFleetAddUpAndOlderOnesWeighLess(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1, activating: "a")
    expect(try await watch(world, GuardCounts(answers: 150, suspects: 3)), is: GuardCounts(answers: 150, suspects: 3))
    let sum = GuardCounts(answers: 200, suspects: 4, gone: 10)
    expect(try await watch(world, GuardCounts(answers: 50, suspects: 1, gone: 10)), is: sum)
    // The sum is at most twice the minimum. Older counts are halved until the new answers fit.
    let next = GuardCounts(answers: 101, suspects: 3, gone: 5)
    expect(try await watch(world, GuardCounts(answers: 1, suspects: 1)), is: next)
    let last = GuardCounts(answers: 192, suspects: 10)
    expect(try await watch(world, GuardCounts(answers: 180, suspects: 10)), is: last)
  }

  @Test(arguments: Backend.allCases)
  func resumedCampaignIsWatchedAnew(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1, activating: "a")
    _ = try await watch(world, GuardCounts(answers: 50, suspects: 50))
    _ = try await world.store.campaigns.control("a", .pause, reason: "r")
    _ = try await world.store.campaigns.control("a", .resume)
    expect(try await watch(world, GuardCounts(answers: 1, suspects: 1)), is: nil)
    let one = GuardCounts(answers: 1, suspects: 1)
    expect(try await watch(world, one, round: 1), is: one)
  }

  /// A worker may report its last answers after the campaign has ended and its keys were removed.
  @Test(arguments: Backend.allCases)
  func endedCampaignLeavesNoWatchBehind(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1, activating: "a")
    try await world.store.campaigns.control("a", .cancel)
    let one = GuardCounts(answers: 1, suspects: 1)
    expect(try await watch(world, one), is: one)
    expect(try await world.command("EXISTS", world.keys.guardWatch("a")).integer, is: 0)
  }

  /// A worker isolates the damaged sum, and the next call begins a new one.
  @Test(arguments: Backend.allCases, ["inf", "nan", "1e308", "x", ""])
  func corruptSumIsIsolated(on backend: Backend, value: String) async throws {
    let world = try await TestStore(on: backend, partitions: 1, activating: "a")
    let store = world.store.fenced()
    store.admit(try await store.identify())
    let one = GuardCounts(answers: 1, suspects: 1)
    for write in ["HSET", "SET"] {
      let key = world.keys.guardWatch("a")
      _ =
        write == "SET"
        ? try await world.command("SET", key, value) : try await world.command("HSET", key, "answers", value)
      let error = await #expect(throws: StoreError.self) {
        try await store.limits.guardWatch("a", minimum: 100, news: one, round: 0)
      }
      expect(error?.damage == .list(key: key) && error?.message.contains(key) == true, "\(error as Any)")
      expect(try await store.limits.guardWatch("a", minimum: 100, news: one, round: 0), is: one)
      _ = try await world.command("DEL", key)
    }
    _ = try await world.command("SET", world.keys.declines("a"), value)
    await #expect(throws: StoreError.self) {
      try await store.campaigns.decline("a", worker: "w", round: 0, timeout: 1000)
    }
    expect(try await store.campaigns.decline("a", worker: "w", round: 0, timeout: 1000), is: .unanimous)
  }
}
