/// The client's end of an HTTP/2 connection for many small requests that differ little. The type has no sockets: it
/// gets the bytes that arrived, and returns bytes to send and the requests that have ended.
///
/// In steady state, a request allocates no memory: its state is in a table that is created at the start. The type is
/// not thread-safe; confine it to one queue. For all other purposes, use ``HTTP2Session``. This class has many
/// properties, because a connection has windows and settings for each end, header blocks that arrive in parts, and two
/// buffers (RFC 9113).
///
/// After ``receive(_:)``, take the requests that have ended (``nextEnded()``). Then open streams, write as much of
/// ``output`` as the socket accepts, and report it with ``wrote(_:)``.
public final class RequestSession {
  /// The result of one request.
  public struct Ended {
    /// The number that the caller gave to the request.
    public var tag: UInt64
    /// A second number that the caller gave to the request.
    public var mark: Int
    /// The time at which the request was opened, as the caller passed it.
    public var startedAt: UInt64
    /// The status of a complete answer; 0 without an answer, and for an answer that was malformed (RFC 9113 section
    /// 8.1.1) or truncated. An answer is truncated if its stream or connection ended before END_STREAM.
    public var status: UInt16
    /// Delay of a `retry-after` field in seconds; 0 without the field. If the field has a date, the delay counts from
    /// the answer's `date`.
    public var retryAfter: UInt16
    /// Time of a `retry-after` field, in UNIX seconds, if the field has a date and the answer has no `date`; otherwise
    /// 0.
    public var retryAt: UInt32
    /// The reason why the stream ended; ``HTTP2ErrorCode/noError`` if there is a status.
    public var error: HTTP2ErrorCode
    /// Whether the peer may have the whole request. If not, the peer can't have processed it.
    public var wasSent: Bool
    /// The stored part of the body, at most ``keptBody`` bytes. Valid until another request is opened.
    public var body: UnsafeRawBufferPointer
  }

  /// A GOAWAY of the peer, which accepts no more streams.
  public struct GoAway: Sendable {
    /// Streams above this one were not processed.
    public var lastStreamID: Int32
    /// The reason.
    public var error: HTTP2ErrorCode
    /// Text for operators; APNs sends JSON here.
    public var debugData: [UInt8]
  }

  /// Maximum number of stored bytes of an answer's body; the rest of a longer body is dropped. The answers of APNs have
  /// at most some hundred bytes. Google's errors can have more than 1,000: they are indented, and the word that says
  /// what is wrong can be at their end.
  public static let keptBody = 4096
  /// Number of body bytes after which a stream is reset. No answer to a push is this long.
  static let longestBody = 65_536
  /// Maximum number of frames between two calls of ``allowMoreFrames()``, in addition to ``framesPerAnswer`` for each
  /// answer. A peer that sends more frames only causes load (RFC 9113 section 10.5). A normal peer sends a few frames
  /// for each of at most some thousand open requests. Reading 20,000 frames takes some ms.
  static let maximumFrames = 20_000
  /// Maximum number of frames of an answer: HEADERS, CONTINUATION, DATA, trailers and some WINDOW_UPDATEs.
  static let framesPerAnswer = 16
  /// Size of the largest frame of this session. Its payload fits into the largest TLS record (RFC 8446 section 5.1).
  private static let largestFrame = FrameHeader.size + FrameHeader.largestPayload
  /// Number of output bytes that requests must leave free, so that replies to the peer have room.
  private static let controlRoom = 16_384
  /// Size of the output buffer in bytes: room for some TLS records, and small enough for a second-level cache.
  private static let outputCapacity = 4 * 16_384 + 2 * largestFrame + controlRoom
  /// The highest identifier that a client can use (RFC 9113 section 5.1.1).
  private static let lastStreamID: UInt32 = 0x7fff_ffff
  /// Initial window of a connection, and of each stream (RFC 9113 section 6.9.2).
  static let initialWindow = 65_535

