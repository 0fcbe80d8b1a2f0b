import APNsSimulator
import TLS
import TestKit
import Testing

/// Binding of a connection to a team and a key, and the allowed changes of its provider token (reference 2.3 to 2.5).
@Suite struct AuthenticationTests {
  /// A second key, of the same team or of another.
  private struct Other {
    let key: ECPrivateKey
    let keyID: String
    let teamID: String

    init(_ keyID: String, team: String = Scene.teamID) throws {
      key = try ECPrivateKey.generate()
      self.keyID = keyID
      teamID = team
    }

    func configured(
      topics: [String]? = nil, environment: SimulatorEnvironment? = nil, related: [String] = []
    ) -> SimulatorConfiguration.Key {
      .init(
        keyID: keyID, teamID: teamID, pem: key.publicPEM, topics: topics, environment: environment, related: related)
    }

    func token(_ scene: Scene) throws -> String {
      try scene.providerToken(keyID: keyID, teamID: teamID, signedBy: key)
    }
  }

  /// Sends the requests one after the other on one connection. Returns the reason of each answer; empty for 200.
  private func reasons(_ scene: Scene, _ tokens: [String?]) async throws -> [String] {
    try await scene.withConnectedClient { (client) async throws in
      var reasons: [String] = []
      for token in tokens {
        let body = try await client.send([try scene.request(token: token)])[0].body
        reasons.append(body.split(separator: "\"").dropFirst(3).first.map(String.init) ?? "")
      }
      return reasons
    }
  }

  @Test func keyOfAnotherTeamIsInvalidOnABoundConnection() async throws {
    let stranger = try Other("STRANGER01", team: "OTHERTEAM1")
    try await Scene.run {
      $0.keys.append(stranger.configured())
    } _: { (scene) async throws in
      let token = try stranger.token(scene)
      expect(try await reasons(scene, [nil, token, nil]), is: ["", "InvalidProviderToken", ""])
      expect(try await reasons(scene, [token]), is: [""])
    }
  }

  @Test func keysOfATeamTakeTurnsAndKeysOfTopicsAreUnrelated() async throws {
    let (wide, narrow, other) = (try Other("WIDEKEY001"), try Other("NARROWKEY1"), try Other("NARROWKEY2"))
    try await Scene.run {
      $0.keys += [wide.configured(), narrow.configured(topics: [Scene.topic])]
      $0.keys.append(other.configured(topics: [Scene.topic]))
      $0.knobs.tokenUpdateSeconds = 0
    } _: { (scene) async throws in
      let (wide, narrow, other) = (try wide.token(scene), try narrow.token(scene), try other.token(scene))
      expect(try await reasons(scene, [nil, wide, nil, narrow]), is: ["", "", "", "UnrelatedKeyIdInToken"])
      expect(
        try await reasons(scene, [narrow, other, nil, narrow]),
        is: ["", "UnrelatedKeyIdInToken", "UnrelatedKeyIdInToken", ""])
    }
  }

  @Test func relatedKeyReplacesOneOnALiveConnection() async throws {
    let (old, new) = (try Other("NARROWKEY1"), try Other("NARROWKEY2"))
    try await Scene.run {
      $0.keys.append(old.configured(topics: [Scene.topic]))
      $0.keys.append(new.configured(topics: [Scene.topic], related: ["NARROWKEY1"]))
    } _: { (scene) async throws in
      expect(try await reasons(scene, [try old.token(scene), try new.token(scene)]), is: ["", ""])
    }
  }

  @Test func keyOfTheOtherEnvironmentPrecedesTheDeviceToken() async throws {
    let sandbox = try Other("SANDBOXKEY")
    try await Scene.run {
      $0.keys.append(sandbox.configured(environment: .sandbox))
      $0.knobs.unknownTokens = .bad
    } _: { (scene) async throws in
      let token = try sandbox.token(scene)
      expect(try await reasons(scene, [token]), is: ["BadEnvironmentKeyIdInToken"])
      await scene.simulator.change { $0.spellings = ["BadEnvironmentKeyIdInToken": "BadEnvironmentKeyInToken"] }
      expect(try await reasons(scene, [token]), is: ["BadEnvironmentKeyInToken"])
    }
  }

