public import PushCore

/// Result of one push.
public struct PushCompletion: Sendable {
  /// Tag of the push (``PushCore/Push/tag``).
  public var tag: UInt64
  /// Answer of the service, or the result without an answer.
  public var answer: PushAnswer
  /// Time when the service found that the token is no longer valid, in ms since the epoch; 0 if the answer has none.
  public var timestamp: UInt64
  /// Text of a reason without a code. Such reasons are rare, so the cost of a string does not matter.
  public var unknownReason: String?

  /// Creates an instance with these values.
  public init(tag: UInt64, answer: PushAnswer, timestamp: UInt64 = 0, unknownReason: String? = nil) {
    self.tag = tag
    self.answer = answer
    self.timestamp = timestamp
    self.unknownReason = unknownReason
  }

  /// Creates the completion of a push that was answered.
  init(tag: UInt64, _ reply: PushReply) {
    self.init(tag: tag, answer: reply.answer, timestamp: reply.timestamp, unknownReason: reply.unknownReason)
  }

  /// Whether the service answered, the push was provably not processed, or the result is unknown.
  public var kind: PushAnswer.Kind { answer.kind }
  /// HTTP status; 0 without an answer.
  public var status: UInt16 { answer.status }
  /// Reason of a refusal.
  public var reason: ReasonCode { answer.reason }
}
