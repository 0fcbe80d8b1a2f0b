@testable import CampaignStore
import PushCore
import Redis
import TestKit
import Testing

/// Workers that can't send a campaign.
@Suite struct DeclineTests {
  private func decline(_ world: TestStore, _ worker: String, round: Int = 0, timeout: Int = TestStore.timeout)
    async throws
    -> DeclineAnswer
  {
    try await world.store.campaigns.decline("a", worker: worker, round: round, timeout: timeout)
  }

  @Test(arguments: Backend.allCases)
  func declineOfAllLiveWorkersIsUnanimous(on backend: Backend) async throws {
    let world = try await TestStore.made(on: backend, workers: "w1", "w2")
    expect(try await decline(world, "w1"), is: .others)
    expect(try await decline(world, "w1"), is: .others, "a second decline of the same worker does not count")
    expect(try await decline(world, "w2"), is: .unanimous)
  }

  @Test(arguments: Backend.allCases)
  func declineOfALoneWorkerIsUnanimous(on backend: Backend) async throws {
    let world = try await TestStore.made(on: backend, workers: "w1")
    expect(try await decline(world, "w1"), is: .unanimous)
  }

  @Test(arguments: Backend.allCases)
  func expiredDeclineDoesNotCount(on backend: Backend) async throws {
    let world = try await TestStore.made(on: backend, workers: "w1", "w2")
    _ = try await decline(world, "w1")
    // Simulates that the worker declined long ago.
    _ = try await world.command("ZADD", world.keys.declines("a"), "1000", "w1")
    expect(try await decline(world, "w2"), is: .others, "w1 lives, and may have been repaired")
  }

  @Test(arguments: Backend.allCases)
  func resumeMakesEarlierDeclinesOutdated(on backend: Backend) async throws {
    let world = try await TestStore.made(on: backend, workers: "w1")
    _ = try await world.store.campaigns.control("a", .pause, reason: "r")
    expect(try await decline(world, "w1"), is: .outdated)
    _ = try await world.store.campaigns.control("a", .resume)
    expect(try await decline(world, "w1"), is: .outdated, "a decline of the round before")
    expect(try await decline(world, "w1", round: 1), is: .unanimous)
    expect(
      try await world.store.campaigns.decline("none", worker: "w1", round: 0, timeout: TestStore.timeout), is: .outdated
    )
  }
}
