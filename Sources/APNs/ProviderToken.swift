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
    let header = Base64URL.encode(Array(#"{"alg":"ES256","kid":"\#(keyID)"}"#.utf8))
    let claims = Base64URL.encode(Array(#"{"iss":"\#(teamID)","iat":\#(issuedAt)}"#.utf8))
    let signature = try key.sign(Array("\(header).\(claims)".utf8))
    self.init(
      jwt: "\(header).\(claims).\(Base64URL.encode(signature))", issuedAt: issuedAt, generation: generation,
      keyGeneration: keyGeneration)
  }
}

/// Base64 with the URL alphabet and without padding (RFC 4648 section 5, RFC 7515 section 2).
enum Base64URL {
  private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

  static func encode(_ bytes: [UInt8]) -> String {
    var text: [UInt8] = []
    text.reserveCapacity((bytes.count + 2) / 3 * 4)
    var index = 0
    while index < bytes.count {
      let left = bytes.count - index
      let group =
        UInt32(bytes[index]) << 16
        | (left > 1 ? UInt32(bytes[index + 1]) << 8 : 0)
        | (left > 2 ? UInt32(bytes[index + 2]) : 0)
      for digit in 0..<min(left + 1, 4) {
        text.append(alphabet[Int(group >> (18 - 6 * UInt32(digit)) & 63)])
      }
      index += 3
    }
    return String(decoding: text, as: UTF8.self)
  }
}
