internal import PushCore

/// Reasons that stop a credential, and that FCM never gives in an answer to a push. ``FCMReason`` contains these codes
/// too; its codes for FCM's answers are different. The codes are never renumbered.
enum CredentialReason {
  /// The token endpoint refuses the key of the service account.
  static let keyRefused = ReasonCode(rawValue: 60)
  /// FCM refuses even a new access token.
  static let tokenRefused = ReasonCode(rawValue: 61)
}
