/// The client's end of an HTTP/2 connection, made to send many small requests that differ in little: bytes in, bytes and
/// ended requests out, no sockets.
///
/// In steady state nothing is allocated here for a request: what is kept of each stands in a table made at the start. Not
/// thread-safe; confine it to one queue. ``HTTP2Session`` is the general one. Its many properties are what the frames of a connection are about (RFC 9113): windows
/// and settings of both ends, header blocks, and the two buffers.
///
/// After ``receive(_:)``, take what has ended (``nextEnded()``); then open streams, and write ``output`` as far as the
/// socket takes it, telling ``wrote(_:)``.
public final class RequestSession {
  /// What became of one request.
  public struct Ended {
    /// The caller's number of it.
    public var tag: UInt64
    /// The caller's second number.
    public var mark: Int
    /// When it was opened, in the caller's nanoseconds.
    public var startedAt: UInt64
    /// The status of a complete answer. 0 when there is none, when it was malformed (RFC 9113 section 8.1.1), or when it
    /// was cut: its stream ended with an error, or with the connection, before its END_STREAM.
    public var status: UInt16
    /// Seconds of a `retry-after` field in digits; 0 without one.
    public var retryAfter: UInt16
    /// Why the stream ended; ``HTTP2ErrorCode/noError`` when there is a status.
    public var error: HTTP2ErrorCode
    /// Whether the peer can have the whole request; if not, it can't have processed it.
    public var wasSent: Bool
    /// What was kept of the body, at most ``keptBody`` bytes; valid until another request is opened.
    public var body: UnsafeRawBufferPointer
  }

  /// What the peer said when it took no more streams.
  public struct GoAway: Sendable {
    /// Streams above it were not processed.
    public var lastStreamID: Int32
    /// Why.
    public var error: HTTP2ErrorCode
    /// For people; APNs puts JSON there.
    public var debugData: [UInt8]
  }

  /// APNs' answers have some hundred bytes at most; what a proxy writes beyond this is dropped.
  public static let keptBody = 512
  /// Bytes of body after which a stream is reset: no answer to a push is so long, so the body has no end.
  static let longestBody = 65_536
  /// Frames that may come between two calls of ``allowMoreFrames()``, beyond ``framesPerAnswer`` for each answer. A peer
  /// that sends more keeps us busy and nothing else (RFC 9113 section 10.5). Well-behaved ones send a few frames for each
  /// of at most some thousand open requests; reading as many takes some ms.
  static let mostFrames = 20_000
  /// What an answer may consist of: HEADERS, CONTINUATION, DATA, trailers and some WINDOW_UPDATEs.
  static let framesPerAnswer = 16
  /// Bytes of payload in the largest TLS record (RFC 8446 section 5.1), and in the largest frame that is made here.
  private static let largestFrame = FrameHeader.size + FrameHeader.largestPayload
  /// Output that no request may use, so that there is room for what a peer is owed.
  private static let controlRoom = 16_384
  /// Output that is kept for the socket: some records, small enough for a second-level cache.
  private static let outputCapacity = 4 * 16_384 + 2 * largestFrame + controlRoom
  /// The last identifier that a client can give (RFC 9113 section 5.1.1).
  private static let lastStreamID: UInt32 = 0x7fff_ffff
  /// What a connection, and each stream, has room for at first (RFC 9113 section 6.9.2).
  static let initialWindow = 65_535

  let table: RequestTable
  let answers: AnswerFields
  /// What the peer said last when it took no more streams.
  public internal(set) var goAway: GoAway? {
    didSet { isGoingAway = true }
  }
  private(set) var isGoingAway = false
  /// How often it said so.
  public internal(set) var goAwayCount = 0
  /// Whether the peer's first SETTINGS have come.
  public internal(set) var hasReceivedSettings = false
  /// PINGs that were answered.
  public internal(set) var pingAnswers = 0
  /// Frames that count against ``mostFrames``.
  var frames = 0
  /// What the peer allows now; 100 until it says.
  public internal(set) var peerMaxConcurrentStreams = 100

  // What has come in part, and of whom.

  /// A frame of which the rest is to come.
  let partial: UnsafeMutableRawBufferPointer
  var partialCount = 0
  /// The stream of the header block that is being read; 0 for none.
  var blockStream: UInt32 = 0
  var blockEndsStream = false
  /// Its size so far.
  var blockSize = 0
  var blockFrames = 0
  /// Bytes of DATA that the peer has no new room for yet.
  var received = 0

  // What the peer has room for.

  var connectionWindow = initialWindow
  var streamWindow = initialWindow
  /// Whether there may be bodies of which a part is to be sent.
  private var hasUnsentBodies = false
  private let head = RequestHead()
  private(set) var nextID: UInt32
  /// Whether our last word has been said.
  private(set) var isTerminated = false

