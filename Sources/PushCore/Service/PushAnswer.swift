/// Result of one attempt to send a push.
public struct PushAnswer: Sendable, Equatable {
  /// Certainty of the result.
  public enum Kind: UInt8, Sendable {
    /// The service answered. The status and the reason are the result.
    case answered
    /// The service has certainly not processed the push. The push can be sent again without the risk of a duplicate.
    case notSent
    /// It is unknown whether the service has processed the push.
    case ambiguous
  }

  /// Certainty of the result.
  public var kind: Kind
  /// HTTP status; 0 without an answer.
  public var status: UInt16
  /// Reason of a refusal. If the service refused the credential itself, and therefore sent no answer to the push, this
  /// is the reason of that refusal.
  public var reason: ReasonCode
  /// Seconds of the `Retry-After` header (RFC 9110 section 10.2.3); 0 without this header.
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

  /// Answer of a service that accepts a push.
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
  /// Text of the reason if it has no code, at most 64 bytes of printable ASCII. Such a reason is rare, so the memory
  /// for a string does not matter.
  public var unknownReason: String?

  /// Creates an instance with these values.
  public init(_ answer: PushAnswer, timestamp: UInt64 = 0, unknownReason: String? = nil) {
    self.answer = answer
    self.timestamp = timestamp
    self.unknownReason = unknownReason
  }
}
