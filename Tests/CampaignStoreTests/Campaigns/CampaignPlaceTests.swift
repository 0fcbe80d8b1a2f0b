@testable import CampaignStore
import PushCore
import Redis
import Synchronization
import TestKit
import TestSupport
import Testing

/// Reads of the list of all campaigns, page by page, while campaigns expire or are activated.
struct CampaignPlaceTests {
  /// Runs `body`, and `interruption` before one of its steps.
  ///
  /// - Returns: whether `body` had that many steps.
  private func run(
    interruptedAt step: Int, by interruption: @escaping @Sendable () async throws -> Void,
    _ body: () async throws -> Void
  ) async throws -> Bool {
    let steps = Mutex(0)
    try await StoreSteps.$beforeEach.withValue(
      {
        let now = steps.withLock { steps in
          steps += 1
          return steps
        }
        if now == step { try await interruption() }
      }, operation: body)
    return steps.withLock { $0 } >= step
  }

  @Test(arguments: Backend.allCases)
  func placesOfTheSameMillisecondAreReadOnce(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    let ids = ["z"] + (0..<9).map { "c\($0)" } + ["a"]
    for (score, id) in zip([1] + Array(repeating: 2, count: 9) + [3], ids) {
      try await world.command("ZADD", world.keys.all, score, id)
    }
    for (order, expected) in [(CampaignOrder.oldestFirst, ids), (.newestFirst, ids.reversed())] {
      for count in 1...12 {
        var found: [String] = []
        try await world.store.campaigns.forEachPage(order, of: count) { page in
          found += page
          return true
        }
        expect(found, is: expected, "\(order), \(count)")
      }
    }
  }

  @Test(arguments: Backend.allCases)
  func erasureReachesAllWhileCampaignsExpire(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    for number in 0..<60 { try await world.activate("c\(number)", audience: #"{"users":["ada","ben"]}"#) }
    let reached = try await run(interruptedAt: 2) {
      try await world.command("ZREMRANGEBYRANK", world.keys.all, 0, 39)
    } _: {
      var pending = PendingErasure(at: 1)
      let erased = try await world.store.erasure.eraseFromCampaigns("ada", &pending)
      expect(erased, is: 60)
    }
    expect(reached)
    for number in 0..<60 {
      let users = try await world.command("SMEMBERS", world.keys.audience(0, "c\(number)")).compactMap(\.string)
      expect(users, is: ["ben"], "c\(number)")
    }
  }

  @Test func segmentUseIsFoundWhileCampaignsExpire() async throws {
    let world = try await TestStore(on: .single, partitions: 1, users: 0..<1)
    try await world.store.audiences.add(["u0"], to: "fans")
    try await world.activate("a", audience: #"{"segment":"fans"}"#)
    var (step, isReached) = (1, true)
    while isReached {
      let expired = (0..<CampaignStore.batch).map { "x\($0)" }
      for id in expired { try await world.command("ZADD", world.keys.all, 1, id) }
      isReached = try await run(interruptedAt: step) {
        try await world.command("ZREMRANGEBYSCORE", world.keys.all, 1, 1)
      } _: {
        let campaigns = try await world.store.audiences.campaigns(using: "fans")
        expect(campaigns, is: ["a"], "step \(step)")
      }
      step += 1
    }
    expect(step > 3)
  }

  @Test func outboxIsReadWhileItIsDelivered() async throws {
    let world = try await TestStore(on: .single, partitions: 1)
    let head = DeviceNotice.Head(at: 1, service: "apns", app: "news", campaign: "a")
    for number in 0..<80 {
      let notice = DeviceNotice(
        head: head, action: .pruned, reason: .none, unknownReason: "", instant: 1, token: TestStore.token(number),
        user: "u\(number)")
      try await world.command("RPUSH", world.keys.outbox(0), notice.bytes)
    }
    let reached = try await run(interruptedAt: 2) {
      try await world.command("LTRIM", world.keys.outbox(0), 32, -1)
    } _: {
      let tokens = try await world.store.repair.undelivered(in: 0)
      expect((32..<80).allSatisfy { tokens.contains(TestStore.token($0)) })
    }
    expect(reached)
  }
}
