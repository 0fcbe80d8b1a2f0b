private import EventLoop
internal import HTTP2

/// Google's side of one connection. It collects each request, and sends the answer of its endpoint immediately or
/// later.
final class GoogleRole: ServiceRole {
  /// State of an open stream, at the index of the stream's slot.
  private struct Exchange {
    var stream: Int32 = 0
    var request = GoogleRequest()
    var answer: GoogleAnswer?
    var isAnswered = false
  }

  /// Maximum size of a stored body in bytes, far above a payload of 4,096 bytes in JSON with escapes.
  private static let longestBody = 65_536
  /// SETTINGS_MAX_HEADER_LIST_SIZE of Google's front ends.
  private static let headerListSize: UInt32 = 65_536
  /// Flow-control window of a connection in bytes, so that a sender of small bodies never waits.
  private static let window: Int32 = 1 << 20

  private let connection: Int
  private let session: any WireSession
  private let endpoint: any GoogleEndpoint
  private let loop: LoopState
  private var exchanges: [Exchange] = []
  private var openCount = 0
  private var fields = HeaderFields()
  /// The time of the last answer, and its text for the header `date`.
  private var date: (seconds: Int64, text: String) = (.min, "")
  private(set) var requestCount = 0
  let lifetime: ConnectionLifetime
  /// The highest stream that this role processes. Until it has submitted a GOAWAY, it processes all streams.
  private var lastStream = Int32.max
  private var lastAnswered: Int32 = 0
  /// Number of PINGs since the last request.
  private var pings = 0
  /// Whether a fault or an error of the client has ended the connection. Bytes that remain in its buffer count as never
  /// received.
  private var isCut = false

  /// Creates a session for the negotiated protocol and its role.
  static func open(
    _ id: Int, protocol name: String?, endpoint: any GoogleEndpoint, loop: LoopState
  ) throws -> OpenedConnection {
    let session: any WireSession = name == "h2" ? try http2(by: loop.knobs.fcm) : HTTP1Session()
    return (session, GoogleRole(connection: id, session: session, endpoint: endpoint, loop: loop))
  }

  private static func http2(by knobs: FCMKnobs) throws -> HTTP2Session {
    var settings = HTTP2Settings()
    settings.maxConcurrentStreams = knobs.streamLimit
    settings.initialWindowSize = 65_535
    settings.maxHeaderListSize = headerListSize
    return try HTTP2Session(role: .server, settings: settings, connectionWindow: window)
  }

  private init(connection: Int, session: any WireSession, endpoint: any GoogleEndpoint, loop: LoopState) {
    self.connection = connection
    self.session = session
    self.endpoint = endpoint
    self.loop = loop
    lifetime = ConnectionLifetime(ageSeconds: loop.knobs.fcm.connectionSeconds)
  }

  private var knobs: FCMKnobs { loop.knobs.fcm }

  private func count(_ fault: FaultKind, _ count: Int = 1) {
    loop.tally.fcm.faults[fault.rawValue, default: 0] += count
  }

  // MARK: Requests

  func opened() { if endpoint.hasFaults { loop.tally.fcm.connections += 1 } }

  func willWrite() {}

  func received(_ fields: borrowing HeaderFields, on stream: HTTP2Stream) throws {
    while exchanges.count <= stream.slot { exchanges.append(Exchange()) }
    // Trailers are ignored. After a GOAWAY the client considers further streams unprocessed.
    guard exchanges[stream.slot].stream != stream.id, !isCut else { return }
    guard stream.id <= lastStream else { return count(.goAwayAfterRequests) }
    pings = 0
    if endpoint.hasFaults, loop.shares.fcm.refuses(count: { count($0) }) {
      return try session.reset(stream, error: .refusedStream)
    }
    var request = GoogleRequest()
    for index in 0..<fields.count {
      let name = fields.name(index)
      let value = fields.value(index)
      if name.matches(":method") {
        request.method = String(decoding: value, as: UTF8.self)
      } else if name.matches(":path") {
        request.path = String(decoding: value, as: UTF8.self)
      } else if name.matches(":authority") {
        request.authority = String(decoding: value, as: UTF8.self)
      } else if name.matches("authorization") {
        request.authorization = String(decoding: value, as: UTF8.self)
      } else if name.matches("content-type") {
        request.contentType = String(decoding: value, as: UTF8.self)
      }
    }
    exchanges[stream.slot] = Exchange(stream: stream.id, request: request)
    openCount += 1
    loop.tally.fcm.maximumStreams = max(loop.tally.fcm.maximumStreams, openCount)
  }

  func received(_ bytes: UnsafeRawBufferPointer, on stream: HTTP2Stream) {
    guard isOpen(stream) else { return }
    exchanges[stream.slot].request.bodyCount += bytes.count
    let room = Self.longestBody - exchanges[stream.slot].request.body.count
    exchanges[stream.slot].request.body.append(contentsOf: bytes.prefix(room))
  }

