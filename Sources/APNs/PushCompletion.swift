public import PushCore

/// What became of one push.
public struct PushCompletion: Sendable {
  /// The push's own ``Push/tag``.
  public var tag: UInt64
  /// What APNs answered, as ``PushCore/Disposition/decide(_:attempt:policy:ambiguity:jitter:isBreakerOpen:)`` takes it.
  public var answer: PushAnswer
  /// With 410: when APNs found the token dead, in ms since the epoch; 0 when absent.
  public var timestamp: UInt64
  /// The text of a reason that ``PushCore/Reason`` doesn't know, at most 64 bytes. Rare, so a string is affordable.
  public var unknownReason: String?

  /// Memberwise.
  public init(tag: UInt64, answer: PushAnswer, timestamp: UInt64 = 0, unknownReason: String? = nil) {
    self.tag = tag
    self.answer = answer
    self.timestamp = timestamp
    self.unknownReason = unknownReason
  }

  /// How much is known of what APNs did.
  public var kind: PushAnswer.Kind { answer.kind }
  /// The HTTP status; 0 without an answer.
  public var status: UInt16 { answer.status }
  /// The reason of a rejection.
  public var reason: Reason { answer.reason }
}
