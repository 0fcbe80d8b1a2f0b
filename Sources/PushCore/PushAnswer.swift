/// What is known of one attempt to send a push.
public struct PushAnswer: Sendable, Equatable {
  /// How much is known of what APNs did.
  public enum Kind: UInt8, Sendable {
    /// APNs answered; status and reason say what.
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
  /// The reason of a rejection. Without an answer: for what APNs refuses the credential as a whole, if it does.
  public var reason: Reason
  /// Seconds of a `Retry-After` header; 0 without one. Apple documents none; a proxy may send it.
  public var retryAfter: UInt16

  /// Memberwise.
  public init(kind: Kind, status: UInt16 = 0, reason: Reason = .none, retryAfter: UInt16 = 0) {
    self.kind = kind
    self.status = status
    self.reason = reason
    self.retryAfter = retryAfter
  }
}