  func ended(_ stream: HTTP2Stream) throws {
    guard isOpen(stream) else { return }
    guard stream.id <= lastStream else { return count(.goAwayAfterRequests) }
    requestCount += 1
    let request = exchanges[stream.slot].request
    let answer = endpoint.answer(request, by: loop)
    exchanges[stream.slot].answer = answer
    guard endpoint.hasFaults else { return try answerLater(stream, answer.delayMilliseconds) }
    let outcome = loop.shares.fcm.outcome(onConnection: requestCount) { count($0) }
    try loop.log?.add(
      now: EventLoop.wallClock, connection: connection, stream: stream.id, token: Array(answer.token.utf8), id: nil,
      status: outcome.isAnswered ? answer.status : nil, body: loop.shared.configuration.logsBodies ? request.body : nil)
    if outcome.isAnswered {
      try answerLater(stream, loop.shares.fcm.latency(random: &loop.generator) { count($0) })
    }
    if outcome == .reset { try session.reset(stream, error: .internalError) }
    if let cut = outcome.cut {
      isCut = true
      throw cut
    }
    if knobs.goAwayAfterRequests > 0, requestCount >= knobs.goAwayAfterRequests {
      try leave(keeping: knobs.goAwayUnprocessed)
    }
  }

  private func answerLater(_ stream: HTTP2Stream, _ delay: Int) throws {
    guard delay > 0 else { return try answer(stream) }
    loop.pending.add(
      LoopState.PendingAnswer(connection: connection, stream: stream), due: LoopState.milliseconds + UInt64(delay))
  }

  func answer(_ stream: HTTP2Stream) throws {
    guard isOpen(stream), let answer = exchanges[stream.slot].answer else { return }
    exchanges[stream.slot].isAnswered = true
    lastAnswered = max(lastAnswered, stream.id)
    fields.removeAll()
    fields.add(":status", String(answer.status))
    fields.add("date", date(loop.googleTime))
    if answer.body != nil { fields.add("content-type", answer.contentType) }
    for (name, value) in answer.headers { fields.add(name, value) }
    try session.respond(to: stream, fields, body: answer.body)
  }

  /// Returns the text of a time. Formats it at most once a second.
  private func date(_ seconds: Int64) -> String {
    if seconds != date.seconds { date = (seconds, HTTPDate.text(seconds)) }
    return date.text
  }

  func closed(_ stream: HTTP2Stream, error: HTTP2ErrorCode) {
    guard isOpen(stream) else { return }
    if !exchanges[stream.slot].isAnswered { loop.tally.fcm.abandonedStreams += 1 }
    exchanges[stream.slot] = Exchange()
    openCount -= 1
  }

  func abandoned() {
    loop.tally.fcm.abandonedStreams += exchanges.count { $0.stream != 0 && !$0.isAnswered }
    exchanges = []
  }

  private func isOpen(_ stream: HTTP2Stream) -> Bool {
    !isCut && stream.slot < exchanges.count && exchanges[stream.slot].stream == stream.id
  }

  // MARK: Connection

  /// Ends the whole connection because of a stream above the limit, as observed at FCM.
  func refused(streamID: Int32) throws {
    guard !isCut else { return }
    count(.streamLimit)
    try end(.protocolError, "exceeded_max_concurrent_streams")
  }

  func pinged() throws {
    pings += 1
    guard knobs.mostPings > 0, pings >= knobs.mostPings, !isCut else { return }
    count(.mostPings)
    try end(.enhanceYourCalm, "too_many_pings")
  }

  /// Ends the connection immediately. Its open streams get no answer.
  private func end(_ error: HTTP2ErrorCode, _ text: String) throws {
    lastStream = lastAnswered
    loop.tally.fcm.goAways += 1
    try session.goAway(lastStreamID: lastAnswered, error: error, debugData: Array(text.utf8))
    isCut = true
    throw ConnectionCut.finish
  }

  func leave(at end: ConnectionEnd) throws {
    if end == .age { count(.connectionSeconds) }
    try leave(keeping: 0)
  }

  /// Ends the connection after its open requests, except the last `unprocessed` ones.
  ///
  /// - Parameter unprocessed: number of most recently opened streams that count as unprocessed.
  private func leave(keeping unprocessed: Int) throws {
    guard lastStream == .max else { return }
    lastStream = max(session.lastStream(keeping: unprocessed), lastAnswered)
    loop.tally.fcm.goAways += 1
    let text = unprocessed == 0 ? "session_timed_out" : ""
    try session.goAway(lastStreamID: lastStream, error: .noError, debugData: Array(text.utf8))
  }
}
