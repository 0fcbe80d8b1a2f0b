internal import PushCore
internal import TLS

/// The signed statement with which a service account requests an access token: a JWT with RS256 (RFC 7523).
enum Assertion {
  /// Scope of the token: sending messages, and nothing else.
  static let scope = "https://www.googleapis.com/auth/firebase.messaging"
  /// Seconds by which `iat` is set back, so that Google accepts assertions from a clock that is slightly ahead.
  private static let setBack: Int64 = 30
  /// Lifetime of the assertion in seconds: the longest that Google accepts.
  private static let life: Int64 = 3600

  /// Returns the assertion for a time in UNIX seconds.
  static func jwt(of account: ServiceAccount, at time: Int64) throws(SigningKeyError) -> String {
    let header = JSONWriter.object { json in
      json.member("alg", "RS256")
      json.member("typ", "JWT")
      json.member("kid", account.keyID)
    }
    let claims = JSONWriter.object { json in
      json.member("iss", account.clientEmail)
      json.member("scope", scope)
      json.member("aud", account.tokenURI)
      json.member("iat", Int(time - setBack))
      json.member("exp", Int(time - setBack + life))
    }
    let text = Base64.encode(Array(header.utf8), .url) + "." + Base64.encode(Array(claims.utf8), .url)
    return text + "." + Base64.encode(try account.key.sign(Array(text.utf8)), .url)
  }
}
