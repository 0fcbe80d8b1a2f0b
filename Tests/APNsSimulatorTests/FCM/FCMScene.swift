import APNsSimulator
import Foundation
import TLS

/// A running simulator with the FCM side and one service account, and functions that send to it.
struct FCMScene: Sendable {
  static let project = "test-project"
  static let otherProject = "other-project"
  static let email = "sender@test-project.iam.gserviceaccount.com"
  static let keyID = "0123456789abcdef0123456789abcdef01234567"
  static let token = "cAAAAAAAAAAAAAAAAAAAAA:APA91bExample_Token-1"
  static let fid = "cAAAAAAAAAAAAAAAAAAAAA"
  /// One key for all tests, because an RSA key takes a tenth of a second.
  static let key = Result { try RSAPrivateKey.generate() }

  let simulator: Simulator

  /// Runs `body` with a new simulator. Always stops the simulator afterwards.
  static func run(
    _ change: (inout FCMKnobs) -> Void = { _ in }, log: String? = nil, _ body: (FCMScene) async throws -> Void
  ) async throws {
    var configuration = SimulatorConfiguration()
    var fcm = FCMConfiguration()
    let pem = try key.get().publicPEM
    fcm.accounts = [
      .init(projectID: project, clientEmail: email, keyID: keyID, pem: pem),
      .init(projectID: otherProject, clientEmail: "reader@other.example", keyID: "other", pem: pem, maySend: false),
    ]
    configuration.fcm = fcm
    configuration.log = log
    change(&configuration.knobs.fcm)
    try await Simulator.run(configuration) { try await body(FCMScene(simulator: $0)) }
  }

  /// The service account's JSON key file, with the simulator's token endpoint.
  func serviceAccount() throws -> String {
    let members: [String: String] = [
      "type": "service_account", "project_id": Self.project, "private_key_id": Self.keyID,
      "private_key": try Self.key.get().pem, "client_email": Self.email, "client_id": "1",
      "token_uri": tokenURI,
    ]
    return String(decoding: try JSONSerialization.data(withJSONObject: members), as: UTF8.self)
  }

  var tokenURI: String { "https://localhost:\(simulator.tokenPort ?? 0)/token" }

  // MARK: Requests

  /// Runs `body` with a connection to FCM.
  func withClient<Result: Sendable>(_ body: (PushClient) async throws -> Result) async throws -> Result {
    try await withClient(port: simulator.fcmPort ?? 0, body)
  }

  private func withClient<Result: Sendable>(
    port: UInt16, _ body: (PushClient) async throws -> Result
  ) async throws -> Result {
    let client = PushClient(port: port, authorityPEM: simulator.authorityPEM ?? "")
    do {
      let result = try await body(client)
      await client.close()
      return result
    } catch {
      await client.close()
      throw error
    }
  }

  /// Returns a request for one message.
  func request(
    _ body: String = #"{"message":{"token":"\#(FCMScene.token)"}}"#, access: String?,
    path: String = "/v1/projects/\(FCMScene.project)/messages:send", method: String = "POST",
    type: String? = "application/json"
  ) -> PushClient.Request {
    var fields = [(":method", method), (":scheme", "https"), (":authority", "localhost"), (":path", path)]
    if let access { fields.append(("authorization", "Bearer \(access)")) }
    if let type { fields.append(("content-type", type)) }
    return PushClient.Request(fields: fields, body: Array(body.utf8))
  }

  /// Connects, sends one message and returns the answer.
  func send(_ request: PushClient.Request) async throws -> PushClient.Response {
    try await withClient { client in
      try await client.connect()
      return try await client.send([request])[0]
    }
  }

  /// Sends a request to the control API.
  func control(_ method: String, _ path: String, _ body: String? = nil) async throws -> PushClient.Response {
    try await withClient(port: simulator.controlPort) { client in
      try await client.connect()
      let fields = [(":method", method), (":scheme", "https"), (":authority", "localhost"), (":path", path)]
      return try await client.send([.init(fields: fields, body: body.map { Array($0.utf8) })])[0]
    }
  }

  // MARK: Access tokens

  /// Returns a valid access token.
  func accessToken(scope: String = Assertion().scope, email: String = FCMScene.email, keyID: String = FCMScene.keyID)
    async throws -> String
  {
    var assertion = Assertion()
    assertion.scope = scope
    assertion.iss = email
    assertion.kid = keyID
    let response = try await mint(try assertion.form(audience: tokenURI))
    let object = try JSONSerialization.jsonObject(with: Data(response.body.utf8)) as? [String: Any]
    return object?["access_token"] as? String ?? ""
  }

  /// Sends a form to the token endpoint.
  func mint(_ form: String, path: String = "/token", method: String = "POST") async throws -> PushClient.Response {
    let port = simulator.tokenPort ?? 0
    return try await withClient(port: port) { client in
      try await client.connect()
      let fields = [
        (":method", method), (":scheme", "https"), (":authority", "localhost:\(port)"), (":path", path),
        ("content-type", "application/x-www-form-urlencoded"),
      ]
      return try await client.send([.init(fields: fields, body: Array(form.utf8))])[0]
    }
  }
}

/// The parts of an assertion, which a test can change.
struct Assertion: Sendable {
  var alg = "RS256"
  var kid = FCMScene.keyID
  var iss = FCMScene.email
  var scope = "https://www.googleapis.com/auth/firebase.messaging"
  /// `nil` for the address of the endpoint.
  var aud: String?
  /// Seconds from now.
  var iat: Int64 = 0
  /// Seconds after `iat`.
  var life: Int64 = 3600
  var grantType = "urn:ietf:params:oauth:grant-type:jwt-bearer"
  /// Whether another key signs.
  var isForged = false

  /// Returns the body of the token request.
  func form(audience: String) throws -> String {
    let iat = Clock.seconds + iat
    let claims: [String: Any] = [
      "iss": iss, "scope": scope, "aud": aud ?? audience, "iat": iat, "exp": iat + life,
    ]
    let header = #"{"alg":"\#(alg)","typ":"JWT","kid":"\#(kid)"}"#
    let text = Array(try JSONSerialization.data(withJSONObject: claims))
    let signed = base64(Array(header.utf8)) + "." + base64(text)
    let key = isForged ? try RSAPrivateKey.generate() : try FCMScene.key.get()
    let type = grantType.replacingOccurrences(of: ":", with: "%3A")
    return "grant_type=\(type)&assertion=\(signed).\(base64(try key.sign(Array(signed.utf8))))"
  }
}
