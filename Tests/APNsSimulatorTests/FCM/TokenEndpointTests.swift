import APNsSimulator
import Foundation
import TestKit
import TestSupport
import Testing

/// Google's token endpoint in the simulator (reference 3.2 and 3.3).
@Suite(.timeLimit(.minutes(6))) struct TokenEndpointTests {
  /// A token request with its expected answer.
  struct Row: Sendable, CustomTestStringConvertible {
    var name: String
    var status = 400
    var error: String
    var description: String
    var change: @Sendable (inout Assertion) -> Void

    var testDescription: String { name }
  }

  private static let time = "Invalid JWT: Token must be a short-lived token (60 minutes)"
  private static let rows: [Row] = [
    Row(name: "good", status: 200, error: "", description: "") { _ in },
    Row(name: "Google's own audience", status: 200, error: "", description: "") {
      $0.aud = "https://oauth2.googleapis.com/token"
    },
    Row(name: "several scopes", status: 200, error: "", description: "") {
      $0.scope = "https://www.googleapis.com/auth/userinfo.email https://www.googleapis.com/auth/cloud-platform"
    },
    Row(name: "clock 299 s behind", status: 200, error: "", description: "") { $0.iat = -3600 - 290 },
    Row(name: "clock 299 s ahead", status: 200, error: "", description: "") { $0.iat = 290 },
    Row(name: "expired", error: "invalid_grant", description: time) { $0.iat = -3600 - 310 },
    Row(name: "in the future", error: "invalid_grant", description: time) { $0.iat = 310 },
    Row(name: "longer than an hour", error: "invalid_grant", description: time) { $0.life = 3601 },
    Row(name: "wrong audience", error: "invalid_grant", description: "Failed audience check") {
      $0.aud = "https://example.com/token"
    },
    Row(name: "other key", error: "invalid_grant", description: "Invalid JWT Signature.") { $0.isForged = true },
    Row(name: "unknown key", error: "invalid_grant", description: "Invalid JWT Signature.") { $0.kid = "unknown" },
    Row(name: "wrong algorithm", error: "invalid_grant", description: "Invalid JWT Signature.") { $0.alg = "HS256" },
    Row(name: "unknown account", error: "invalid_grant", description: "account not found") { $0.iss = "who@example" },
    Row(name: "wrong scope", error: "invalid_scope", description: "Invalid OAuth scope") { $0.scope = "messaging" },
    Row(name: "wrong grant", error: "unsupported_grant_type", description: "Invalid grant_type: password") {
      $0.grantType = "password"
    },
  ]

  @Test func tokenEndpointAnswersEachAssertion() async throws {
    try await FCMScene.run { (scene) async throws in
      for row in Self.rows {
        var assertion = Assertion()
        row.change(&assertion)
        let response = try await scene.mint(try assertion.form(audience: scene.tokenURI))
        let body = try JSONObject(response.body)
        expect(response.status, is: row.status, "\(row.name): \(response.body)")
        expect(response.headers["date"]?.hasSuffix(" GMT"), is: true, "\(row.name)")
        if row.status == 200 {
          expect(body.text("token_type") == "Bearer" && body.number("expires_in") == 3599, "\(row.name)")
          expect(body.text("access_token")?.hasPrefix("ya29."), is: true, "\(row.name)")
        } else {
          expect(body.text("error"), is: row.error, "\(row.name)")
          expect(body.text("error_description")?.contains(row.description), is: true, "\(row.name): \(response.body)")
        }
      }
      let counters = await scene.simulator.counters().fcm
      expect(counters.mints, is: Self.rows.count { $0.status == 200 })
      expect(counters.mintErrors.values.reduce(0, +), is: Self.rows.count { $0.status != 200 })
    }
  }

  @Test func requestWithoutAnAssertionIsRefused() async throws {
    try await FCMScene.run { (scene) async throws in
      let rows = [
        ("", "/token", "POST", 400), ("grant_type=password", "/token", "POST", 400),
        ("grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer", "/token", "POST", 400),
        ("", "/token", "GET", 405), ("", "/other", "POST", 404),
      ]
      for (form, path, method, status) in rows {
        expect(try await scene.mint(form, path: path, method: method).status, is: status, "\(form) \(path) \(method)")
      }
    }
  }

  @Test func knobsRevokeAKeyBreakTheEndpointAndMoveItsClock() async throws {
    try await FCMScene.run { (scene) async throws in
      let form = try Assertion().form(audience: scene.tokenURI)
      func answer(_ change: (inout FCMKnobs) -> Void) async throws -> PushClient.Response {
        await scene.simulator.change {
          $0.fcm = FCMKnobs()
          change(&$0.fcm)
        }
        return try await scene.mint(form)
      }
      expect(try await answer { $0.accessTokenSeconds = 5 }.body.contains(#""expires_in": 5"#))
      expect(try await answer { $0.revokedKeys = [FCMScene.keyID] }.body.contains("Invalid JWT Signature."))
      expect(try await answer { $0.deletedAccounts = [FCMScene.email] }.body.contains("account not found"))
      expect(try await answer { $0.tokenEndpointStatus = 503 }.status, is: 503)
      let skewed = try await answer { $0.clockSkewSeconds = -600 }
      expect(skewed.status == 400 && skewed.body.contains("Check your iat and exp values in the JWT claim."))
      await #expect(throws: (any Error).self) { try await answer { $0.tokenEndpointIsDown = true } }
      expect(try await answer { $0.tokenEndpointMilliseconds = 1 }.status, is: 200)
    }
  }
}
