public import PushCore

/// What became of one push.
public struct PushCompletion: Sendable {
  /// The push's own ``PushCore/Push/tag``.
  public var tag: UInt64
  /// What the service answered, or what is known without an answer.
  public var answer: PushAnswer
  /// When the service found the token dead, in ms since the epoch; 0 when it doesn't say.
  public var timestamp: UInt64
  /// The text of a reason that the service has no code for. Rare, so a string is affordable.
  public var unknownReason: String?

  /// Memberwise.
  public init(tag: UInt64, answer: PushAnswer, timestamp: UInt64 = 0, unknownReason: String? = nil) {
    self.tag = tag
    self.answer = answer
    self.timestamp = timestamp
    self.unknownReason = unknownReason
  }

  /// A push that was answered.
  init(tag: UInt64, _ reply: PushReply) {
    self.init(tag: tag, answer: reply.answer, timestamp: reply.timestamp, unknownReason: reply.unknownReason)
  }

  /// How much is known of what the service did.
  public var kind: PushAnswer.Kind { answer.kind }
  /// The HTTP status; 0 without an answer.
  public var status: UInt16 { answer.status }
  /// The reason of a refusal.
  public var reason: ReasonCode { answer.reason }
}
