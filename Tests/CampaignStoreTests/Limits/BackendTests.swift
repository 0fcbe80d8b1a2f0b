@testable import CampaignStore
import PushCore
import TestKit
import Testing

/// Health of the apps' own backends, which one worker checks for the whole fleet.
struct BackendTests {
  @Test(arguments: Backend.wholeWay)
  func storedBackendStatusIsReadByAll(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    expect(try await world.store.limits.backends().isEmpty)
    let slow = BackendStatus(
      app: "news", share: 0.25, badChecks: 3, since: 1000, at: 2000, reason: "status 503: \"no\"\nnow")
    let healthy = BackendStatus(app: "shop", at: 5)
    for status in [slow, healthy] { try await world.store.limits.save(status) }
    expect(try await world.store.limits.backends(), is: ["news": slow, "shop": healthy])
    try await world.store.limits.save(BackendStatus(app: "news", at: 3000))
    expect(try await world.store.limits.backends()["news"]?.isSlowed, is: false)
    // A value that Carillon did not write is ignored.
    for text in ["", "0 0 0 0 ", "2 0 0 0 ", "half 0 0 0 x", "0.5 1 2"] {
      try await world.command("HSET", world.keys.backends, "news", text)
      expect(try await world.store.limits.backends()["news"], is: nil, "\(text)")
    }
    // A throttling share that no worker renews expires.
    expect(slow.isCurrent(2000 + BackendStatus.memory - 1) && !slow.isCurrent(2000 + BackendStatus.memory))
    expect(
      try await world.store.limits.lease(10, of: .backend("news"), at: .perSecond(1000), returned: 0).leased, is: 1)
  }
}