  let table: RequestTable
  let answers: AnswerFields
  /// The peer's last GOAWAY.
  public internal(set) var goAway: GoAway? {
    didSet { isGoingAway = true }
  }
  private(set) var isGoingAway = false
  /// Number of GOAWAYs from the peer.
  public internal(set) var goAwayCount = 0
  /// Whether the peer's first SETTINGS have arrived.
  public internal(set) var hasReceivedSettings = false
  /// Number of PINGs that the peer has answered.
  public internal(set) var pingAnswers = 0
  /// Number of frames that count against ``maximumFrames``.
  var frames = 0
  /// Number of streams that the peer allows now; 100 until it announces a limit.
  public internal(set) var peerMaxConcurrentStreams = 100

  // Frames and header blocks of which only a part has arrived.

  /// The first bytes of a frame that has not arrived completely.
  let partial: UnsafeMutableRawBufferPointer
  var partialCount = 0
  /// The stream of the header block that is being read; 0 for none.
  var blockStream: UInt32 = 0
  var blockEndsStream = false
  /// Size of this header block so far, in bytes.
  var blockSize = 0
  var blockFrames = 0
  /// Number of received bytes of DATA for which this end has not given the peer new credit (WINDOW_UPDATE) yet.
  var received = 0

  // The flow-control windows for data to the peer, in bytes.

  var connectionWindow = initialWindow
  var streamWindow = initialWindow
  /// Whether a body may have a part that was not sent yet.
  private var hasUnsentBodies = false
  private let head = RequestHeaderBlock()
  private(set) var nextID: UInt32
  /// Whether this end has sent its GOAWAY.
  private(set) var isTerminated = false

  private let memory: UnsafeMutableRawBufferPointer
  private var start = 0
  private var end = 0
  /// Total number of bytes that were put into the output. `written` counts the bytes that the socket has accepted.
  private var produced: UInt64 = 0
  private var written: UInt64 = 0

  /// The client's connection preface (RFC 9113 section 3.4).
  private static let preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

  /// - Parameters:
  ///   - capacity: Maximum number of requests at the same time.
  ///   - settings: The settings of this end, sent first, after the preface.
  ///   - firstStreamID: An odd number. Tests use a high number, so that few identifiers are left.
  /// - Throws: ``HTTP2Error`` if memory is short.
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

  /// Number of open requests.
  public var openCount: Int { table.openCount }

  /// Number of requests that are open, or that have ended and were not returned by ``nextEnded()`` yet.
  public var unfinishedCount: Int { table.openCount + table.endedCount }

  /// Whether no stream identifier is left.
  public var isExhausted: Bool { nextID > Self.lastStreamID }

  /// Returns whether a request can be opened and sent now. If not, the peer must send something first, or output must
  /// be written first.
  ///
  /// - Parameter bodyCount: Bytes of the body. If the body is larger than the peer's window, the result is true only
  ///   while no other request is open. The caller must then open the request and not wait for a larger window: without
  ///   an open request, no event would wake the caller.
  public func canOpen(bodyCount: Int) -> Bool {
    table.hasFree && hasRoom && !isGoingAway && !isTerminated && !isExhausted
      && table.openCount < peerMaxConcurrentStreams && (connectionWindow >= bodyCount || table.openCount == 0)
  }

  /// Whether the output has room for another request.
  public var hasRoom: Bool { memory.count - end >= 2 * Self.largestFrame + Self.controlRoom }

