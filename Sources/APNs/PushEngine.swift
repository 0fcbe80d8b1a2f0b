public import PushCore

/// Pushes that share their headers, in contiguous storage: nothing is allocated per push.
public struct PushBatch: Sendable {
  /// Headers that all pushes of the batch share.
  public var headers: PushHeaders
  /// Raw tokens and payloads; ``Push`` points into it.
  public var bytes: [UInt8]
  /// The pushes.
  public var pushes: [Push]

  /// An empty batch.
  public init(headers: PushHeaders) {
    self.headers = headers
    bytes = []
    pushes = []
  }
}

/// Headers that the pushes of a campaign share. Source: Apple, "Sending notification requests to APNs".
public struct PushHeaders: Sendable, Equatable {
  /// `apns-topic`, suffix included.
  public var topic: String
  /// `apns-push-type`.
  public var pushType: PushType
  /// `apns-priority`.
  public var priority: Int
  /// `apns-expiration` in UNIX seconds; `nil` sends no header.
  public var expiration: Int?
  /// `apns-collapse-id`; `nil` sends no header.
  public var collapseID: String?

  /// Memberwise.
  public init(topic: String, pushType: PushType, priority: Int, expiration: Int? = nil, collapseID: String? = nil) {
    self.topic = topic
    self.pushType = pushType
    self.priority = priority
    self.expiration = expiration
    self.collapseID = collapseID
  }
}

/// One push of a batch.
public struct Push: Sendable {
  /// The caller's own number for it, given back with the completion.
  public var tag: UInt64
  /// `apns-id`: the 16 bytes of a UUID in network order, in two halves.
  public var apnsID: (high: UInt64, low: UInt64)
  /// Where the raw token stands in ``PushBatch/bytes``.
  public var token: Range<Int32>
  /// Where the payload stands in ``PushBatch/bytes``; pushes may share one.
  public var payload: Range<Int32>

  /// Memberwise.
  public init(tag: UInt64, apnsID: (high: UInt64, low: UInt64), token: Range<Int32>, payload: Range<Int32>) {
    self.tag = tag
    self.apnsID = apnsID
    self.token = token
    self.payload = payload
  }
}

/// What became of one push.
public struct PushCompletion: Sendable {
  /// How much is known of what APNs did.
  public enum Kind: UInt8, Sendable {
    /// APNs answered; status and reason say what.
    case answered
    /// Provably not processed: may be sent again at no risk.
    case notSent
    /// It may or may not have been processed.
    case ambiguous
  }

  /// The push's own ``Push/tag``.
  public var tag: UInt64
  public var kind: Kind
  /// The HTTP status; 0 without an answer.
  public var status: UInt16
  /// The reason of a rejection.
  public var reason: Reason
  /// With 410: when APNs found the token dead, in ms since the epoch; 0 when absent.
  public var timestamp: UInt64
  /// The text of a reason that ``Reason`` doesn't know, at most 64 bytes. Rare, so a string is affordable.
  public var unknownReason: String?

  /// Memberwise.
  public init(
    tag: UInt64, kind: Kind, status: UInt16 = 0, reason: Reason = .none, timestamp: UInt64 = 0,
    unknownReason: String? = nil
  ) {
    self.tag = tag
    self.kind = kind
    self.status = status
    self.reason = reason
    self.timestamp = timestamp
    self.unknownReason = unknownReason
  }
}

/// One connection to APNs and everything on it, on a serial queue of its own.
///
/// The seam between the pool and a transport. An engine owns its stream limit: it asks for work by its `capacity`
/// callback, and the pool never submits more than it asked for.
public protocol PushEngine: AnyObject, Sendable {
  /// Takes pushes to send. Every one of them completes exactly once, whatever happens to the connection.
  func submit(_ batch: PushBatch)
  /// Takes no more pushes, lets what is in flight be answered, and closes. What is unanswered after `deadline`
  /// nanoseconds completes as ambiguous. Idempotent; returns when nothing is left.
  func drain(deadline: UInt64) async
}
