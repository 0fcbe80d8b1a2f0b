internal import PushCore

/// Reasons why a credential stops although FCM has answered no push with them. ``FCMReason`` has the same codes,
/// separate from those of FCM's answers. They are never renumbered.
enum CredentialReason {
  /// The token endpoint refuses the key of the service account.
  static let keyRefused = ReasonCode(rawValue: 60)
  /// FCM refuses even a new access token.
  static let tokenRefused = ReasonCode(rawValue: 61)
}