  /// Opens a stream and writes its frames to the output. Call this only if ``canOpen(bodyCount:)`` returned true.
  ///
  /// - Parameters:
  ///   - template: The template, with the path and the identifier of this request. The caller may reuse it immediately.
  ///   - body: The body. It is read during the call, or copied if the peer's window is too small.
  ///   - tag: Returned as ``Ended/tag`` when the request has ended.
  ///   - mark: Returned as ``Ended/mark``.
  ///   - now: The present time in nanoseconds, on any clock of the caller. Returned as ``Ended/startedAt``.
  /// - Throws: ``HTTP2Error``. In this case the request was not sent, and the connection must be closed.
  public func open(
    _ template: RequestTemplate, body: UnsafeRawBufferPointer, tag: UInt64, mark: Int, now: UInt64
  ) throws {
    guard canOpen(bodyCount: 0) else {
      throw HTTP2Error("open a stream", "the peer takes no more, or there is no room")
    }
    guard head.spell(template) else { throw HTTP2Error("open a stream", "its header fields are too long") }
    // Several identifiers have the same position in the table. If an old request still occupies the position, the
    // session skips the identifier. The peer then treats the skipped stream as closed (RFC 9113 section 5.1.1).
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

  /// Writes DATA frames of a body to the output, as far as the peer's windows and the output allow.
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
      RequestHeaderBlock.copy(table.takeBody(of: slot, count: count), to: &next)
      connectionWindow -= count
      request.pointee.sendWindow -= count
      advance(FrameHeader.size + count)
    }
    if request.pointee.bodyLeft == 0 { request.pointee.end = produced }
  }

  /// Continues with bodies that were waiting for a window or for the output.
  func sendUnsentBodies() {
    guard hasUnsentBodies else { return }
    hasUnsentBodies = false
    for slot in 0..<table.capacity where table.slots[slot].isOpen && table.slots[slot].bodyLeft > 0 {
      sendBody(of: slot)
      if table.slots[slot].bodyLeft > 0 { hasUnsentBodies = true }
    }
  }

  /// Removes and returns the next request that has ended.
  public func nextEnded() -> Ended? {
    guard let ended = table.nextEnded() else { return nil }
    frames = max(0, frames - Self.framesPerAnswer)
    return ended
  }

  /// Restarts the count of the peer's frames. Call this once a second. If the peer sends more than ``maximumFrames``
  /// frames between two calls with hardly any answers, ``receive(_:)`` ends the connection.
  public func allowMoreFrames() { frames = 0 }

  /// Ends every open request that was opened before `time`, with RST_STREAM.
  ///
  /// - Returns: Whether all of them have ended. If not, the output is full, because the socket accepts no bytes.
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

  /// Ends all open requests, because the connection is gone. A request that the socket did not accept completely was
  /// not sent.
  public func abandon() { table.abandon(written: written) }

  // MARK: Connection

  /// Sends a PING. ``pingAnswers`` counts the answers of the peer.
  public func ping() throws { try control(FrameHeader.Kind.ping, [UInt8](repeating: 0, count: 8)) }

  /// Announces the orderly end of the connection to the peer.
  public func finish() { terminate(.noError) }

  /// Announces the end of the connection with its reason. If the output has no room, the announcement is omitted, and
  /// the peer only sees the connection closed.
  func terminate(_ error: HTTP2ErrorCode) {
    guard !isTerminated else { return }
    isTerminated = true
    // The frame names stream 0 as the last stream, because the peer has opened no streams.
    try? control(FrameHeader.Kind.goAway, FrameHeader.bytes(UInt32(0)) + FrameHeader.bytes(error.rawValue))
  }

  /// Sets the size of the peer's table for header fields.
  func setHeaderTableSize(_ size: Int) { head.setTableSize(size) }

  /// Whether there is nothing more to read or write: after a GOAWAY, when the last stream has ended.
  public var isFinished: Bool { start == end && (isTerminated || isGoingAway && table.openCount == 0) }

  // MARK: Bytes

  /// The bytes to write. Valid until the next call.
  public var output: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: memory[start..<end]) }

  /// Records that the socket has accepted the first `count` bytes of ``output``, so that the peer may have them.
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

  /// Writes a frame to the output that is not part of a request.
  ///
  /// - Throws: ``HTTP2Error`` if the output has no room. This happens if the peer sends frames that need a reply, but
  ///   does not read the replies.
  func control(_ kind: UInt8, _ payload: [UInt8], flags: UInt8 = 0, stream: UInt32 = 0) throws {
    let size = FrameHeader.size + payload.count
    if memory.count - end < size, start > 0 { compact() }
    guard memory.count - end >= size else { throw HTTP2Error("answer", "the peer asks for more than it reads") }
    var next = memory.baseAddress.unsafelyUnwrapped + end
    FrameHeader(length: payload.count, kind: kind, flags: flags, stream: stream).write(to: next)
    next += FrameHeader.size
    payload.withUnsafeBytes { RequestHeaderBlock.copy($0, to: &next) }
    advance(size)
  }
}
