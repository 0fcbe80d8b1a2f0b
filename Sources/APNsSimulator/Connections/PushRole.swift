private import EventLoop
internal import HTTP2

/// APNs' side of one connection: judges each request and answers it, now or later.
final class PushRole: ConnectionRole {
  /// What is known of an open stream; at the index of its slot.
  private struct Request {
    var stream: Int32 = 0
    var id: MessageID?
    /// In lower-case hex, for the log; empty without one, and for what is no token.
    var token: [UInt8] = []
    var verdict = RequestJudge.Verdict()
    var bodyCount = 0
    var outcome = Outcome.accepted
    var isReceived = false
    var isAnswered = false
  }

  private enum Outcome {
    case accepted
    case rejected(Reason)
    case injected(SimulatorKnobs.Failure)

    var status: Int {
      switch self {
      case .accepted: 200
      case .rejected(let reason): Int(PushRole.bytes(reason.status).decimal ?? 0)
      case .injected(let failure): failure.status
      }
    }
  }

  /// SETTINGS_MAX_HEADER_LIST_SIZE as observed (reference 1.3).
  static let headerListSize: UInt32 = 8000

  private let connection: Int
  private let session: HTTP2Session
  private let loop: LoopState
  private var judge: RequestJudge
  private var requests: [Request] = []
  private var answer = HeaderFields()
  private var requestCount = 0
  /// The last stream that counts, once GOAWAY was submitted.
  private var lastStream = Int32.max
  private var lastAnswered: Int32 = 0
  /// The connection ends here: what is still in its buffer was never received.
  private var isCut = false
  /// The limit to be in force unless a knob sets another, and the one announced last; they differ until the next write.
  private var limit: UInt32
  private var announcedLimit: UInt32

  init(connection: Int, session: HTTP2Session, loop: LoopState) {
    self.connection = connection
    self.session = session
    self.loop = loop
    judge = RequestJudge(verifier: loop.shared.verifier, registry: loop.shared.registry)
    limit = loop.shared.configuration.initialStreams
    announcedLimit = limit
  }

  /// The SETTINGS that open a connection (reference 1.3).
  static func settings(_ configuration: SimulatorConfiguration) -> HTTP2Settings {
    var settings = HTTP2Settings()
    settings.headerTableSize = 4096
    settings.maxConcurrentStreams = configuration.initialStreams
    settings.initialWindowSize = 65_535
    settings.maxFrameSize = 16_384
    settings.maxHeaderListSize = headerListSize
    return settings
  }

  // MARK: Requests

  func opened() { loop.tally.connections += 1 }

  func received(_ fields: borrowing HeaderFields, on stream: HTTP2Stream) throws {
    while requests.count <= stream.slot { requests.append(Request()) }
    // Trailers change nothing: the judgement stands on the first header block.
    guard requests[stream.slot].stream != stream.id else { return }
    // nghttp2 takes streams until GOAWAY is written; to the client these count as not processed, so they must not be.
    guard !isCut else { return }
    guard stream.id <= lastStream else { return loop.note(.goAwayAfterRequests) }
    if fields.listSize > Int(Self.headerListSize) {
      loop.tally.refusedStreams += 1
      return try session.reset(stream, error: .refusedStream)
    }
    if loop.shares.refused.isDue(loop.knobs.refusedShare) {
      loop.note(.refusedShare)
      return try session.reset(stream, error: .refusedStream)
    }
    let headers = PushHeaders(fields)
    let id = headers.id.flatMap { MessageID($0) }
    let verdict = judge.judge(headers, id: id, knobs: loop.knobs, now: loop.now)
    let token = loop.wantsTokens ? headers.token.flatMap { Hex.lowered($0) } ?? [] : []
    requests[stream.slot] = Request(stream: stream.id, id: id, token: token, verdict: verdict)
  }

  func received(_ bytes: UnsafeRawBufferPointer, on stream: HTTP2Stream) {
    guard isOpen(stream) else { return }
    requests[stream.slot].bodyCount += bytes.count
  }

  func ended(_ stream: HTTP2Stream) throws {
    guard isOpen(stream) else { return }
    guard stream.id <= lastStream else { return loop.note(.goAwayAfterRequests) }
    requests[stream.slot].isReceived = true
    settle(stream.slot)
    requestCount += 1
    let fate = loop.nextFate(onConnection: requestCount)
    let isAnswered = fate == .answered || fate == .answeredLast
    try loop.log?.add(
      now: EventLoop.wallClock, connection: connection, stream: stream.id, token: requests[stream.slot].token,
      id: requests[stream.slot].id, status: isAnswered ? requests[stream.slot].outcome.status : nil)
    if isAnswered { try answerInTime(stream) }
    switch fate {
    case .answered, .withheld: break
    case .reset: try session.reset(stream, error: .internalError)
    case .answeredLast, .cut:
      isCut = true
      throw fate == .cut ? ConnectionCut.reset : .finish
    }
    if loop.knobs.goAwayAfterRequests > 0, requestCount >= loop.knobs.goAwayAfterRequests { try leave() }
  }

