import APNsSimulator
import TestKit
import Testing

/// Pushes after an answer of 200 (reference 8.4).
@Suite struct DeliveryTests {
  private let device: [UInt8] = [0xAB, 0xCD]

  /// Returns the numbers of accepted, delivered, stored, overwritten and expired pushes.
  private func counts(_ scene: Scene) async -> [Int] {
    let counters = await scene.simulator.counters()
    return [counters.accepted, counters.delivered, counters.stored, counters.overwritten, counters.expired]
  }

  private func push(_ scene: Scene, _ fields: [(String, String)] = []) async throws {
    let request = try scene.request("abcd") { list in for (name, value) in fields { list.set(name, value) } }
    expect(try await scene.push(request).status, is: 200)
  }

  @Test func reachableDeviceGetsEveryPush() async throws {
    try await Scene.run { (scene) async throws in
      for _ in 0..<3 { try await push(scene) }
      expect(await counts(scene), is: [3, 3, 0, 0, 0])
    }
  }

  @Test func deviceThatWasAwayGetsTheNewestPushOfEachTopic() async throws {
    try await Scene.run { (scene) async throws in
      scene.simulator.set([device], online: false)
      for _ in 0..<3 { try await push(scene) }
      try await push(scene, [("apns-topic", Scene.topic + ".voip"), ("apns-push-type", "voip")])
      expect(await counts(scene), is: [4, 0, 2, 2, 0])
      scene.simulator.set([device], online: true)
      expect(await counts(scene), is: [4, 2, 0, 2, 0])
      try await push(scene)
      expect(await counts(scene), is: [5, 3, 0, 2, 0])
    }
  }

  @Test func pushThatMustNotWaitIsNeverKept() async throws {
    try await Scene.run { (scene) async throws in
      scene.simulator.set([device], online: false)
      try await push(scene, [("apns-expiration", "0")])
      try await push(scene, [("apns-expiration", "300")])
      expect(await counts(scene), is: [2, 0, 0, 0, 2])
    }
  }

  @Test func pushIsStoredUntilItsExpirationAndAtMost30Days() async throws {
    try await Scene.run { (scene) async throws in
      scene.simulator.set([device], online: false)
      let skip = { (seconds: Int64) async in
        var knobs = scene.simulator.knobs
        knobs.clockSkewSeconds += seconds
        // The provider token must not expire in this test.
        knobs.providerTokenSeconds = 1_000_000_000
        await scene.simulator.set(knobs)
      }
      try await push(scene, [("apns-expiration", "\(Clock.seconds + 3600)")])
      await skip(3500)
      expect(await counts(scene), is: [1, 0, 1, 0, 0])
      await skip(200)
      expect(await counts(scene), is: [1, 0, 0, 0, 1])
      try await push(scene, [("apns-expiration", "\(Clock.seconds + 365 * 86_400)")])
      await skip(30 * 86_400 + 1)
      scene.simulator.set([device], online: true)
      expect(await counts(scene), is: [2, 0, 0, 0, 2])
    }
  }

  @Test func collapseIdentifierReplacesTheShownPush() async throws {
    try await Scene.run {
      $0.knobs.tracksCollapse = true
    } _: { (scene) async throws in
      for id in ["a", "b", "a", "a"] { try await push(scene, [("apns-collapse-id", id)]) }
      try await push(scene)
      let counters = await scene.simulator.counters()
      expect((counters.delivered, counters.collapsed) == (5, 2))
      scene.simulator.set([device], online: false)
      try await push(scene, [("apns-collapse-id", "b")])
      scene.simulator.set([device], online: true)
      expect(await scene.simulator.counters().collapsed, is: 3)
    }
  }

  @Test func devicesGoAndComeThroughTheControlAPI() async throws {
    try await Scene.run { (scene) async throws in
      scene.simulator.load([.init(token: device, topic: Scene.topic)])
      expect(try await scene.control("POST", "/offline", "abcd\r\n").body, is: "{\"devices\":1}\n")
      try await push(scene)
      expect(await counts(scene), is: [1, 0, 1, 0, 0])
      expect(try await scene.control("POST", "/online", "abcd\nxyz\n").status, is: 400)
      expect(try await scene.control("POST", "/online", "abcd\n").status, is: 200)
      expect(await counts(scene), is: [1, 1, 0, 0, 0])
      // The other data of the device is unchanged.
      let other = try scene.request("abcd") { $0.set("apns-topic", "com.example.other") }
      expect(try await scene.push(other).body, is: #"{"reason":"DeviceTokenNotForTopic"}"#)
    }
  }

  @Test func rejectedPushMayReachTheDevice() async throws {
    try await Scene.run {
      $0.knobs.failures = [
        .init(share: 1, status: 500, reason: "InternalServerError", tokenPrefix: "ab", delivers: true),
        .init(share: 1, status: 503, reason: "ServiceUnavailable", topic: "com.example.other"),
      ]
    } _: { (scene) async throws in
      expect(try await scene.push(try scene.request("abcd")).status, is: 500)
      expect(try await scene.push(try scene.request("cdab")).status, is: 200)
      let other = try scene.request("cdab") { $0.set("apns-topic", "com.example.other") }
      expect(try await scene.push(other).status, is: 503)
      expect(await counts(scene), is: [1, 2, 0, 0, 0])
    }
  }
}