  private let memory: UnsafeMutableRawBufferPointer
  private var start = 0
  private var end = 0
  /// Bytes that were made, and that the socket has taken, since the beginning.
  private var produced: UInt64 = 0
  private var written: UInt64 = 0

  /// RFC 9113 section 3.4.
  private static let preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

  /// - Parameters:
  ///   - capacity: requests at most at once.
  ///   - settings: go out first, behind the preface.
  ///   - firstStreamID: odd; later ones leave fewer.
  /// - Throws: ``HTTP2Error`` when memory is short.
  public init(capacity: Int, settings: HTTP2Settings, firstStreamID: UInt32 = 1) throws {
    table = RequestTable(capacity: capacity)
    answers = try AnswerFields()
    memory = .allocate(byteCount: Self.outputCapacity, alignment: 16)
    partial = .allocate(byteCount: Self.largestFrame, alignment: 16)
    nextID = firstStreamID
    UnsafeMutableRawBufferPointer(rebasing: memory[0...]).copyBytes(from: Self.preface.utf8)
    advance(Self.preface.utf8.count)
    try control(FrameHeader.Kind.settings, settings.payload)
  }

  deinit {
    memory.deallocate()
    partial.deallocate()
  }

  // MARK: Requests

  /// Requests that are open.
  public var openCount: Int { table.openCount }

  /// Requests that are open, or have ended and are still to be told by ``nextEnded()``.
  public var unfinishedCount: Int { table.openCount + table.endedCount }

  /// Whether stream identifiers are used up.
  public var isExhausted: Bool { nextID > Self.lastStreamID }

  /// Whether a request can be opened and sent now: if not, either something must come from the peer, or output must be
  /// written, before it can.
  ///
  /// - Parameter bodyCount: bytes of body. More than the peer has room for are only begun when nothing else is under way:
  ///   whoever waits for that room is not heard of otherwise.
  public func canOpen(bodyCount: Int) -> Bool {
    table.hasFree && hasRoom && !isGoingAway && !isTerminated && !isExhausted
      && table.openCount < peerMaxConcurrentStreams && (connectionWindow >= bodyCount || table.openCount == 0)
  }

  /// Whether there is room for another request among the output.
  public var hasRoom: Bool { memory.count - end >= 2 * Self.largestFrame + Self.controlRoom }

  /// Opens a stream and makes its frames; call when ``canOpen(bodyCount:)``.
  ///
  /// - Parameters:
  ///   - template: with path and identifier filled in; may be used again at once.
  ///   - body: read before this returns, or copied if the peer has no room for it yet.
  ///   - tag: given back when the request has ended.
  ///   - mark: likewise.
  ///   - now: likewise.
  /// - Throws: ``HTTP2Error``; the request was not sent then, and the connection must be closed.
  public func open(
    _ template: RequestTemplate, body: UnsafeRawBufferPointer, tag: UInt64, mark: Int, now: UInt64
  ) throws {
    guard canOpen(bodyCount: 0) else {
      throw HTTP2Error("open a stream", "the peer takes no more, or there is no room")
    }
    guard head.spell(template) else { throw HTTP2Error("open a stream", "its header fields are too long") }
    // Where one that has waited long has the place, its identifier is left out: that closes it (RFC 9113 section 5.1.1).
    var id = nextID
    while !table.hasPlace(for: id) { id += 2 }
    guard id <= Self.lastStreamID else { throw HTTP2Error("open a stream", "no identifier is left") }
    nextID = id + 2
    let slot = table.take(id, tag: tag, mark: mark, now: now, body: body, sendWindow: streamWindow)
    writeHeaders(template, id: id, hasBody: !body.isEmpty)
    guard !body.isEmpty else { return table.slots[slot].end = produced }
    sendBody(of: slot)
    if table.slots[slot].bodyLeft > 0 {
      table.keepBody(of: slot)
      hasUnsentBodies = true
    }
  }

  private func writeHeaders(_ template: RequestTemplate, id: UInt32, hasBody: Bool) {
    let frame = memory.baseAddress.unsafelyUnwrapped + end
    var next = frame + FrameHeader.size
    head.write(template, to: &next)
    var flags = FrameHeader.Flag.endHeaders
    if !hasBody { flags |= FrameHeader.Flag.endStream }
    let length = next - frame - FrameHeader.size
    FrameHeader(length: length, kind: FrameHeader.Kind.headers, flags: flags, stream: id).write(to: frame)
    advance(next - frame)
  }

