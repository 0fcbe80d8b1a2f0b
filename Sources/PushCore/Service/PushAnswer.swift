/// Result of one attempt to send a push.
public struct PushAnswer: Sendable, Equatable {
  /// Certainty of the result.
  public enum Kind: UInt8, Sendable {
    /// The service answered; status and reason have the result.
    case answered
    /// The push was provably not processed. It may be sent again without risk.
    case notSent
    /// The push may or may not have been processed.
    case ambiguous
  }

  /// Certainty of the result.
  public var kind: Kind
  /// HTTP status; 0 without an answer.
  public var status: UInt16
  /// Reason of a refusal. If the service refused the whole credential and therefore sent no answer, this is the reason
  /// for refusing the credential.
  public var reason: ReasonCode
  /// Seconds of a `Retry-After` header (RFC 9110 section 10.2.3); 0 without one.
  public var retryAfter: UInt16
  /// Quota in pushes per minute, if the answer says that the push exceeded the quota and contains this number; 0
  /// otherwise.
  public var quotaPerMinute: UInt32

  /// Creates an instance with these values.
  public init(
    kind: Kind, status: UInt16 = 0, reason: ReasonCode = .none, retryAfter: UInt16 = 0, quotaPerMinute: UInt32 = 0
  ) {
    self.kind = kind
    self.status = status
    self.reason = reason
    self.retryAfter = retryAfter
    self.quotaPerMinute = quotaPerMinute
  }

  /// An acceptance.
  public static let accepted = PushAnswer(kind: .answered, status: 200)

  /// Whether the service accepted the push.
  public var isAccepted: Bool { kind == .answered && status / 100 == 2 && reason == .none }
}

/// Parsed answer of a push service.
public struct PushReply: Sendable {
  /// Result that the answer contains.
  public var answer: PushAnswer
  /// Time when the service found that the token is no longer valid, in ms since the epoch; 0 if the answer has none.
  public var timestamp: UInt64
  /// Text of a reason without a code, at most 64 bytes of printable ASCII. Such a reason is rare, so a string is
  /// affordable.
  public var unknownReason: String?

  /// Creates an instance with these values.
  public init(_ answer: PushAnswer, timestamp: UInt64 = 0, unknownReason: String? = nil) {
    self.answer = answer
    self.timestamp = timestamp
    self.unknownReason = unknownReason
  }
}
