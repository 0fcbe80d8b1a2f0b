import APNsSimulator
import TestKit
import Testing

@Suite struct DuplicateTests {
  private static let first = "01234567-89ab-4cde-8f01-23456789abcd"
  private static let second = "11234567-89ab-4cde-8f01-23456789abcd"

  private func push(_ ids: [String?], to scene: Scene, device: String = Scene.device) async throws {
    try await scene.withConnectedClient { (client) async throws in
      for id in ids {
        _ = try await client.send([try scene.request(device) { fields in id.map { fields.set("apns-id", $0) } }])
      }
    }
  }

  @Test func deliveriesBeyondTheFirstAreCounted() async throws {
    try await Scene.run { (scene) async throws in
      // Identifiers that differ only in case are equal.
      try await push([Self.first, Self.second, Self.first, Self.first.uppercased()], to: scene)
      let counters = await scene.simulator.counters()
      expect((counters.duplicates, counters.duplicatesReceived) == (2, 2))
      expect((counters.repeatedIDs, counters.maximumDeliveries) == (1, 3))
    }
  }

  @Test func retryAfterARejectionIsAcceptedOnlyOnce() async throws {
    try await Scene.run { (scene) async throws in
      scene.simulator.load([SimulatedDevice(token: [1], state: .bad)])
      try await push([Self.first], to: scene, device: "01")
      try await push([Self.first], to: scene)
      var counters = await scene.simulator.counters()
      expect((counters.duplicates, counters.duplicatesReceived) == (0, 1))
      try await push([Self.first], to: scene)
      counters = await scene.simulator.counters()
      expect((counters.duplicates, counters.duplicatesReceived) == (1, 2))
    }
  }

  @Test func requestsWithoutIdentifierAreNoDuplicates() async throws {
    try await Scene.run { (scene) async throws in
      try await push([nil, nil], to: scene)
      expect(await scene.simulator.counters().duplicatesReceived, is: 0)
    }
  }

  @Test func trackingCanBeOffAndResetForgets() async throws {
    try await Scene.run { (scene) async throws in
      try await push([Self.first], to: scene)
      await scene.simulator.reset()
      try await push([Self.first], to: scene)
      expect(await scene.simulator.counters().duplicatesReceived, is: 0)
      await scene.simulator.change { $0.tracksDuplicates = false }
      try await push([Self.first], to: scene)
      let counters = await scene.simulator.counters()
      expect((counters.duplicatesReceived, counters.received) == (0, 2))
    }
  }
}
