internal import TLS

/// Checks the assertion (a signed JSON Web Token) in a request for an access token. Errors have the texts of Google's
/// token endpoint.
struct AssertionVerifier: Sendable {
  /// An error of the token endpoint.
  struct Refusal: Error, Equatable {
    var status = 400
    var error: String
    var description: String
  }

  /// The data of a valid assertion.
  struct Accepted: Equatable {
    /// Index of the service account in ``FCMConfiguration/accounts``.
    var account: Int
    /// Whether the scopes allow sending.
    var hasScope: Bool
  }

  private struct Header: Decodable {
    var alg: String
    var kid: String?
  }

  private struct Claims: Decodable {
    var iss: String
    var scope: String?
    var aud: String
    var iat: Int64
    var exp: Int64
  }

  /// The audience that Google's library google-auth writes, regardless of the endpoint's address.
  static let audience = "https://oauth2.googleapis.com/token"
  /// Maximum difference between the sender's clock and Google's, in seconds.
  private static let tolerance: Int64 = 300
  /// Longest life of an assertion in seconds.
  private static let longestLife: Int64 = 3600
  private static let scopes = [
    "https://www.googleapis.com/auth/firebase.messaging", "https://www.googleapis.com/auth/cloud-platform",
  ]
  private static let reasonableTime =
    "Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe. Check your iat and exp "
    + "values in the JWT claim."

  private let accounts: [(account: FCMConfiguration.Account, key: RSAPublicKey)]

  init(_ accounts: [FCMConfiguration.Account]) throws {
    self.accounts = try accounts.map { ($0, try RSAPublicKey(pem: $0.pem)) }
  }

  /// Returns the account of an assertion.
  ///
  /// - Parameters:
  ///   - assertion: the JSON Web Token.
  ///   - address: the URL of the token request, which is a valid audience too.
  ///   - now: seconds since 1970 on Google's clock.
  /// - Throws: ``Refusal``.
  func verify(_ assertion: String, address: String, by knobs: FCMKnobs, now: Int64) throws(Refusal) -> Accepted {
    let parts = assertion.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard parts.count == 3, let headerText = Base64.decodeLeniently(parts[0]),
      let claimsText = Base64.decodeLeniently(parts[1]), let signature = Base64.decodeLeniently(parts[2]),
      let header = try? JSON.read(Header.self, from: headerText),
      let claims = try? JSON.read(Claims.self, from: claimsText)
    else { throw Refusal(error: "invalid_grant", description: "Invalid JWT: Failed to parse the token.") }
    guard accounts.contains(where: { $0.account.clientEmail == claims.iss }),
      !knobs.deletedAccounts.contains(claims.iss)
    else { throw Refusal(error: "invalid_grant", description: "Invalid grant: account not found") }
    let signed = Array(assertion.utf8.prefix(parts[0].count + 1 + parts[1].count))
    guard header.alg == "RS256",
      let index = accounts.firstIndex(where: { $0.account.clientEmail == claims.iss && $0.account.keyID == header.kid }
      ),
      !knobs.revokedKeys.contains(accounts[index].account.keyID),
      accounts[index].key.verify(signature: signature, of: signed)
    else { throw Refusal(error: "invalid_grant", description: "Invalid JWT Signature.") }
    guard claims.aud == Self.audience || claims.aud == address else {
      throw Refusal(
        error: "invalid_grant",
        description: "Invalid JWT: Failed audience check. The right audience is \(Self.audience)")
    }
    guard claims.iat <= now + Self.tolerance, claims.exp >= now - Self.tolerance, claims.exp > claims.iat,
      claims.exp - claims.iat <= Self.longestLife
    else { throw Refusal(error: "invalid_grant", description: Self.reasonableTime) }
    let asked = (claims.scope ?? "").split(separator: " ")
    guard !asked.isEmpty, asked.allSatisfy({ $0.hasPrefix("https://www.googleapis.com/auth/") }) else {
      throw Refusal(error: "invalid_scope", description: "Invalid OAuth scope or ID token audience provided.")
    }
    return Accepted(account: index, hasScope: asked.contains { Self.scopes.contains(String($0)) })
  }
}
