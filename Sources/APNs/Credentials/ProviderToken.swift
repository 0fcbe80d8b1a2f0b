internal import PushTransport
internal import TLS

/// A provider token: the JWT in the `authorization` header of a push.
public struct ProviderToken: Sendable, Equatable {
  /// The JWT in its compact serialisation, without the prefix `bearer`.
  public let jwt: String
  /// Claim `iat`, the time of issue: UNIX seconds.
  public let issuedAt: Int64
  /// Serial number of the token in its ``ProviderTokenSource``. An answer with a lower number concerns an older token.
  public let generation: Int
  /// Serial number of the key in its ``ProviderTokenSource``. APNs binds a connection to its first key, so a new key
  /// needs new connections.
  let keyGeneration: Int

  /// The token in the form that connections use.
  var bearer: BearerToken { BearerToken(text: jwt, generation: generation, connection: keyGeneration) }

  init(jwt: String, issuedAt: Int64, generation: Int, keyGeneration: Int) {
    self.jwt = jwt
    self.issuedAt = issuedAt
    self.generation = generation
    self.keyGeneration = keyGeneration
  }

  /// Signs a token with exactly the claims that Apple requires ("Establishing a token-based connection to APNs").
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