  /// Makes DATA frames of a body, as far as the peer has room for it.
  private func sendBody(of slot: Int) {
    let request = table.slots + slot
    while request.pointee.bodyLeft > 0, memory.count - end >= Self.largestFrame + Self.controlRoom {
      let room = min(connectionWindow, request.pointee.sendWindow)
      let count = min(request.pointee.bodyLeft, room, FrameHeader.largestPayload)
      guard count > 0 else { return }
      var next = memory.baseAddress.unsafelyUnwrapped + end
      let flags = count == request.pointee.bodyLeft ? FrameHeader.Flag.endStream : 0
      FrameHeader(length: count, kind: FrameHeader.Kind.data, flags: flags, stream: request.pointee.id).write(to: next)
      next += FrameHeader.size
      RequestHead.copy(table.takeBody(of: slot, count: count), to: &next)
      connectionWindow -= count
      request.pointee.sendWindow -= count
      advance(FrameHeader.size + count)
    }
    if request.pointee.bodyLeft == 0 { request.pointee.end = produced }
  }

  /// Goes on with bodies that found no room.
  func sendUnsentBodies() {
    guard hasUnsentBodies else { return }
    hasUnsentBodies = false
    for slot in 0..<table.capacity where table.slots[slot].isOpen && table.slots[slot].bodyLeft > 0 {
      sendBody(of: slot)
      if table.slots[slot].bodyLeft > 0 { hasUnsentBodies = true }
    }
  }

  /// Takes the next request that has ended.
  public func nextEnded() -> Ended? {
    guard let ended = table.nextEnded() else { return nil }
    frames = max(0, frames - Self.framesPerAnswer)
    return ended
  }

  /// Begins to count the peer's frames anew; to be called once a second. A peer that sends many thousands between two calls
  /// and answers hardly anything is taken for one that never stops: ``receive(_:)`` ends the connection.
  public func allowMoreFrames() { frames = 0 }

  /// Ends every request that was opened before `time` and is still open, with RST_STREAM.
  ///
  /// - Returns: whether all of them have ended; if not, the socket doesn't take anything.
  public func cancel(openedBefore time: UInt64) -> Bool {
    guard table.firstOpen(before: time) != nil else { return true }
    do {
      for slot in 0..<table.capacity where table.slots[slot].isOpen && table.slots[slot].startedAt < time {
        try reset(slot, .cancel)
      }
      return true
    } catch { return false }
  }

  /// Ends a request with RST_STREAM.
  func reset(_ slot: Int, _ error: HTTP2ErrorCode) throws {
    try control(FrameHeader.Kind.resetStream, FrameHeader.bytes(error.rawValue), stream: table.slots[slot].id)
    table.end(slot, error: error.rawValue)
  }

  /// Ends what is still open, because the connection is gone: what the socket didn't take in whole was not sent.
  public func abandon() { table.abandon(written: written) }

  // MARK: Connection

  /// Asks whether the peer is alive; ``pingAnswers`` counts what it answers.
  public func ping() throws { try control(FrameHeader.Kind.ping, [UInt8](repeating: 0, count: 8)) }

  /// Says that no more will come, for an orderly close.
  public func finish() { terminate(.noError) }

  /// Says why nothing more will come. Best effort: without it the peer sees the connection closed.
  func terminate(_ error: HTTP2ErrorCode) {
    guard !isTerminated else { return }
    isTerminated = true
    // No stream of the peer's was ever processed: it has none.
    try? control(FrameHeader.Kind.goAway, FrameHeader.bytes(UInt32(0)) + FrameHeader.bytes(error.rawValue))
  }

  /// The size of the peer's table for header fields.
  func setHeaderTableSize(_ size: Int) { head.setTableSize(size) }

  /// Whether nothing more is to be read or written: after GOAWAY, when the last stream has ended.
  public var isFinished: Bool { start == end && (isTerminated || isGoingAway && table.openCount == 0) }

  // MARK: Bytes

  /// What is to be written; valid until anything else is called.
  public var output: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: memory[start..<end]) }

  /// The socket has taken the first `count` bytes of ``output``, so that the peer can have them.
  public func wrote(_ count: Int) {
    start += count
    written += UInt64(count)
    if start == end {
      start = 0
      end = 0
    } else if !hasRoom {
      compact()
    }
    sendUnsentBodies()
  }

  private func compact() {
    memory.copyMemory(from: output)
    end -= start
    start = 0
  }

  private func advance(_ count: Int) {
    end += count
    produced += UInt64(count)
  }

  /// Makes a frame that is not part of a request.
  ///
  /// - Throws: ``HTTP2Error`` when there is no room: the peer asks for more than it reads.
  func control(_ kind: UInt8, _ payload: [UInt8], flags: UInt8 = 0, stream: UInt32 = 0) throws {
    let size = FrameHeader.size + payload.count
    if memory.count - end < size, start > 0 { compact() }
    guard memory.count - end >= size else { throw HTTP2Error("answer", "the peer asks for more than it reads") }
    var next = memory.baseAddress.unsafelyUnwrapped + end
    FrameHeader(length: payload.count, kind: kind, flags: flags, stream: stream).write(to: next)
    next += FrameHeader.size
    payload.withUnsafeBytes { RequestHead.copy($0, to: &next) }
    advance(size)
  }
}
