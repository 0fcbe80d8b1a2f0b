internal import Synchronization

/// The access tokens that the token endpoint issued. Shared by all event loops.
final class AccessTokens: Sendable {
  /// The data of an issued token.
  struct Grant: Equatable, Sendable {
    /// Index of the service account in ``FCMConfiguration/accounts``.
    var account: Int
    /// End of the token's life in seconds since 1970 on Google's clock.
    var expiresAt: Int64
    /// Whether the scopes of the assertion allow sending.
    var hasScope: Bool
  }

  /// Maximum number of stored tokens. At this number, the simulator removes the expired tokens, or all tokens if none
  /// has expired. A fleet has a few tokens at a time.
  private static let most = 10_000

  private let grants = Mutex<[String: Grant]>([:])

  /// Stores a token.
  ///
  /// - Parameter now: seconds since 1970 on Google's clock.
  func add(_ token: String, _ grant: Grant, now: Int64) {
    grants.withLock { grants in
      if grants.count >= Self.most { grants = grants.filter { $0.value.expiresAt > now } }
      if grants.count >= Self.most { grants.removeAll() }
      grants[token] = grant
    }
  }

  /// Returns the grant of a token; `nil` if it was never issued, or is revoked.
  func grant(of token: String) -> Grant? { grants.withLock { $0[token] } }

  /// Revokes all tokens: they get 401 without details.
  func revokeAll() { grants.withLock { $0.removeAll() } }

  /// Ends the life of all tokens: they get 401 `ACCESS_TOKEN_EXPIRED`.
  func expireAll() {
    grants.withLock { grants in
      for token in grants.keys { grants[token]?.expiresAt = 0 }
    }
  }
}
