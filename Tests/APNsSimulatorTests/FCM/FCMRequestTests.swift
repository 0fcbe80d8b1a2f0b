import APNsSimulator
import Foundation
import TestKit
import TestSupport
import Testing

/// The answers of `messages:send` in the simulator (reference 4, 6 and 10).
@Suite(.timeLimit(.minutes(6))) struct FCMRequestTests {
  /// Returns JSON in one form, so that two texts can be compared.
  private func normalized(_ json: String) throws -> String {
    let value = try JSONSerialization.jsonObject(with: Data(json.utf8), options: .fragmentsAllowed)
    let data = try JSONSerialization.data(withJSONObject: value, options: [.sortedKeys, .fragmentsAllowed])
    return String(decoding: data, as: UTF8.self)
  }

  @Test(arguments: [FCMRequestTable.targets, FCMRequestTable.fields, FCMRequestTable.rules])
  func simulatorAnswersEachMessageAsTheReference(rows: [FCMRequestTable.Row]) async throws {
    try await FCMScene.run { (scene) async throws in
      scene.simulator.load([
        .init("unregistered", state: .unregistered), .init("malformed", state: .malformed),
        .init("foreign", project: "elsewhere"), .init("otherProject", state: .otherProject),
        .init("thirdPartyAuth", state: .thirdPartyAuth), .init("packaged", package: "org.app"),
      ])
      let access = try await scene.accessToken()
      // A dry run has the same answers.
      for isDry in [false, true] {
        try await scene.withClient { (client) async throws in
          try await client.connect()
          let tail = isDry ? ",\"validate_only\":true}" : "}"
          let requests = rows.map { scene.request("{\"message\":\($0.message)\(tail)", access: access) }
          let responses = try await client.send(requests)
          for (row, response) in zip(rows, responses) { try check(row, response, isDry: isDry) }
        }
      }
      let counters = await scene.simulator.counters().fcm
      let good = rows.count { $0.status == 200 }
      expect((counters.accepted, counters.validated) == (2 * good, good))
      expect(counters.rejected, is: 2 * (rows.count - good))
    }
  }

  private func check(_ row: FCMRequestTable.Row, _ response: PushClient.Response, isDry: Bool) throws {
    expect(response.status, is: row.status, "\(row.name): \(response.body)")
    expect(response.headers["content-type"], is: "application/json; charset=UTF-8", "\(row.name)")
    guard row.status != 200 else {
      let name = try #require(try JSONObject(response.body).text("name"))
      expect(name.hasPrefix("projects/\(FCMScene.project)/messages/"), "\(row.name)")
      expect(name.hasSuffix("/fake_message_id"), is: isDry, "\(row.name)")
      return
    }
    let statuses = [
      400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND",
    ]
    let details = row.details.map { ",\"details\":\($0)" } ?? ""
    let message = row.says.replacing("\"", with: "\\\"")
    let status = statuses[row.status] ?? ""
    let expected =
      "{\"error\":{\"code\":\(row.status),\"message\":\"\(message)\",\"status\":\"\(status)\"\(details)}}"
    expect(try normalized(response.body), is: try normalized(expected), "\(row.name)")
  }

  @Test func bodiesArePrettyPrinted() async throws {
    try await FCMScene.run { (scene) async throws in
      scene.simulator.load([.init("gone", state: .unregistered)])
      let access = try await scene.accessToken()
      let response = try await scene.send(scene.request(#"{"message":{"token":"gone"}}"#, access: access))
      expect(
        response.body,
        is: """
          {
            "error": {
              "code": 404,
              "message": "Requested entity was not found.",
              "status": "NOT_FOUND",
              "details": [
                {
                  "@type": "type.googleapis.com/google.firebase.fcm.v1.FcmError",
                  "errorCode": "UNREGISTERED"
                }
              ]
            }
          }

          """)
    }
  }

  @Test func pathAuthorizationAndBodyAreCheckedInThisOrder() async throws {
    try await FCMScene.run { (scene) async throws in
      let access = try await scene.accessToken()
      let reader = try await scene.accessToken(email: "reader@other.example", keyID: "other")
      let mail = try await scene.accessToken(scope: "https://www.googleapis.com/auth/userinfo.email")
      let other = "/v1/projects/\(FCMScene.otherProject)/messages:send"
      // Each row also breaks a rule that is checked later.
      let rows: [(PushClient.Request, Int, String)] = [
        (scene.request("{", access: nil, path: "/fcm/send"), 404, "<title>Error 404"),
        (scene.request("{", access: nil, path: "/batch"), 404, "<title>Error 404"),
        (scene.request("{", access: nil, method: "GET"), 405, "<title>Error 405"),
        (scene.request("{", access: nil, path: "/v1/projects/none/messages:send"), 401, "CREDENTIALS_MISSING"),
        (scene.request("{", access: "ya29.unknown"), 401, "Request had invalid authentication credentials."),
        (scene.request("{", access: mail), 403, "ACCESS_TOKEN_SCOPE_INSUFFICIENT"),
        (scene.request("{", access: access, path: "/v1/projects/none/messages:send"), 404, "NOT_FOUND"),
        (scene.request("{", access: access, path: other), 403, "cloudmessaging.messages.create"),
        (scene.request("{", access: reader, path: other), 403, "cloudmessaging.messages.create"),
        (scene.request("{", access: access, type: "text/plain"), 400, "Unexpected content type"),
        (scene.request("{", access: access), 400, "Unexpected token."),
        (scene.request("[]", access: access), 400, "Root element must be a message."),
        (scene.request("{}", access: access), 400, "Recipient of the message is not set."),
        (
          scene.request("{\"message\":{}}\(String(repeating: " ", count: 70_000))", access: access), 400,
          "Request payload size exceeds the limit."
        ),
      ]
      try await scene.withClient { (client) async throws in
        try await client.connect()
        for (response, row) in zip(try await client.send(rows.map(\.0)), rows) {
          expect(response.status == row.1 && response.body.contains(row.2), "\(row.2): \(response.body)")
        }
      }
      let unknown = try await scene.send(scene.request(access: access, path: "/v1/projects/none/messages:send"))
      expect(!unknown.body.contains("FcmError"))
    }
  }

  @Test func accessTokenExpiresAndIsRevoked() async throws {
    try await FCMScene.run { (scene) async throws in
      let access = try await scene.accessToken()
      expect(try await scene.send(scene.request(access: access)).status, is: 200)
      expect(try await scene.control("POST", "/fcm/tokens/expire").status, is: 200)
      let expired = try await scene.send(scene.request(access: access))
      expect(expired.status == 401 && expired.body.contains("ACCESS_TOKEN_EXPIRED"))
      let fresh = try await scene.accessToken()
      await scene.simulator.change { $0.fcm.clockSkewSeconds = 3600 }
      expect(try await scene.send(scene.request(access: fresh)).body.contains("ACCESS_TOKEN_EXPIRED"))
      await scene.simulator.change { $0.fcm.clockSkewSeconds = 0 }
      expect(try await scene.send(scene.request(access: fresh)).status, is: 200)
      expect(try await scene.control("POST", "/fcm/tokens/revoke").status, is: 200)
      let revoked = try await scene.send(scene.request(access: fresh))
      expect(revoked.status == 401 && !revoked.body.contains("details"))
    }
  }
}
