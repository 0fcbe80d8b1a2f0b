@testable import CampaignStore
import PushCore
import Redis
import TestKit
import Testing

/// Withdrawal of a worker with mostly bad answers from a campaign that other workers can send.
@Suite struct DeclineDecisionTests {
  private func report(_ world: TestStore, _ news: GuardCounts = GuardCounts(), wanted: Int = 0) async throws
    -> GuardTrialAnswer
  {
    try #require(
      try await world.store.limits.guardTrial(
        "a", app: "news", minimum: 100, lease: TestStore.timeout, wanted: wanted, news: news, returned: 0, round: 0))
  }

  private func leave(
    _ world: TestStore, _ worker: String, reported: GuardCounts = GuardCounts(), leased: Int = 0, isOpen: Bool = false,
    round: Int = 0
  ) async throws -> DeclineDecision {
    try await world.store.limits.decideDecline(
      of: worker, from: "a", app: "news", policy: GuardPolicy(minimum: 100), isOpen: isOpen, reported: reported,
      leased: leased,
      timeout: TestStore.timeout, round: round)
  }

  @Test(arguments: Backend.allCases)
  func loneWorkerDoesNotWithdraw(on backend: Backend) async throws {
    let world = try await TestStore.made(on: backend, workers: "w1")
    expect(try await leave(world, "w1"), is: .stay)
    _ = try await world.store.fleet.heartbeat(worker: "w2", timeout: TestStore.timeout)
    _ = try await world.store.campaigns.decline("a", worker: "w2", round: 0, timeout: TestStore.timeout)
    expect(try await leave(world, "w1"), is: .stay, "the only other one can't send it either")
  }

  @Test(arguments: Backend.allCases)
  func withdrawalDropsAnswersAndReleasesSends(on backend: Backend) async throws {
    let world = try await TestStore.made(on: backend, workers: "w1", "w2")
    let (bad, good) = (GuardCounts(answers: 20, suspects: 19), GuardCounts(answers: 25, gone: 1))
    expect(try await report(world, bad, wanted: 100).leased, is: 100)
    expect(try await report(world, good, wanted: 100).leased, is: 100)
    expect(try await leave(world, "w1", reported: bad, leased: 100), is: .decline)
    let left = try await report(world, wanted: 500)
    expect(left, is: GuardTrialAnswer(counts: good, leased: 100, inFlight: 175, app: good))
    expect(
      try await world.store.campaigns.decline("a", worker: "w2", round: 0, timeout: TestStore.timeout), is: .unanimous,
      "that made w1 decline")
  }

  @Test(arguments: Backend.allCases)
  func repeatedWithdrawalGetsTheSameReply(on backend: Backend) async throws {
    let world = try await TestStore.made(on: backend, workers: "w1", "w2")
    let (bad, good) = (GuardCounts(answers: 20, suspects: 20), GuardCounts(answers: 50))
    _ = try await report(world, bad + good, wanted: 100)
    for _ in 1...2 { expect(try await leave(world, "w1", reported: bad, leased: 40), is: .decline) }
    expect(try await report(world), is: GuardTrialAnswer(counts: good, leased: 0, inFlight: 10, app: good))
  }

  @Test(arguments: Backend.allCases)
  func noWorkerWithdrawsIfAllAnswersAreBad(on backend: Backend) async throws {
    let world = try await TestStore.made(on: backend, workers: "w1", "w2")
    let bad = GuardCounts(answers: 20, suspects: 19)
    for others in [GuardCounts(answers: 25, suspects: 3), GuardCounts(answers: 25, gone: 13)] {
      _ = try await world.command("DEL", world.keys.guardTrial("a"))
      _ = try await report(world, bad + others)
      expect(try await leave(world, "w1", reported: bad), is: .stay)
      expect(try await report(world).counts, is: bad + others)
    }
  }

  /// The only known answers are bad and come from one worker. This worker withdraws, and the others get their answers
  /// with the sends that the fleet may still lease.
  @Test(arguments: Backend.allCases, [false, true])
  func oneWorkerWithdrawsIfTheOthersHaveNoAnswers(on backend: Backend, isOpen: Bool) async throws {
    let world = try await TestStore.made(on: backend, workers: "w1", "w2", "w3")
    let bad = GuardCounts(answers: 20, suspects: 20)
    expect(try await report(world, bad, wanted: 90).leased, is: 90)
    expect(try await leave(world, "w1", reported: bad, leased: 90, isOpen: isOpen), is: .decline)
    expect(try await report(world, wanted: 500).leased, is: 110, "what it has sent is spent")
    _ = try await report(world, bad)
    expect(try await leave(world, "w2", reported: bad, leased: 110, isOpen: isOpen), is: .stay)
  }

  /// The worker was alone when the trial began. A withdrawal would let the others exceed the trial's limit.
  @Test(arguments: Backend.allCases)
  func workerWithMoreThanHalfOfTheTrialStays(on backend: Backend) async throws {
    let world = try await TestStore.made(on: backend, workers: "w1", "w2")
    let bad = GuardCounts(answers: 20, suspects: 20)
    expect(try await report(world, wanted: 150).leased, is: 150)
    _ = try await report(world, bad)
    expect(try await leave(world, "w1", reported: bad, leased: 150), is: .stay)
    expect(try await report(world, wanted: 500).leased, is: 50)
    expect(try await leave(world, "w1", reported: bad, leased: 100), is: .decline)
  }

  /// Answers of the other workers during the trial do not cover later events.
  @Test(arguments: Backend.allCases)
  func oneWorkerWithdrawsAfterTheTrialInAnyCase(on backend: Backend) async throws {
    let world = try await TestStore.made(on: backend, workers: "w1", "w2", "w3")
    _ = try await report(world, GuardCounts(answers: 100), wanted: 100)
    expect(try await leave(world, "w1", isOpen: true), is: .decline)
    expect(try await leave(world, "w2", isOpen: true), is: .stay)
  }

  @Test(arguments: Backend.allCases)
  func resumedCampaignIsAnother(on backend: Backend) async throws {
    let world = try await TestStore.made(on: backend, workers: "w1", "w2")
    expect(try await leave(world, "w1", isOpen: true), is: .decline)
    _ = try await world.store.campaigns.control("a", .pause, reason: "r")
    expect(try await leave(world, "w2"), is: .outdated)
    _ = try await world.store.campaigns.control("a", .resume)
    expect(try await leave(world, "w2"), is: .outdated)
    expect(try await leave(world, "w2", isOpen: true, round: 1), is: .decline)
  }
}
