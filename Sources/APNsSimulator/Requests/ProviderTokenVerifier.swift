internal import Synchronization
internal import TLS

/// Verifies provider tokens, and returns the signing key and the issue time of each. The results are cached, so that a
/// repeated token is not verified again. Shared by all event loops.
final class ProviderTokenVerifier: Sendable {
  /// A signing key.
  struct Key: Sendable {
    var keyID: String
    var teamID: String
    var publicKey: ECPublicKey
    var topics: Set<[UInt8]>?
    /// The only environment of the key, or `nil` for both.
    var environment: SimulatorEnvironment?
    /// `kid`s of the keys that may alternate with this key on a connection.
    var related: Set<String>
  }

  /// The values of a valid token.
  struct Verified: Equatable, Sendable {
    /// Number of the key that signed the token.
    var key: Int
    /// `iat`, seconds since 1970.
    var issuedAt: Int64
  }

  private struct Header: Decodable {
    var alg: String
    var kid: String
  }

  private struct Claims: Decodable {
    var iss: String
    var iat: Int64
  }

  /// Maximum number of stored results. A fleet has a few tokens at a time. The bound limits the memory if a sender uses
  /// random tokens.
  private static let maximumRemembered = 1000

  let keys: [Key]
  /// Results with the version of the rules that was used for the verification.
  private let remembered = Mutex<[[UInt8]: (version: Int, verified: Verified?)]>([:])

  init(_ keys: [SimulatorConfiguration.Key]) throws {
    self.keys = try keys.map { key in
      Key(
        keyID: key.keyID, teamID: key.teamID, publicKey: try ECPublicKey(pem: key.pem),
        topics: key.topics.map { Set($0.map { Array($0.utf8) }) }, environment: key.environment,
        related: Set(key.related))
    }
  }

  /// Verifies a provider token.
  ///
  /// - Returns: `nil` if the token is malformed, its key is unknown or revoked, or another key signed it.
  func verify(_ token: [UInt8], by rules: Rules) -> Verified? {
    if let known = remembered.withLock({ $0[token] }), known.version == rules.version { return known.verified }
    let verified = examine(token, by: rules)
    remembered.withLock { remembered in
      if remembered.count >= Self.maximumRemembered { remembered.removeAll() }
      remembered[token] = (rules.version, verified)
    }
    return verified
  }

  private func examine(_ token: [UInt8], by rules: Rules) -> Verified? {
    let parts = token.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard parts.count == 3, let headerText = Base64.decodeLeniently(parts[0]),
      let claimsText = Base64.decodeLeniently(parts[1]),
      let signature = Base64.decodeLeniently(parts[2]),
      let header = try? JSON.read(Header.self, from: headerText), header.alg == "ES256",
      let claims = try? JSON.read(Claims.self, from: claimsText),
      let index = keys.firstIndex(where: { $0.keyID == header.kid }), keys[index].teamID == claims.iss,
      !rules.revokedKeys.contains(header.kid)
    else { return nil }
    let signed = Array(token[..<(parts[0].count + 1 + parts[1].count)])
    let key = keys[index].publicKey
    let isGenuine =
      key.verify(rawSignature: signature, of: signed)
      || rules.knobs.acceptsDERSignatures && key.verify(derSignature: signature, of: signed)
    return isGenuine ? Verified(key: index, issuedAt: claims.iat) : nil
  }
}