  private func answerInTime(_ stream: HTTP2Stream) throws {
    let latency = loop.knobs.latencyMilliseconds
    if latency > 0 {
      let pending = LoopState.PendingAnswer(connection: connection, stream: stream)
      loop.pending.add(pending, due: LoopState.milliseconds + UInt64(latency))
    } else {
      try answer(stream)
    }
  }

  func closed(_ stream: HTTP2Stream, error: HTTP2ErrorCode) {
    guard isOpen(stream) else { return }
    if !requests[stream.slot].isAnswered { loop.tally.abandonedStreams += 1 }
    requests[stream.slot].stream = 0
  }

  func refused(streamID: Int32) { loop.tally.refusedStreams += 1 }

  func abandoned() {
    loop.tally.abandonedStreams += requests.count { $0.stream != 0 && !$0.isAnswered }
    requests = []
  }

  /// Sends the answer that was settled; does nothing when the stream is gone.
  func answer(_ stream: HTTP2Stream) throws {
    guard isOpen(stream) else { return }
    requests[stream.slot].isAnswered = true
    lastAnswered = max(lastAnswered, stream.id)
    let request = requests[stream.slot]
    answer.removeAll()
    var body: [UInt8]?
    switch request.outcome {
    case .accepted:
      answer.add(":status", "200")
      setLimit(full: true)
    case .rejected(let reason):
      answer.add(":status", Self.bytes(reason.status))
      body = reason.hasTimestamp ? Self.body(reason.name, timestamp: request.verdict.timestamp) : reason.body
      if reason == .expiredProviderToken || loop.knobs.limitDropsOnRejection && !reason.hasTimestamp {
        setLimit(full: false)
      }
    case .injected(let failure):
      answer.add(":status", String(failure.status))
      body = Self.body(failure.reason, timestamp: nil)
      if loop.knobs.limitDropsOnRejection, failure.status < 500 { setLimit(full: false) }
    }
    let id = request.id ?? MessageID(random: &loop.generator)
    id.withText { answer.add("apns-id", $0, indexing: .never) }
    if loop.knobs.sendsUniqueID {
      MessageID(random: &loop.generator).withText { answer.add("apns-unique-id", $0, indexing: .never) }
    }
    if body != nil { answer.add("content-type", "application/json") }
    try session.respond(to: stream, answer, body: body)
  }

  private func isOpen(_ stream: HTTP2Stream) -> Bool {
    !isCut && stream.slot < requests.count && requests[stream.slot].stream == stream.id
  }

  /// Decides and counts: what happens to the answer on its way changes nothing about what was accepted.
  private func settle(_ slot: Int) {
    let request = requests[slot]
    loop.tally.received += 1
    loop.tally.bodyBytes += request.bodyCount
    let outcome: Outcome
    if let reason = request.verdict.settled(bodyCount: request.bodyCount) {
      loop.tally.byReason[Int(reason.rawValue)] += 1
      outcome = .rejected(reason)
    } else if let failure = loop.nextFailure(for: request.token) {
      loop.tally.injected[failure.reason, default: 0] += 1
      outcome = .injected(failure)
    } else {
      loop.tally.accepted += 1
      outcome = .accepted
    }
    requests[slot].outcome = outcome
    guard loop.knobs.tracksDuplicates, let id = request.id else { return }
    if case .accepted = outcome {
      loop.shared.deliveries.record(id.key, accepted: true)
    } else {
      loop.shared.deliveries.record(id.key, accepted: false)
    }
  }

  // MARK: Connection

  /// Ends the connection as APNs does for maintenance: what was received is answered, nothing more is taken.
  func leave() throws {
    guard lastStream == .max else { return }
    // Identifiers of a client's streams are odd, so the last n of them span 2n (RFC 9113 section 5.1.1).
    let span = Int32(clamping: 2 * loop.knobs.goAwayDisowns)
    lastStream = max(session.lastProcessedStreamID - span, lastAnswered)
    let disowned = requests.count { $0.stream > lastStream && $0.isReceived }
    if disowned > 0 { loop.note(.goAwayDisowns, disowned) }
    loop.tally.goAways += 1
    try session.goAway(lastStreamID: lastStream, debugData: Self.body("Shutdown", timestamp: nil))
  }

  func willWrite() throws {
    let wanted = loop.knobs.streamLimit > 0 ? loop.knobs.streamLimit : limit
    guard wanted != announcedLimit else { return }
    announcedLimit = wanted
    if loop.knobs.streamLimit > 0 { loop.note(.streamLimit) }
    var settings = HTTP2Settings()
    settings.maxConcurrentStreams = wanted
    try session.submit(settings)
  }

  /// Token connections begin with one stream and get the rest with the first accepted push (reference 1.4).
  ///
  /// Only noted here: nghttp2 goes by settings as soon as they are submitted, and streams that came in one read with the
  /// first push were opened before their client could know.
  private func setLimit(full: Bool) {
    let configuration = loop.shared.configuration
    guard configuration.initialStreams < configuration.fullStreams else { return }
    limit = full ? configuration.fullStreams : configuration.initialStreams
  }

  private static func bytes(_ text: StaticString) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
  }

  private static func body(_ reason: String, timestamp: Int64?) -> [UInt8] {
    let tail = timestamp.map { ",\"timestamp\":\($0)" } ?? ""
    return Array("{\"reason\":\"\(reason)\"\(tail)}".utf8)
  }
}
