internal import PushCore

/// Reasons why a credential stops although FCM has answered no push with them. The codes are FCM's own numbers beyond
/// those of its answers, and are never renumbered.
enum CredentialReason {
  /// The token endpoint refuses the key of the service account.
  static let keyRefused = ReasonCode(rawValue: 60)
  /// FCM refuses a new access token too.
  static let tokenRefused = ReasonCode(rawValue: 61)
}
