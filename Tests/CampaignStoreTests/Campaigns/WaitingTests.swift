@testable import CampaignStore
import TestKit
import Testing

/// The reason of a campaign's wait, and its beginning.
struct WaitingTests {
  @Test(arguments: Backend.allCases)
  func waitIsTheLongestSinceTheStartOfTheCampaign(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, users: 0..<2, activating: "a")
    let createdAt = try #require(try await world.store.campaigns.show("a")).times.createdAt
    expect(try await world.store.campaigns.show("a")?.waiting, is: nil)
    // The push service had been unreachable for a long time before.
    try await world.reportWaiting("a", worker: "w1", reason: "out of reach", since: 7)
    try await world.reportWaiting("a", worker: "w2", reason: "not answering", since: createdAt + 5000)
    expect(
      try await world.store.campaigns.show("a")?.waiting, is: CampaignWait(reason: "out of reach", since: createdAt))
    try await world.store.campaigns.clearWaiting("a", worker: "w1")
    expect(
      try await world.store.campaigns.show("a")?.waiting,
      is: CampaignWait(reason: "not answering", since: createdAt + 5000))
    try await world.store.campaigns.clearWaiting("a", worker: "w2")
    expect(try await world.store.campaigns.show("a")?.waiting, is: nil)
  }
}
