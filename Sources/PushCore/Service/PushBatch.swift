/// Pushes that share their request, in contiguous storage: nothing is allocated per push.
public struct PushBatch: Sendable {
  /// What all pushes of the batch share.
  public var request: PushRequest
  /// Whether the service may well reject them: they go over a connection of their own, because a service may allow a
  /// connection one stream at a time after a rejection, as APNs does, and the others are not to suffer.
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
  public init(request: PushRequest, isUnproven: Bool = false) {
    self.request = request
    self.isUnproven = isUnproven
    bytes = []
    pushes = []
  }

  /// A batch of pushes with one payload, to be added by ``append(tag:id:token:)``.
  ///
  /// - Parameters:
  ///   - capacity: how many are expected.
  ///   - bytesPerPush: about how large a payload of its own each has.
  public init(
    request: PushRequest, isUnproven: Bool = false, payload: [UInt8] = [], capacity: Int, bytesPerPush: Int = 0
  ) {
    self.init(request: request, isUnproven: isUnproven)
    // Most tokens have 32 bytes.
    bytes.reserveCapacity(payload.count + capacity * (32 + bytesPerPush))
    bytes.append(contentsOf: payload)
    self.payload = 0..<Int32(payload.count)
    pushes.reserveCapacity(capacity)
  }

  /// Adds a push with the batch's one payload.
  public mutating func append(tag: UInt64, id: (high: UInt64, low: UInt64), token: ArraySlice<UInt8>) {
    let start = Int32(bytes.count)
    bytes.append(contentsOf: token)
    pushes.append(Push(tag: tag, id: id, token: start..<Int32(bytes.count), payload: payload))
  }

  /// Adds a push with a payload that is made of a campaign's content.
  ///
  /// - Parameter most: bytes that a payload may have.
  /// - Returns: whether it was added; not when its payload would be larger.
  public mutating func append(
    tag: UInt64, id: (high: UInt64, low: UInt64), token: ArraySlice<UInt8>, _ content: PersonalContent,
    _ values: TargetValues, most: Int
  ) -> Bool {
    let start = Int32(bytes.count)
    bytes.append(contentsOf: token)
    let end = Int32(bytes.count)
    guard content.write(values, id: id, most: most, to: &bytes) else {
      bytes.removeLast(token.count)
      return false
    }
    pushes.append(Push(tag: tag, id: id, token: start..<end, payload: end..<Int32(bytes.count)))
    return true
  }

  /// Adds a push with a payload of its own.
  public mutating func append(
    tag: UInt64, id: (high: UInt64, low: UInt64), token: ArraySlice<UInt8>, payload: some Collection<UInt8>
  ) {
    let start = Int32(bytes.count)
    bytes.append(contentsOf: token)
    let end = Int32(bytes.count)
    bytes.append(contentsOf: payload)
    pushes.append(Push(tag: tag, id: id, token: start..<end, payload: end..<Int32(bytes.count)))
  }
}

/// One push of a batch.
public struct Push: Sendable {
  /// The caller's own number for it, given back with the completion.
  public var tag: UInt64
  /// Its UUID, 16 bytes in network order, in two halves: by it a service knows a push that is sent twice.
  public var id: (high: UInt64, low: UInt64)
  /// Where the raw token stands in ``PushBatch/bytes``.
  public var token: Range<Int32>
  /// Where the payload stands in ``PushBatch/bytes``; pushes may share one.
  public var payload: Range<Int32>

  /// Memberwise.
  public init(tag: UInt64, id: (high: UInt64, low: UInt64), token: Range<Int32>, payload: Range<Int32>) {
    self.tag = tag
    self.id = id
    self.token = token
    self.payload = payload
  }
}
