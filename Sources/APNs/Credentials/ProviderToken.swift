internal import PushTransport
internal import TLS

/// A provider token: the JWT in the `authorization` header of a push.
public struct ProviderToken: Sendable, Equatable {
  /// The compact serialisation, without the prefix `bearer`.
  public let jwt: String
  /// `iat`: UNIX seconds.
  public let issuedAt: Int64
  /// Number of the token within its source. It distinguishes answers about this token from answers about an older one.
  public let generation: Int
  /// Number of the key within its source. APNs binds a connection to its first key.
  let keyGeneration: Int

  /// The token in the form that connections use.
  var bearer: BearerToken { BearerToken(text: jwt, generation: generation, connection: keyGeneration) }

  init(jwt: String, issuedAt: Int64, generation: Int, keyGeneration: Int) {
    self.jwt = jwt
    self.issuedAt = issuedAt
    self.generation = generation
    self.keyGeneration = keyGeneration
  }

  /// Signs exactly the claims that Apple requires ("Establishing a token-based connection to APNs").
  ///
  /// ECDSA signatures are random, so the results of two calls differ in their last part. APNs compares only the claims.
  init(
    keyID: String, teamID: String, issuedAt: Int64, generation: Int, key: ECPrivateKey, keyGeneration: Int = 0
  ) throws {
    let header = Base64.encode(Array(#"{"alg":"ES256","kid":"\#(keyID)"}"#.utf8), .url)
    let claims = Base64.encode(Array(#"{"iss":"\#(teamID)","iat":\#(issuedAt)}"#.utf8), .url)
    let signature = try key.sign(Array("\(header).\(claims)".utf8))
    self.init(
      jwt: "\(header).\(claims).\(Base64.encode(signature, .url))", issuedAt: issuedAt, generation: generation,
      keyGeneration: keyGeneration)
  }
}
