public import PushCore

/// Answer of a push service to a push by hand, with an explanation.
public struct ServiceAnswer: Sendable, Equatable {
  /// Whether the service accepted the push.
  public let isAccepted: Bool
  /// Reason of a refusal.
  public let reason: ReasonCode
  /// The service's name of the reason, even if this version does not know the reason; `nil` for none.
  public let reasonText: String?
  /// Time at which the service found that the token is invalid, in ms since the epoch; 0 if absent.
  public let timestamp: UInt64
  /// Meaning of the answer, as the end of a sentence that begins with the name of the service and "answered".
  public let meaning: String
  /// The next step for the person who sent the push.
  public let hint: String

  /// Creates an instance with these values.
  public init(
    isAccepted: Bool, reason: ReasonCode, reasonText: String?, timestamp: UInt64 = 0, meaning: String, hint: String
  ) {
    (self.isAccepted, self.reason, self.reasonText, self.timestamp) = (isAccepted, reason, reasonText, timestamp)
    (self.meaning, self.hint) = (meaning, hint)
  }
}
