internal import PushTransport
internal import TLS

/// A provider token: the JWT that a push carries in its `authorization` header.
public struct ProviderToken: Sendable, Equatable {
  /// The compact serialisation, without the `bearer` in front.
  public let jwt: String
  /// `iat`: UNIX seconds.
  public let issuedAt: Int64
  /// Counts the tokens of one source; tells an answer about an older token from one about this.
  public let generation: Int
  /// Counts the keys of one source: APNs binds a connection to the first that it sees on it.
  let keyGeneration: Int

  /// What a push carries of it.
  var bearer: BearerToken { BearerToken(text: jwt, generation: generation, connection: keyGeneration) }

  init(jwt: String, issuedAt: Int64, generation: Int, keyGeneration: Int) {
    self.jwt = jwt
    self.issuedAt = issuedAt
    self.generation = generation
    self.keyGeneration = keyGeneration
  }

  /// Signs the claims that Apple asks for and no others ("Establishing a token-based connection to APNs").
  ///
  /// ECDSA signatures are random, so two calls differ in their last part; the claims are what APNs compares.
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
