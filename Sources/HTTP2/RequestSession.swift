internal import CNghttp2

/// The client's end of an HTTP/2 connection, made to send many small requests that differ in little: bytes in, bytes and
/// ended requests out, no sockets.
///
/// In steady state nothing is allocated here for a request: what is kept of each stands in a table made at the start. Not
/// thread-safe; confine it to one queue. ``HTTP2Session`` is the general one.
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
    /// The final status; 0 when there is none, or when the answer was malformed (RFC 9113 section 8.1.1).
    public var status: UInt16
    /// Seconds of a `retry-after` field in digits; 0 without one.
    public var retryAfter: UInt16
    /// Why the stream ended; of no concern when there is a status.
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
  /// APNs' header blocks have some hundred bytes; a longer one than this is malformed, so that none is without end.
  static let longestHeaderList = 16_384
  /// Bytes of payload in the largest TLS record (RFC 8446 section 5.1), and in the largest frame that is made here.
  private static let largestFrame = 16_384 + 9
  /// Output that is kept for the socket: some records, small enough for a second-level cache.
  private static let outputCapacity = 4 * 16_384 + 2 * largestFrame
  /// The last identifier that a client can give (RFC 9113 section 5.1.1).
  private static let lastStreamID: UInt32 = 0x7fff_ffff

  let handle: OpaquePointer
  private let core: SessionCore
  let table: RequestTable
  /// What the peer said last when it took no more streams.
  public internal(set) var goAway: GoAway?
  /// How often it said so.
  public internal(set) var goAwayCount = 0
  /// Whether the peer's first SETTINGS have come.
  public internal(set) var hasReceivedSettings = false
  /// PINGs that were answered.
  public internal(set) var pingAnswers = 0
  /// The slot whose header block is being read.
  var current = -1
  /// The size of that block so far, as SETTINGS_MAX_HEADER_LIST_SIZE counts it (RFC 9113 section 6.5.2).
  var headerListSize = 0

  private let memory: UnsafeMutableRawBufferPointer
  private var start = 0
  private var end = 0
  /// Bytes that were made, and that the socket has taken, since the beginning.
  private(set) var produced: UInt64 = 0
  private var written: UInt64 = 0
  private var hasIndexedIdentifier = false
  /// Whether ``IndexedAuthorization`` has done its work.
  private var hasNamedAuthorization = false
  /// Of the last template.
  private var smallestWithAlias = Int.max

  /// - Parameters:
  ///   - capacity: requests at most at once.
  ///   - settings: go out first, behind the preface.
  ///   - firstStreamID: odd; later ones leave fewer.
  /// - Throws: ``HTTP2Error`` when memory is short.
  public init(capacity: Int, settings: HTTP2Settings, firstStreamID: Int32 = 1) throws {
    core = try SessionCore(nghttp2_session_client_new3, install: RequestCallbacks.install)
    handle = core.handle
    table = RequestTable(capacity: capacity)
    memory = .allocate(byteCount: Self.outputCapacity, alignment: 16)
    core.setOwner(self)
    if firstStreamID > 1 {
      try SessionCore.check("set the first stream", nghttp2_session_set_next_stream_id(handle, firstStreamID))
    }
    try core.submit(settings)
    try produce()
  }

  deinit { memory.deallocate() }

  // MARK: Requests

  /// Requests that are open.
  public var openCount: Int { table.openCount }

  /// Requests that are open, or have ended and are still to be told by ``nextEnded()``.
  public var unfinishedCount: Int { table.openCount + table.endedCount }

  /// Whether stream identifiers are used up.
  public var isExhausted: Bool { nghttp2_session_get_next_stream_id(handle) > Self.lastStreamID }

  /// What the peer allows now.
  public var peerMaxConcurrentStreams: Int { core.peerMaxConcurrentStreams }

  /// Whether a request can be opened and sent now: if not, either something must come from the peer, or output must be
  /// written, before it can.
  ///
  /// - Parameter bodyCount: bytes of body. More than the peer has room for are only begun when nothing else is under way:
  ///   whoever waits for that room is not heard of otherwise.
  public func canOpen(bodyCount: Int) -> Bool {
    // nghttp2_session_check_request_allowed(3): not after GOAWAY, nor without an identifier left.
    table.hasFree && hasRoom && nghttp2_session_check_request_allowed(handle) != 0
      && table.openCount < peerMaxConcurrentStreams
      && (Int(nghttp2_session_get_remote_window_size(handle)) >= bodyCount || table.openCount == 0)
  }

  /// Whether there is room for another request among the output.
  public var hasRoom: Bool { memory.count - end >= 2 * Self.largestFrame }

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
    let slot = table.take(tag: tag, mark: mark, now: now, body: body)
    template.setIndexing(ofIdentifier: !hasIndexedIdentifier)
    hasIndexedIdentifier = true
    smallestWithAlias = template.smallestWithAlias
    var provider = nghttp2_data_provider()
    provider.source.fd = Int32(slot)
    provider.read_callback = RequestCallbacks.readBody
    let id = nghttp2_submit_request(
      handle, nil, template.fields.baseAddress, template.fields.count, &provider, RequestTable.userData(slot))
    do {
      guard id > 0 else { throw HTTP2Error("open a stream", code: Int(id)) }
      table.slots[slot].id = id
      try produce()
      // The template is free again only when nghttp2 has made the frame; over the peer's limit it would keep it back.
      guard nghttp2_session_get_outbound_queue_size(handle) == 0 else {
        throw HTTP2Error("open a stream", code: Int(NGHTTP2_ERR_INVALID_STATE.rawValue))
      }
      // The first request spells every name out: an nghttp2 that writes this one otherwise would have it refused for ever.
      guard hasNamedAuthorization || smallestWithAlias == .max else {
        throw HTTP2Error("name the authorization field", code: Int(NGHTTP2_ERR_HEADER_COMP.rawValue))
      }
    } catch {
      // The caller has the request back: it must not end a second time.
      table.discard(slot)
      throw error
    }
    if table.slots[slot].bodyLeft > 0 { table.keepBody(of: slot) }
  }

  /// Takes the next request that has ended.
  public func nextEnded() -> Ended? { table.nextEnded() }

  /// Ends every request that was opened before `time` and is still open, with RST_STREAM.
  ///
  /// - Returns: whether all of them have ended; if not, the socket doesn't take anything.
  public func cancel(openedBefore time: UInt64) throws -> Bool {
    guard table.firstOpen(before: time) != nil else { return true }
    for slot in 0..<table.capacity where table.slots[slot].isOpen && table.slots[slot].startedAt < time {
      try core.reset(table.slots[slot].id, .cancel)
    }
    try produce()
    return table.firstOpen(before: time) == nil
  }

  /// Ends what is still open, because the connection is gone: what the socket didn't take in whole was not sent.
  public func abandon() { table.abandon(written: written) }

  // MARK: Connection

  /// Asks whether the peer is alive; ``pingAnswers`` counts what it answers.
  public func ping() throws {
    try core.ping()
    try produce()
  }

  /// Says that no more will come, for an orderly close.
  public func finish() {
    // Best effort: without it the peer sees the connection closed.
    guard nghttp2_session_terminate_session(handle, HTTP2ErrorCode.noError.rawValue) == 0 else { return }
    try? produce()
  }

  /// Whether nothing more is to be read or written: after GOAWAY, when the last stream has ended.
  public var isFinished: Bool { core.isFinished }

  // MARK: Bytes

  /// Takes what came from the peer.
  ///
  /// - Throws: ``HTTP2Error`` when the peer isn't speaking HTTP/2; the connection must be closed.
  public func receive(_ bytes: UnsafeRawBufferPointer) throws {
    try core.receive(bytes)
    try produce()
  }

  /// What is to be written; valid until anything else is called.
  public var output: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: memory[start..<end]) }

  /// The socket has taken the first `count` bytes of ``output``, so that the peer can have them.
  public func wrote(_ count: Int) throws {
    start += count
    written += UInt64(count)
    if start == end {
      start = 0
      end = 0
    } else if !hasRoom {
      memory.copyMemory(from: output)
      end -= start
      start = 0
    }
    // Frames that found no room before.
    if nghttp2_session_want_write(handle) != 0 { try produce() }
  }

  /// Lets nghttp2 make the frames that it can.
  private func produce() throws {
    // nghttp2 makes one frame a call.
    while memory.count - end >= Self.largestFrame, let frame = try core.nextOutput() { append(frame) }
  }

  private func append(_ bytes: UnsafeRawBufferPointer) {
    let place = UnsafeMutableRawBufferPointer(rebasing: memory[end..<end + bytes.count])
    place.copyMemory(from: bytes)
    if bytes.count >= smallestWithAlias, IndexedAuthorization.restoreName(in: place) { hasNamedAuthorization = true }
    end += bytes.count
    produced += UInt64(bytes.count)
  }

  /// Puts a DATA frame of the slot's body among the output (nghttp2_send_data_callback(3)).
  ///
  /// - Returns: `false` when there is no room for it now; nghttp2 tries again.
  func appendData(slot: Int, header: UnsafeRawBufferPointer, count: Int) -> Bool {
    guard memory.count - end >= header.count + count else { return false }
    UnsafeMutableRawBufferPointer(rebasing: memory[end...]).copyMemory(from: header)
    let body = table.takeBody(of: slot, count: count)
    UnsafeMutableRawBufferPointer(rebasing: memory[(end + header.count)...]).copyMemory(from: body)
    end += header.count + count
    produced += UInt64(header.count + count)
    if table.slots[slot].bodyLeft == 0 { table.slots[slot].end = produced }
    return true
  }
}
