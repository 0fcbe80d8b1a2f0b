import APNsSimulator
import TLS

/// A running simulator with one signing key, and functions that push to it.
struct Scene: Sendable {
  static let keyID = "ABC123DEFG"
  static let teamID = "DEF123GHIJ"
  static let topic = "com.example.app"
  static let device = String(repeating: "ab", count: 32)

  let simulator: Simulator
  let key: ECPrivateKey
  /// Provider token of every request without a token of its own.
  private let goodToken: String

  /// Runs `body` with a new simulator. Always stops the simulator afterwards.
  static func run(
    _ change: (inout SimulatorConfiguration) -> Void = { _ in }, _ body: (Scene) async throws -> Void
  ) async throws {
    let key = try ECPrivateKey.generate()
    var configuration = SimulatorConfiguration()
    configuration.keys = [.init(keyID: keyID, teamID: teamID, pem: key.publicPEM)]
    change(&configuration)
    let goodToken = try providerToken(signedBy: key)
    try await Simulator.run(configuration) { simulator in
      try await body(Scene(simulator: simulator, key: key, goodToken: goodToken))
    }
  }

  /// Runs `body` with a connection to the push port.
  ///
  /// - Parameter identity: the client's certificate, if it has one.
  func withClient<Result: Sendable>(
    identity: TLSIdentity? = nil, _ body: (PushClient) async throws -> Result
  ) async throws -> Result {
    try await withConnection(to: simulator.port, identity: identity, body)
  }

  /// Runs a test with a client that is connected.
  func withConnectedClient<Result: Sendable>(
    identity: TLSIdentity? = nil, _ body: (PushClient) async throws -> Result
  ) async throws -> Result {
    try await withClient(identity: identity) { client in
      try await client.connect()
      return try await body(client)
    }
  }

  /// Sends a request to the control API.
  func control(_ method: String, _ path: String, _ body: String? = nil) async throws -> PushClient.Response {
    try await withConnection(to: simulator.controlPort) { client in
      try await client.connect()
      let fields = [(":method", method), (":scheme", "https"), (":authority", "localhost"), (":path", path)]
      return try await client.send([.init(fields: fields, body: body.map { Array($0.utf8) })])[0]
    }
  }

  private func withConnection<Result: Sendable>(
    to port: UInt16, identity: TLSIdentity? = nil, _ body: (PushClient) async throws -> Result
  ) async throws -> Result {
    let client = PushClient(port: port, authorityPEM: simulator.authorityPEM ?? "", identity: identity)
    do {
      let result = try await body(client)
      await client.close()
      return result
    } catch {
      await client.close()
      throw error
    }
  }

  /// Connects, pushes once and returns the answer.
  func push(_ request: PushClient.Request) async throws -> PushClient.Response {
    try await withClient { client in
      try await client.connect()
      return try await client.send([request])[0]
    }
  }

  /// Returns a valid request, with its fields changed by `change`.
  ///
  /// - Parameters:
  ///   - token: the provider token; `nil` for a valid one.
  ///   - change: gets the fields without pseudo-headers, in the order of Apple's table.
  func request(
    _ device: String = Scene.device, path: String? = nil, method: String = "POST", token: String? = nil,
    body: [UInt8]? = Array(#"{"aps":{"alert":"hi"}}"#.utf8), _ change: (inout [(String, String)]) -> Void = { _ in }
  ) throws -> PushClient.Request {
    let token = token ?? goodToken
    var fields = [("authorization", "bearer \(token)"), ("apns-topic", Scene.topic), ("apns-push-type", "alert")]
    change(&fields)
    let pseudo = [
      (":method", method), (":scheme", "https"), (":authority", "localhost"), (":path", path ?? "/3/device/\(device)"),
    ]
    return PushClient.Request(fields: pseudo + fields, body: body)
  }

  /// Returns a provider token in which the test can change each part.
  func providerToken(
    age: Int64 = 0, keyID: String = Scene.keyID, teamID: String = Scene.teamID, algorithm: String = "ES256",
    signedBy other: ECPrivateKey? = nil, encode: ([UInt8]) -> [UInt8] = { $0 }
  ) throws -> String {
    try Self.providerToken(
      age: age, keyID: keyID, teamID: teamID, algorithm: algorithm, signedBy: other ?? key, encode: encode)
  }

  private static func providerToken(
    age: Int64 = 0, keyID: String = Scene.keyID, teamID: String = Scene.teamID, algorithm: String = "ES256",
    signedBy key: ECPrivateKey, encode: ([UInt8]) -> [UInt8] = { $0 }
  ) throws -> String {
    let claims = #"{"iss":"\#(teamID)","iat":\#(Clock.seconds - age)}"#
    let signed = base64(Array(#"{"alg":"\#(algorithm)","kid":"\#(keyID)"}"#.utf8)) + "." + base64(Array(claims.utf8))
    return signed + "." + base64(encode(try key.sign(Array(signed.utf8))))
  }
}

extension [(String, String)] {
  /// Sets the value of a field; adds the field if it is missing.
  mutating func set(_ name: String, _ value: String) {
    if let index = firstIndex(where: { $0.0 == name }) { self[index].1 = value } else { append((name, value)) }
  }

  mutating func drop(_ name: String) { removeAll { $0.0 == name } }
}