  @Test func deviceTokenOfTheOtherEnvironmentIsBad() async throws {
    try await Scene.run {
      $0.environment = .sandbox
    } _: { (scene) async throws in
      scene.simulator.load([
        .init(token: [1], environment: .sandbox), .init(token: [2], environment: .production), .init(token: [3]),
      ])
      expect(try await scene.push(try scene.request("01")).status, is: 200)
      expect(try await scene.push(try scene.request("02")).body, is: #"{"reason":"BadDeviceToken"}"#)
      expect(try await scene.push(try scene.request("03")).status, is: 200)
      _ = try await scene.control("POST", "/devices", "03,registered,,,production\n")
      expect(try await scene.push(try scene.request("03")).body, is: #"{"reason":"BadDeviceToken"}"#)
    }
  }

  @Test func keyOfATopicTakesItsSuffixedTopicsToo() async throws {
    let narrow = try Other("NARROWKEY1")
    try await Scene.run {
      $0.keys.append(narrow.configured(topics: [Scene.topic]))
    } _: { (scene) async throws in
      let token = try narrow.token(scene)
      let calls = try scene.request(token: token) {
        $0.set("apns-push-type", "voip")
        $0.set("apns-topic", Scene.topic + ".voip")
      }
      expect(try await scene.push(calls).status, is: 200)
      let other = try scene.request(token: token) { $0.set("apns-topic", "com.example.other") }
      expect(try await scene.push(other).body, is: #"{"reason":"TopicDisallowed"}"#)
    }
  }

  @Test func secondProviderTokenChangeWithin20MinutesIsRefused() async throws {
    try await Scene.run { (scene) async throws in
      let tokens = try (1...4).map { try scene.providerToken(age: Int64($0)) }
      try await scene.withConnectedClient { (client) async throws in
        let send = { (token: String) async throws in try await client.send([try scene.request(token: token)])[0] }
        // The first change of the token is free, and requests with the earlier token may still arrive.
        for token in [tokens[0], tokens[1], tokens[0], tokens[1]] { expect(try await send(token).status, is: 200) }
        let refused = try await send(tokens[2])
        expect((refused.status, refused.body) == (429, #"{"reason":"TooManyProviderTokenUpdates"}"#))
        // The simulator sends this reason before it examines the token.
        expect(try await send("junk").status, is: 429)
        expect(try await send(tokens[1]).status, is: 200)
        await scene.simulator.change { $0.clockSkewSeconds = 1201 }
        expect(try await send(tokens[3]).status, is: 200)
      }
    }
  }

  @Test func knobMakesAddressesShareTheirUpdates() async throws {
    try await Scene.run {
      $0.knobs.limitsTokenUpdatesByAddress = true
    } _: { (scene) async throws in
      for (age, status) in [(1, 200), (2, 200), (3, 429)] {
        let request = try scene.request(token: try scene.providerToken(age: Int64(age)))
        expect(try await scene.push(request).status, is: status)
      }
      expect(await scene.simulator.counters().reasons, is: ["TooManyProviderTokenUpdates": 1])
    }
  }

  @Test func keyRevokedInMidConnectionIsInvalidFromThenOn() async throws {
    try await Scene.run { (scene) async throws in
      try await scene.withConnectedClient { (client) async throws in
        expect(try await client.send([try scene.request()])[0].status, is: 200)
        expect(try await scene.control("PUT", "/knobs", #"{"revokedKeys":["\#(Scene.keyID)"]}"#).status, is: 200)
        expect(try await client.send([try scene.request()])[0].body, is: #"{"reason":"InvalidProviderToken"}"#)
      }
    }
  }

  @Test func deviceTokenGetsNoMorePushesThanItsRateAllows() async throws {
    try await Scene.run {
      $0.knobs.tokenBurst = 2
      $0.knobs.tokenRefillMilliseconds = 1_000_000_000
    } _: { (scene) async throws in
      for expected in [200, 200, 429] { expect(try await scene.push(try scene.request("AB")).status, is: expected) }
      expect(try await scene.push(try scene.request("cd")).status, is: 200)
      let counters = await scene.simulator.counters()
      expect((counters.reasons, counters.faults) == (["TooManyRequests": 1], ["tokenBurst": 1]))
    }
  }
}
