/// Pushes with a common request, in contiguous storage. The batch allocates no memory for each push.
public struct PushBatch: Sendable {
  /// Request that all pushes of the batch use.
  public var request: PushRequest
  /// Whether the service is likely to reject these pushes, for example because their campaign is in its guard trial.
  /// Such pushes use a separate connection. After a rejection, a service such as APNs may allow only one stream at a
  /// time on a connection. Other pushes must not wait on such a connection.
  public var isUnproven: Bool
  /// Number of the *flow* of these pushes, for example of their campaign. The batches of one flow are sent one after
  /// the other. The flows of a lane take turns.
  public var flow = 0
  /// Raw tokens and payloads of all pushes. The ranges in ``Push`` refer to these bytes.
  public var bytes: [UInt8]
  /// The pushes.
  public var pushes: [Push]
  /// Range of the common payload in ``bytes``; empty if every push has its own payload.
  private var payload: Range<Int32> = 0..<0

  /// Creates an empty batch.
  public init(request: PushRequest, isUnproven: Bool = false) {
    self.request = request
    self.isUnproven = isUnproven
    bytes = []
    pushes = []
  }

  /// Creates a batch for pushes with one payload. ``append(tag:id:token:)`` adds the pushes.
  ///
  /// - Parameters:
  ///   - capacity: expected number of pushes.
  ///   - bytesPerPush: approximate size of each push's own payload.
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

  /// Adds a push with the common payload of the batch.
  public mutating func append(tag: UInt64, id: (high: UInt64, low: UInt64), token: ArraySlice<UInt8>) {
    let start = Int32(bytes.count)
    bytes.append(contentsOf: token)
    pushes.append(Push(tag: tag, id: id, token: start..<Int32(bytes.count), payload: payload))
  }

  /// Adds a push whose payload is made from a campaign's content and a target's values.
  ///
  /// - Parameter most: maximum size of a payload in bytes.
  /// - Returns: whether the push was added. It is not added if its payload would be larger.
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

  /// Adds a push whose payload contains its token.
  ///
  /// - Parameters:
  ///   - opening: the payload before the token.
  ///   - content: the payload after the token.
  ///   - lifetime: seconds until the push expires.
  ///   - most: maximum size in bytes of the payload after the token.
  /// - Returns: whether the push was added. It is not added if its payload would be larger.
  public mutating func append(
    tag: UInt64, id: (high: UInt64, low: UInt64), opening: [UInt8], token: ArraySlice<UInt8>,
    _ content: PersonalContent, _ values: TargetValues, lifetime: Int, most: Int
  ) -> Bool {
    let start = bytes.count
    bytes.append(contentsOf: opening)
    let begin = Int32(bytes.count)
    bytes.append(contentsOf: token)
    let end = Int32(bytes.count)
    guard content.write(values, id: id, lifetime: lifetime, most: most, to: &bytes) else {
      bytes.removeLast(bytes.count - start)
      return false
    }
    pushes.append(Push(tag: tag, id: id, token: begin..<end, payload: Int32(start)..<Int32(bytes.count)))
    return true
  }

  /// Adds a push with its own payload.
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
  /// Number by which the caller identifies the push. The result of the push contains this number.
  public var tag: UInt64
  /// UUID of the push, as the two halves of 16 bytes in network order. A service uses it to recognise a push that is
  /// sent twice.
  public var id: (high: UInt64, low: UInt64)
  /// Range of the raw token in ``PushBatch/bytes``.
  public var token: Range<Int32>
  /// Range of the payload in ``PushBatch/bytes``. Pushes may share one payload.
  public var payload: Range<Int32>

  /// Creates an instance with these values.
  public init(tag: UInt64, id: (high: UInt64, low: UInt64), token: Range<Int32>, payload: Range<Int32>) {
    self.tag = tag
    self.id = id
    self.token = token
    self.payload = payload
  }
}
