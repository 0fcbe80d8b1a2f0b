public import PushCore

/// A push service's answer to a push by hand, explained.
public struct ServiceAnswer: Sendable, Equatable {
  /// Whether the service accepted the push.
  public let isAccepted: Bool
  /// The reason of a refusal.
  public let reason: ReasonCode
  /// The service's word for the reason, known to this version or not; `nil` for none.
  public let reasonText: String?
  /// When the service found the token invalid, in ms since the epoch; 0 if the answer does not say.
  public let timestamp: UInt64
  /// The meaning of the answer, as the end of a sentence that begins with the name of the service and "answered".
  public let meaning: String
  /// What to do next.
  public let advice: String

  /// Memberwise.
  public init(
    isAccepted: Bool, reason: ReasonCode, reasonText: String?, timestamp: UInt64 = 0, meaning: String, advice: String
  ) {
    (self.isAccepted, self.reason, self.reasonText, self.timestamp) = (isAccepted, reason, reasonText, timestamp)
    (self.meaning, self.advice) = (meaning, advice)
  }
}
