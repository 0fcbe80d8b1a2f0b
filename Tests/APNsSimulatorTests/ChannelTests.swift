import APNsSimulator
import Foundation
import TLS
import TestKit
import Testing

/// Broadcasts and the management of their channels (reference 7).
@Suite struct ChannelTests {
  private static let app = "/1/apps/\(Scene.topic)"
  private static let creation = #"{"message-storage-policy":1,"push-type":"LiveActivity"}"#

  private func send(
    _ scene: Scene, _ method: String, _ path: String, _ fields: [(String, String)] = [], body: String? = nil
  ) async throws -> PushClient.Response {
    let request = try scene.request(path: path, method: method, body: body.map { Array($0.utf8) }) { list in
      list.drop("apns-topic")
      list.drop("apns-push-type")
      for (name, value) in fields { if value.isEmpty { list.drop(name) } else { list.set(name, value) } }
    }
    return try await scene.push(request)
  }

  private func create(_ scene: Scene, storage: Int = 1) async throws -> String {
    let body = #"{"message-storage-policy":\#(storage),"push-type":"LiveActivity"}"#
    let created = try await send(scene, "POST", Self.app + "/channels", body: body)
    expect(created.status == 201 && created.body.isEmpty)
    return try #require(created.headers["apns-channel-id"])
  }

