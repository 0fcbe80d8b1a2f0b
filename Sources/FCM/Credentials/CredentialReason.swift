internal import PushCore

/// Reasons that stop a credential, although FCM never answers a push with them. ``FCMReason`` contains these codes too,
/// so no other reason has the same code. The codes are never renumbered.
enum CredentialReason {
  /// The token endpoint refuses the key of the service account.
  static let keyRefused = ReasonCode(rawValue: 60)
  /// FCM refuses even a new access token.
  static let tokenRefused = ReasonCode(rawValue: 61)
}
