import APNsSimulator
import HTTP2
import TLS
import TestKit
import Testing

/// Push certificates: their permissions, and the errors of invalid ones (reference 3).
@Suite struct CertificateTests {
  private func run(
    _ change: (inout SimulatorConfiguration) -> Void = { _ in },
    _ body: (Scene, PushCertificateAuthority) async throws -> Void
  ) async throws {
    let authority = try PushCertificateAuthority()
    try await Scene.run {
      $0.clientAuthorityPEM = authority.authorityPEM
      change(&$0)
    } _: { (scene) async throws in
      try await body(scene, authority)
    }
  }

  /// Sends one push without a provider token and returns the answer.
  ///
  /// - Parameter fields: other values for header fields; an empty value removes the field.
  private func push(
    _ scene: Scene, _ identity: TLSIdentity, _ fields: [String: String] = [:]
  ) async throws -> PushClient.Response {
    let request = try scene.request { list in
      list.drop("authorization")
      for (name, value) in fields { if value.isEmpty { list.drop(name) } else { list.set(name, value) } }
    }
    return try await scene.withConnectedClient(identity: identity) { (client) async throws in
      return try await client.send([request])[0]
    }
  }

  @Test func certificateAllowsItsTopicAndTokensAreIgnored() async throws {
    try await run { (scene, authority) async throws in
      let identity = try authority.issue(topic: Scene.topic)
      expect(try await push(scene, identity).status, is: 200)
      expect(try await push(scene, identity, ["authorization": "bearer junk"]).status, is: 200)
      expect(try await push(scene, identity, ["apns-topic": ""]).status, is: 200)
      let other = try await push(scene, identity, ["apns-topic": "com.example.other"])
      expect((other.status, other.body) == (400, #"{"reason":"TopicDisallowed"}"#))
    }
  }

  @Test func certificateWithSeveralTopicsNeedsTheTopicHeader() async throws {
    try await run { (scene, authority) async throws in
      let topics = [Scene.topic, Scene.topic + ".voip"] + (0..<40).map { "com.example.long-enough-a-name.\($0)" }
      let identity = try authority.issue(topic: Scene.topic, topics: topics)
      let calls = try await push(
        scene, identity, ["apns-topic": Scene.topic + ".voip", "apns-push-type": "voip"])
      expect(calls.status, is: 200)
      expect(try await push(scene, identity, ["apns-topic": topics[41]]).status, is: 200)
      expect(try await push(scene, identity, ["apns-topic": ""]).body, is: #"{"reason":"MissingTopic"}"#)
      // Location pushes need a token: no certificate lists their topic.
      let location = try await push(
        scene, identity, ["apns-topic": Scene.topic + ".location-query", "apns-push-type": "location"])
      expect(location.body, is: #"{"reason":"TopicDisallowed"}"#)
    }
  }

  @Test func certificateStartsWith1000StreamsAndTokenWithOne() async throws {
    try await run { (scene, authority) async throws in
      let identity = try authority.issue(topic: Scene.topic)
      try await scene.withConnectedClient(identity: identity) { (client) async throws in
        expect(try await client.limits(until: 1000), is: [1000])
      }
      try await scene.withConnectedClient { (client) async throws in
        expect(try await client.limits(until: 1), is: [1])
        expect(try await client.send([try scene.request()])[0].status, is: 200)
      }
    }
  }

  @Test func certificateOfTheOtherEnvironmentGetsGoAwayFirst() async throws {
    try await run { (scene, authority) async throws in
      let identity = try authority.issue(topic: Scene.topic, environments: [.sandbox])
      try await scene.withConnectedClient(identity: identity) { (client) async throws in
        let goAway = try await client.goAway()
        expect(
          goAway, is: .init(lastStreamID: 0, error: .noError, debugData: #"{"reason":"BadCertificateEnvironment"}"#))
        await client.end()
        expect(await client.failure, is: nil)
      }
      let counters = await scene.simulator.counters()
      expect((counters.received, counters.faults) == (0, ["wrongCertificate": 1]))
      await scene.simulator.change { $0.refusesCertificateByGoAway = false }
      let response = try await push(scene, identity)
      expect((response.status, response.body) == (403, #"{"reason":"BadCertificateEnvironment"}"#))
    }
  }

  /// Returns the client's text for the alert. With TLS 1.3 the alert arrives after the handshake.
  private func alert(_ scene: Scene, _ identity: TLSIdentity) async throws -> String {
    try await scene.withClient(identity: identity) { (client) async throws in
      await #expect(throws: PushClient.Lost.self) { try await client.connect() }
      return await client.failure?.reason ?? ""
    }
  }

  @Test func certificateBeyondItsDatesIsRefusedByAlert() async throws {
    try await run { (scene, authority) async throws in
      let identity = try authority.issue(topic: Scene.topic, validity: -7200 ..< -3600)
      expect(try await alert(scene, identity).contains("certificate expired"))
    }
  }

  @Test func certificateOfAnotherAuthorityIsRefusedByAlert() async throws {
    try await run { (scene, _) async throws in
      let identity = try PushCertificateAuthority().issue(topic: Scene.topic)
      expect(try await alert(scene, identity).contains("unknown ca"))
    }
  }

  @Test(arguments: [
    (SimulatorKnobs.CertificateAlert.revoked, "certificate revoked"), (.expired, "certificate expired"),
    (.unknownAuthority, "unknown ca"),
  ])
  func knobRefusesACertificateInMidCampaign(
    alert wanted: SimulatorKnobs.CertificateAlert, words: String
  ) async throws {
    try await run { (scene, authority) async throws in
      let identity = try authority.issue(topic: Scene.topic)
      expect(try await push(scene, identity).status, is: 200)
      await scene.simulator.change { $0.certificateAlert = wanted }
      expect(try await alert(scene, identity).contains(words))
      // The knob does not affect a client without a certificate.
      expect(try await scene.push(try scene.request()).status, is: 200)
    }
  }

  @Test func withoutAnAuthorityNoCertificateIsAskedFor() async throws {
    let identity = try PushCertificateAuthority().issue(topic: Scene.topic)
    try await Scene.run { (scene) async throws in
      expect(try await push(scene, identity).body, is: #"{"reason":"MissingProviderToken"}"#)
    }
  }
}