  @Test func channelLivesFromCreationToDeletion() async throws {
    try await Scene.run { (scene) async throws in
      let (one, two) = (try await create(scene), try await create(scene, storage: 0))
      expect(one != two && Data(base64Encoded: one) != nil)
      let list = try await send(scene, "GET", Self.app + "/all-channels")
      expect(list.status, is: 200)
      let object = try JSONSerialization.jsonObject(with: Data(list.body.utf8)) as? [String: [String]]
      expect(object?["channels"], is: [one, two].sorted())
      let read = try await send(scene, "GET", Self.app + "/channels", [("apns-channel-id", two)])
      expect(read.body, is: #"{"message-storage-policy":0,"push-type":"LiveActivity"}"#)
      let deleted = try await send(scene, "DELETE", Self.app + "/channels", [("apns-channel-id", two)])
      expect(deleted.status == 204 && deleted.body.isEmpty)
      let gone = try await send(scene, "GET", Self.app + "/channels", [("apns-channel-id", two)])
      expect((gone.status, gone.body) == (400, #"{"reason":"ChannelNotRegistered"}"#))
      expect(await scene.simulator.counters().channels, is: 1)
    }
  }

  @Test func channelsBelongToOneApp() async throws {
    try await Scene.run { (scene) async throws in
      let channel = try await create(scene)
      let other = try await send(scene, "GET", "/1/apps/com.example.other/channels", [("apns-channel-id", channel)])
      expect(other.body, is: #"{"reason":"ChannelNotRegistered"}"#)
      expect(try await send(scene, "GET", "/1/apps/com.example.other/all-channels").body, is: #"{"channels":[]}"#)
    }
  }

  private func good(_ channel: String) -> [(String, String)] {
    [
      ("apns-channel-id", channel), ("apns-push-type", "liveactivity"), ("apns-expiration", "0"),
      ("apns-priority", "10"),
    ]
  }

  private let broadcast = "/4/broadcasts/apps/\(Scene.topic)"

  @Test func broadcastIsTakenWithItsRequestIDEchoed() async throws {
    try await Scene.run { (scene) async throws in
      let id = "01234567-89ab-4cde-8f01-23456789abcd"
      let fields = good(try await create(scene)) + [("apns-request-id", id)]
      let response = try await send(scene, "POST", broadcast, fields, body: #"{"aps":{}}"#)
      expect(response.status == 200 && response.body.isEmpty)
      expect(response.headers["apns-request-id"] == id && response.headers["apns-unique-id"]?.count == 36)
      expect(response.headers["apns-id"], is: nil)
      let cased = try await send(
        scene, "POST", broadcast, fields + [("apns-push-type", "LiveActivity")],
        body: String(repeating: " ", count: 5120))
      expect(cased.status, is: 200)
      expect(await scene.simulator.counters().broadcasts, is: 2)
    }
  }

  @Test(arguments: [
    ("apns-channel-id", "", "MissingChannelId"), ("apns-channel-id", "*", "BadChannelId"),
    ("apns-channel-id", "AAAA", "ChannelNotRegistered"), ("apns-push-type", "", "MissingPushType"),
    ("apns-push-type", "alert", "InvalidPushType"), ("apns-expiration", "", "BadExpirationDate"),
    ("apns-expiration", "soon", "BadExpirationDate"), ("apns-priority", "", "BadPriority"),
    ("apns-priority", "7", "BadPriority"), ("apns-request-id", "x", "BadMessageId"),
  ])
  func broadcastWithAWrongFieldIsRejected(field: String, value: String, reason: String) async throws {
    try await Scene.run { (scene) async throws in
      let fields = good(try await create(scene)) + [(field, value)]
      let response = try await send(scene, "POST", broadcast, fields, body: "{}")
      expect((response.status, response.body) == (400, #"{"reason":"\#(reason)"}"#))
      expect(response.headers["apns-request-id"] != nil)
    }
  }

  @Test func broadcastIsStoredOnlyByAStoringChannel() async throws {
    try await Scene.run { (scene) async throws in
      let later = [("apns-expiration", "\(Clock.seconds + 60)")]
      let storing = try await send(scene, "POST", broadcast, good(try await create(scene)) + later, body: "{}")
      expect(storing.status, is: 200)
      let not = try await send(scene, "POST", broadcast, good(try await create(scene, storage: 0)) + later, body: "{}")
      expect(not.body, is: #"{"reason":"BadExpirationDate"}"#)
    }
  }

  @Test(arguments: [("", 400, "PayloadEmpty"), (String(repeating: " ", count: 5121), 413, "PayloadTooLarge")])
  func broadcastHasABodyOfAtMost5120Bytes(body: String, status: Int, reason: String) async throws {
    try await Scene.run { (scene) async throws in
      let response = try await send(scene, "POST", broadcast, good(try await create(scene)), body: body)
      expect((response.status, response.body) == (status, #"{"reason":"\#(reason)"}"#))
    }
  }

  @Test(arguments: [
    ("{", "BadRequestPayload"), (#"{"message-storage-policy":1,"push-type":"LiveActivity","x":1}"#, "BadRequestParams"),
    (#"{"message-storage-policy":7,"push-type":"LiveActivity"}"#, "BadRequestParams"), ("", "PayloadEmpty"),
    (#"{"message-storage-policy":1}"#, "MissingPushType"),
    (#"{"message-storage-policy":1,"push-type":"alert"}"#, "InvalidPushType"),
  ])
  func creationWithAWrongBodyIsRejected(body: String, reason: String) async throws {
    try await Scene.run { (scene) async throws in
      let response = try await send(scene, "POST", Self.app + "/channels", body: body)
      expect((response.status, response.body) == (400, #"{"reason":"\#(reason)"}"#))
    }
  }

  @Test func pathMethodAndAuthorityAreJudgedFirst() async throws {
    let narrow = try ECPrivateKey.generate()
    try await Scene.run {
      $0.keys.append(.init(keyID: "NARROWKEY1", teamID: Scene.teamID, pem: narrow.publicPEM, topics: [Scene.topic]))
    } _: { (scene) async throws in
      expect(try await send(scene, "GET", "/1/apps//channels").body, is: #"{"reason":"BadPath"}"#)
      expect(try await send(scene, "PUT", Self.app + "/channels").body, is: #"{"reason":"MethodNotAllowed"}"#)
      expect(try await send(scene, "GET", broadcast).body, is: #"{"reason":"MethodNotAllowed"}"#)
      let silent = try await send(scene, "GET", Self.app + "/all-channels", [("authorization", "")])
      expect(silent.body, is: #"{"reason":"MissingProviderToken"}"#)
      let suffixed = try await send(scene, "POST", broadcast + ".voip", good("AAAA"), body: "{}")
      expect(suffixed.body, is: #"{"reason":"TopicDisallowed"}"#)
      let token = "bearer " + (try scene.providerToken(keyID: "NARROWKEY1", signedBy: narrow))
      let other = try await send(
        scene, "GET", "/1/apps/com.example.other/all-channels", [("authorization", token)])
      expect((other.status, other.body) == (403, #"{"reason":"TopicMismatch"}"#))
      expect(try await send(scene, "GET", Self.app + "/all-channels", [("authorization", token)]).status, is: 200)
    }
  }

  @Test func appWithoutTheFeatureIsRefused() async throws {
    try await Scene.run {
      $0.knobs.enablesBroadcast = false
    } _: { (scene) async throws in
      let response = try await send(scene, "POST", Self.app + "/channels", body: Self.creation)
      expect(response.body, is: #"{"reason":"FeatureNotEnabled"}"#)
    }
  }

  @Test func anAppHasTenThousandChannelsAtMost() async throws {
    try await Scene.run {
      $0.initialStreams = 1000
    } _: { (scene) async throws in
      try await scene.withConnectedClient { (client) async throws in
        let request = try scene.request(path: Self.app + "/channels", body: Array(Self.creation.utf8))
        for _ in 0..<10 {
          let responses = try await client.send(Array(repeating: request, count: 1000))
          expect(responses.allSatisfy { $0.status == 201 })
        }
        expect(try await client.send([request])[0].body, is: #"{"reason":"CannotCreateChannelConfig"}"#)
      }
    }
  }
}
