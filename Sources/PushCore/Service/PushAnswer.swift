/// What is known of one attempt to send a push.
public struct PushAnswer: Sendable, Equatable {
  /// How much is known of what the push service did.
  public enum Kind: UInt8, Sendable {
    /// It answered; status and reason say what.
    case answered
    /// Provably not processed: may be sent again at no risk.
    case notSent
    /// It may or may not have been processed.
    case ambiguous
  }

  /// How much is known.
  public var kind: Kind
  /// The HTTP status; 0 without an answer.
  public var status: UInt16
  /// The reason of a refusal. Without an answer: for what the service refuses the credential as a whole, if it does.
  public var reason: ReasonCode
  /// Seconds of a `Retry-After` header (RFC 9110 section 10.2.3); 0 without one.
  public var retryAfter: UInt16

  /// Memberwise.
  public init(kind: Kind, status: UInt16 = 0, reason: ReasonCode = .none, retryAfter: UInt16 = 0) {
    self.kind = kind
    self.status = status
    self.reason = reason
    self.retryAfter = retryAfter
  }

  /// An acceptance.
  public static let accepted = PushAnswer(kind: .answered, status: 200)

  /// Whether the service took the push.
  public var isAccepted: Bool { kind == .answered && status / 100 == 2 && reason == .none }
}

/// An answer as a push service words it.
public struct PushReply: Sendable {
  /// What it says.
  public var answer: PushAnswer
  /// When the service found the token dead, in ms since the epoch; 0 when it doesn't say.
  public var timestamp: UInt64
  /// The text of a reason that has no code, at most 64 bytes of printable ASCII. Rare, so a string is affordable.
  public var unknownReason: String?

  /// Memberwise.
  public init(_ answer: PushAnswer, timestamp: UInt64 = 0, unknownReason: String? = nil) {
    self.answer = answer
    self.timestamp = timestamp
    self.unknownReason = unknownReason
  }
}
