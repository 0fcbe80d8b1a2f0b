import APNsSimulator
import HTTP2
import TLS
import TestKit
import Testing

/// Tests of each check, and of the order of two checks that both fail.
@Suite struct RequestCheckTests {
  private func expectAnswer(
    _ status: Int, _ reason: String, in scene: Scene, _ request: PushClient.Request,
    _ location: SourceLocation = #_sourceLocation
  ) async throws {
    let response = try await scene.push(request)
    expect(response.status, is: status, sourceLocation: location)
    expect(response.body, is: #"{"reason":"\#(reason)"}"#, sourceLocation: location)
    expect(response.headers["content-type"], is: "application/json", sourceLocation: location)
    expect(response.headers["apns-id"]?.count, is: 36, sourceLocation: location)
    expect(await scene.simulator.counters().reasons[reason], is: 1, sourceLocation: location)
  }

  @Test func goodPushIsAcceptedWithAnEmptyAnswer() async throws {
    try await Scene.run { (scene) async throws in
      let response = try await scene.push(try scene.request())
      expect(response.status, is: 200)
      expect(response.body.isEmpty)
      expect(response.headers.keys.sorted(), is: [":status", "apns-id"])
      let counters = await scene.simulator.counters()
      expect((counters.received, counters.accepted, counters.rejected, counters.bodyBytes) == (1, 1, 0, 22))
    }
  }

  @Test func everyHeaderOfATypicalPushIsTaken() async throws {
    try await Scene.run { (scene) async throws in
      let id = "01234567-89ab-4cde-8f01-23456789abcd"
      let request = try scene.request { fields in
        fields += [
          ("apns-id", id), ("apns-expiration", "0"), ("apns-priority", "5"),
          ("apns-collapse-id", String(repeating: "c", count: 64)), ("content-type", "application/json"),
        ]
      }
      let response = try await scene.push(request)
      expect(response.status, is: 200)
      expect(response.headers["apns-id"], is: id)
    }
  }

  @Test func otherPathsAreBad() async throws {
    try await Scene.run { try await expectAnswer(404, "BadPath", in: $0, try $0.request(path: "/2/device/ab")) }
  }

  @Test func otherMethodsAreNotAllowed() async throws {
    try await Scene.run {
      try await expectAnswer(405, "MethodNotAllowed", in: $0, try $0.request(method: "GET", body: nil))
    }
  }

  @Test func pathWithoutTokenMissesIt() async throws {
    try await Scene.run { try await expectAnswer(400, "MissingDeviceToken", in: $0, try $0.request("")) }
  }

  @Test(arguments: ["authorization", "apns-topic", "apns-push-type", "apns-unheard-of"])
  func repeatedHeaderIsADuplicate(name: String) async throws {
    try await Scene.run { (scene) async throws in
      let request = try scene.request { fields in
        fields.set(name, fields.first { $0.0 == name }?.1 ?? "x")
        fields.append((name, "x"))
      }
      try await expectAnswer(400, "DuplicateHeaders", in: scene, request)
    }
  }

  @Test func authorizationIsMandatory() async throws {
    try await Scene.run { (scene) async throws in
      try await expectAnswer(403, "MissingProviderToken", in: scene, try scene.request { $0.drop("authorization") })
    }
  }

  @Test func otherSchemesAreNoProviderToken() async throws {
    try await Scene.run { (scene) async throws in
      let request = try scene.request { $0.set("authorization", "basic abc") }
      try await expectAnswer(403, "MissingProviderToken", in: scene, request)
    }
  }

  @Test func schemeMayHaveAnyCase() async throws {
    try await Scene.run { (scene) async throws in
      let token = try scene.providerToken()
      let response = try await scene.push(try scene.request { $0.set("authorization", "Bearer \(token)") })
      expect(response.status, is: 200)
    }
  }

  @Test(arguments: ["nonsense", "a.b", "a.b.c", "..", "e30.e30.e30"])
  func malformedTokenIsInvalid(token: String) async throws {
    try await Scene.run {
      try await expectAnswer(403, "InvalidProviderToken", in: $0, try $0.request(token: token))
    }
  }

  @Test func tokenSignedByAnotherKeyIsInvalid() async throws {
    try await Scene.run { (scene) async throws in
      let token = try scene.providerToken(signedBy: try ECPrivateKey.generate())
      try await expectAnswer(403, "InvalidProviderToken", in: scene, try scene.request(token: token))
    }
  }

  @Test func unknownKeyOtherTeamAndOtherAlgorithmAreInvalid() async throws {
    try await Scene.run { (scene) async throws in
      let tokens = [
        try scene.providerToken(keyID: "ZZZZZZZZZZ"), try scene.providerToken(teamID: "ZZZZZZZZZZ"),
        try scene.providerToken(algorithm: "HS256"),
      ]
      for token in tokens {
        let response = try await scene.push(try scene.request(token: token))
        expect(response.body, is: #"{"reason":"InvalidProviderToken"}"#)
      }
    }
  }

  @Test func signatureMayBeDERUnlessForbidden() async throws {
    try await Scene.run { (scene) async throws in
      let request = try scene.request(token: try scene.providerToken(encode: der))
      expect(try await scene.push(request).status, is: 200)
      await scene.simulator.change { $0.acceptsDERSignatures = false }
      expect(try await scene.push(request).status, is: 403)
    }
  }

  @Test func tokenOlderThanAnHourIsExpired() async throws {
    try await Scene.run { (scene) async throws in
      expect(try await scene.push(try scene.request(token: try scene.providerToken(age: 3500))).status, is: 200)
      let token = try scene.providerToken(age: 3700)
      try await expectAnswer(403, "ExpiredProviderToken", in: scene, try scene.request(token: token))
    }
  }

  @Test func skewOfTheSimulatorsClockExpiresTokens() async throws {
    try await Scene.run {
      $0.knobs.clockSkewSeconds = 4000
    } _: { (scene) async throws in
      try await expectAnswer(403, "ExpiredProviderToken", in: scene, try scene.request())
    }
  }

  @Test(arguments: ["", "123", "0123456789abcdef0123456789abcdef0123", "01234567-89ab-4cde-8f01-23456789abcg"])
  func invalidUUIDIsABadIdentifier(id: String) async throws {
    try await Scene.run { (scene) async throws in
      try await expectAnswer(400, "BadMessageId", in: scene, try scene.request { $0.set("apns-id", id) })
    }
  }

  @Test(arguments: ["soon", "-1", "1.5", ""])
  func nonNumericExpirationIsBad(value: String) async throws {
    try await Scene.run { (scene) async throws in
      try await expectAnswer(
        400, "BadExpirationDate", in: scene, try scene.request { $0.set("apns-expiration", value) })
    }
  }

  @Test(arguments: ["0", "2", "high", "100"])
  func priorityIsTenFiveOrOne(value: String) async throws {
    try await Scene.run { (scene) async throws in
      try await expectAnswer(400, "BadPriority", in: scene, try scene.request { $0.set("apns-priority", value) })
    }
  }

  @Test func collapseIdentifierHasAtMost64Bytes() async throws {
    try await Scene.run { (scene) async throws in
      let request = try scene.request { $0.set("apns-collapse-id", String(repeating: "ü", count: 33)) }
      try await expectAnswer(400, "BadCollapseId", in: scene, request)
    }
  }

  @Test func unknownPushTypeIsInvalid() async throws {
    try await Scene.run { (scene) async throws in
      try await expectAnswer(400, "InvalidPushType", in: scene, try scene.request { $0.set("apns-push-type", "Alert") })
    }
  }

  /// Copy of Apple's table of push types: the topic's suffix, or the whole topic.
  private static let topics = [
    "alert": Scene.topic, "background": Scene.topic, "voip": Scene.topic + ".voip",
    "complication": Scene.topic + ".complication", "fileprovider": Scene.topic + ".pushkit.fileprovider",
    "mdm": "com.apple.mgmt.External.1", "location": Scene.topic + ".location-query",
    "liveactivity": Scene.topic + ".push-type.liveactivity", "pushtotalk": Scene.topic + ".voip-ptt",
    "controls": Scene.topic + ".push-type.controls", "widgets": Scene.topic + ".push-type.widgets",
  ]

  @Test(arguments: topics)
  func everyPushTypeIsKnown(type: String, topic: String) async throws {
    try await Scene.run { (scene) async throws in
      let request = try scene.request {
        $0.set("apns-push-type", type)
        $0.set("apns-topic", topic)
      }
      expect(try await scene.push(request).status, is: 200)
    }
  }

  @Test(arguments: [
    ("voip", Scene.topic), ("alert", Scene.topic + ".voip"), ("liveactivity", Scene.topic + ".voip"),
    ("mdm", Scene.topic), ("widgets", Scene.topic + ".push-type.controls"),
  ])
  func topicGoesWithThePushType(type: String, topic: String) async throws {
    try await Scene.run { (scene) async throws in
      let request = try scene.request {
        $0.set("apns-push-type", type)
        $0.set("apns-topic", topic)
      }
      var knobs = scene.simulator.knobs
      try await expectAnswer(400, "TopicDisallowed", in: scene, request)
      knobs.mismatchedTopic = .badTopic
      await scene.simulator.set(knobs)
      try await expectAnswer(400, "BadTopic", in: scene, request)
      knobs.mismatchedTopic = .accept
      await scene.simulator.set(knobs)
      expect(try await scene.push(request).status, is: 200)
    }
  }

  @Test func topicIsMandatory() async throws {
    try await Scene.run { (scene) async throws in
      try await expectAnswer(400, "MissingTopic", in: scene, try scene.request { $0.drop("apns-topic") })
    }
  }

  @Test(arguments: ["", "com example", "com.example/app"])
  func malformedTopicIsBad(topic: String) async throws {
    try await Scene.run { (scene) async throws in
      try await expectAnswer(400, "BadTopic", in: scene, try scene.request { $0.set("apns-topic", topic) })
    }
  }

  @Test func topicOutsideTheKeysListIsDisallowed() async throws {
    try await Scene.run {
      $0.keys[0].topics = ["com.example.other"]
    } _: { (scene) async throws in
      try await expectAnswer(400, "TopicDisallowed", in: scene, try scene.request())
    }
  }

  @Test func bodyIsMandatory() async throws {
    try await Scene.run { (scene) async throws in
      try await expectAnswer(400, "PayloadEmpty", in: scene, try scene.request(body: nil))
      expect(try await scene.push(try scene.request(body: [])).body, is: #"{"reason":"PayloadEmpty"}"#)
    }
  }

  @Test(arguments: [("alert", 4096), ("voip", 5120), ("pushtotalk", 4096)])
  func bodyMayBeAsLargeAsItsPushTypeAllows(type: String, limit: Int) async throws {
    try await Scene.run { (scene) async throws in
      let request = { (size: Int) in
        try scene.request(body: [UInt8](repeating: 0x20, count: size)) {
          $0.set("apns-push-type", type)
          $0.set("apns-topic", Self.topics[type] ?? "")
        }
      }
      expect(try await scene.push(try request(limit)).status, is: 200)
      try await expectAnswer(413, "PayloadTooLarge", in: scene, try request(limit + 1))
    }
  }

  @Test(arguments: ["xyz", "abc", "zz", String(repeating: "ab", count: 256)])
  func nonHexadecimalTokenIsBad(token: String) async throws {
    try await Scene.run { try await expectAnswer(400, "BadDeviceToken", in: $0, try $0.request(token)) }
  }

  @Test func authenticationIsJudgedBeforeTheDeviceToken() async throws {
    try await Scene.run {
      try await expectAnswer(403, "InvalidProviderToken", in: $0, try $0.request("junk", token: "junk"))
    }
  }

  @Test func payloadIsJudgedBeforeTheDeviceToken() async throws {
    try await Scene.run { try await expectAnswer(400, "PayloadEmpty", in: $0, try $0.request("junk", body: nil)) }
  }

  @Test func knobDecidesWhetherUrgentBackgroundIsAccepted() async throws {
    try await Scene.run { (scene) async throws in
      let request = try scene.request {
        $0.set("apns-push-type", "background")
        $0.set("apns-priority", "10")
      }
      expect(try await scene.push(request).status, is: 200)
      await scene.simulator.change { $0.rejectsUrgentBackground = true }
      try await expectAnswer(400, "BadPriority", in: scene, request)
    }
  }

  @Test func headerListOverTheAnnouncedSizeIsRefused() async throws {
    try await Scene.run { (scene) async throws in
      let response = try await scene.push(try scene.request { $0.set("x-long", String(repeating: "x", count: 8000)) })
      expect(response.error, is: .refusedStream)
      expect(await scene.simulator.counters().refusedStreams, is: 1)
    }
  }
}
