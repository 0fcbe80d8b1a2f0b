public import PushCore

/// Pushes that share their headers, in contiguous storage: nothing is allocated per push.
public struct PushBatch: Sendable {
  /// Headers that all pushes of the batch share.
  public var headers: PushHeaders
  /// Whether APNs may well reject them: they go over a connection of their own, because APNs lets a connection have one
  /// stream at a time after a rejection (reference 1.4), and the others are not to suffer.
  public var isUnproven: Bool
  /// Whose pushes these are: batches of one flow wait behind each other, flows of a lane take turns.
  public var flow = 0
  /// Raw tokens and payloads; ``Push`` points into it.
  public var bytes: [UInt8]
  /// The pushes.
  public var pushes: [Push]
  /// Where the payload stands that pushes share when they are added one by one.
  private var payload: Range<Int32> = 0..<0

  /// An empty batch.
  public init(headers: PushHeaders, isUnproven: Bool = false) {
    self.headers = headers
    self.isUnproven = isUnproven
    bytes = []
    pushes = []
  }

  /// A batch of pushes with one payload, to be added by ``append(tag:apnsID:token:)``.
  ///
  /// - Parameter capacity: how many are expected.
  public init(headers: PushHeaders, isUnproven: Bool = false, payload: [UInt8], capacity: Int) {
    self.init(headers: headers, isUnproven: isUnproven)
    // Most tokens have 32 bytes.
    bytes.reserveCapacity(payload.count + capacity * 32)
    bytes.append(contentsOf: payload)
    self.payload = 0..<Int32(payload.count)
    pushes.reserveCapacity(capacity)
  }

  /// Adds a push with the batch's one payload.
  public mutating func append(tag: UInt64, apnsID: (high: UInt64, low: UInt64), token: ArraySlice<UInt8>) {
    let start = Int32(bytes.count)
    bytes.append(contentsOf: token)
    pushes.append(Push(tag: tag, apnsID: apnsID, token: start..<Int32(bytes.count), payload: payload))
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
  /// `apns-channel-id`: the push is a broadcast to this channel, and ``topic`` the bundle id in its path.
  public var channel: String?

  /// Memberwise.
  public init(
    topic: String, pushType: PushType, priority: Int, expiration: Int? = nil, collapseID: String? = nil,
    channel: String? = nil
  ) {
    self.topic = topic
    self.pushType = pushType
    self.priority = priority
    self.expiration = expiration
    self.collapseID = collapseID
    self.channel = channel
  }
}

/// One push of a batch.
public struct Push: Sendable {
  /// The caller's own number for it, given back with the completion.
  public var tag: UInt64
  /// `apns-id`: the 16 bytes of a UUID in network order, in two halves.
  public var apnsID: (high: UInt64, low: UInt64)
  /// Where the raw token stands in ``PushBatch/bytes``; at most 200 bytes.
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
