private import EventLoop
internal import HTTP2
internal import TLS

/// The APNs side of one connection: checks each request and answers it immediately or later.
final class PushRole: ServiceRole {
  /// State of an open stream, at the index of the stream's slot.
  private struct Request {
    var stream: Int32 = 0
    var id: MessageID?
    /// Device token in lower-case hex; empty if it is invalid or not needed.
    var token: [UInt8] = []
    var verdict = RequestValidator.Verdict()
    /// Further values of the push; `nil` if neither an offline device nor a knob needs them.
    var details: PushDetails?
    var bodyCount = 0
    /// Body, if bodies are logged.
    var body: [UInt8]?
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

  private let connection: Int
  private let session: HTTP2Session
  private let loop: LoopState
  private var validator: RequestValidator
  private var requests: [Request] = []
  private let channels: ChannelExchanges
  private var answer = HeaderFields()
  /// Number of requests received in full.
  private(set) var requestCount = 0
  /// Earliest time of the next answer in milliseconds, if answers are limited.
  private var nextAnswer = 0.0
  /// The highest stream that this role processes. Until it has submitted a GOAWAY, it processes all streams.
  private var lastStream = Int32.max
  private var lastAnswered: Int32 = 0
  /// Whether a fault has ended the connection. Bytes that remain in its buffer count as never received.
  private var isCut = false
  private var limit: StreamLimit
  private var errors = ErrorBudget()
  let lifetime: ConnectionLifetime

  /// Creates a session and its role after the handshake and submits the SETTINGS that open the connection.
  static func open(
    connection: Int, certificate: PeerCertificate?, address: String, loop: LoopState
  ) throws -> OpenedConnection {
    let configuration = loop.shared.configuration
    let certificate = certificate.flatMap { PushCertificate($0) }
    let limit = StreamLimit(
      initial: certificate == nil ? configuration.initialStreams : configuration.fullStreams,
      reduced: configuration.initialStreams, full: configuration.fullStreams)
    let knobs = loop.knobs
    var options = HTTP2Options()
    options.answersPings = knobs.answersPings
    options.grantsWindow = knobs.grantsWindow
    options.sendsTrailers = knobs.sendsTrailers
    if knobs.bodyPieceBytes > 0 { options.largestData = knobs.bodyPieceBytes }
    let session = try HTTP2Session(
      role: .server, settings: limit.settings(by: knobs),
      connectionWindow: knobs.grantsWindow ? configuration.connectionWindow : 0, options: options)
    let authentication = ConnectionAuthentication(loop.shared, certificate: certificate, address: address)
    return (
      session,
      PushRole(connection: connection, session: session, loop: loop, authentication: authentication, limit: limit)
    )
  }

  private init(
    connection: Int, session: HTTP2Session, loop: LoopState, authentication: ConnectionAuthentication,
    limit: StreamLimit
  ) {
    self.connection = connection
    self.session = session
    self.loop = loop
    self.limit = limit
    lifetime = ConnectionLifetime(ageSeconds: loop.knobs.connectionSeconds, idleSeconds: loop.knobs.idleSeconds)
    channels = ChannelExchanges(session: session, loop: loop)
    validator = RequestValidator(loop.shared, authentication: authentication)
  }

  // MARK: Requests

  func opened() throws {
    loop.tally.connections += 1
    if silence > 0 { loop.count(.settingsDelayMilliseconds) }
    guard let certificate = validator.authentication.certificate,
      !certificate.environments.contains(loop.shared.configuration.environment)
    else { return }
    loop.count(.wrongCertificate)
    // APNs sends this GOAWAY immediately after SETTINGS, with NO_ERROR and no processed stream (observed).
    if loop.knobs.refusesCertificateByGoAway { try leave(because: Reason.badCertificateEnvironment.name) }
  }

  func received(_ fields: borrowing HeaderFields, on stream: HTTP2Stream) throws {
    while requests.count <= stream.slot { requests.append(Request()) }
    // Trailers are ignored: only the first header block is checked.
    guard requests[stream.slot].stream != stream.id else { return }
    // nghttp2 accepts streams until GOAWAY is written. The client considers streams above the last one of the GOAWAY
    // unprocessed, so the simulator must not process them.
    guard !isCut else { return }
    guard stream.id <= lastStream else { return loop.count(.goAwayAfterRequests) }
    if fields.listSize > Int(StreamLimit.headerListSize) {
      loop.tally.refusedStreams += 1
      return try session.reset(stream, error: .refusedStream)
    }
    if loop.refusesRequest() { return try session.reset(stream, error: .refusedStream) }
    let headers = PushHeaders(fields)
    if headers.token == nil, let request = ChannelRequest(fields) { return channels.begin(request, on: stream) }
    let id = headers.id.flatMap { MessageID($0) }
    let verdict = validator.validate(headers, id: id, by: loop.rules, now: loop.now)
    let token = loop.wantsTokens ? headers.token.flatMap { Hex.lowered($0) } ?? [] : []
    let details = loop.rules.needsDetails || verdict.isAway ? PushDetails(headers, topicID: verdict.topic) : nil
    requests[stream.slot] = Request(stream: stream.id, id: id, token: token, verdict: verdict, details: details)
    if loop.shared.configuration.logsBodies { requests[stream.slot].body = [] }
  }

  func received(_ bytes: UnsafeRawBufferPointer, on stream: HTTP2Stream) {
    guard isOpen(stream) else { return channels.receive(bytes, on: stream) }
    requests[stream.slot].bodyCount += bytes.count
    requests[stream.slot].body?.append(contentsOf: bytes)
  }

  func ended(_ stream: HTTP2Stream) throws {
    guard isOpen(stream) else {
      if try channels.finish(stream, &validator.authentication) == true { limit.accepted() }
      return
    }
    guard stream.id <= lastStream else { return loop.count(.goAwayAfterRequests) }
    requests[stream.slot].isReceived = true
    decide(stream.slot)
    requestCount += 1
    let outcome = loop.nextOutcome(onConnection: requestCount)
    try loop.log?.add(
      now: EventLoop.wallClock, connection: connection, stream: stream.id, token: requests[stream.slot].token,
      id: requests[stream.slot].id, status: outcome.isAnswered ? requests[stream.slot].outcome.status : nil,
      body: requests[stream.slot].body)
    if outcome.isAnswered { try answerInTime(stream) }
    if outcome == .reset { try session.reset(stream, error: .internalError) }
    if let cut = outcome.cut {
      isCut = true
      throw cut
    }
    if loop.knobs.goAwayAfterRequests > 0, requestCount >= loop.knobs.goAwayAfterRequests { try leave() }
  }

  private func answerInTime(_ stream: HTTP2Stream) throws {
    let latency = loop.nextLatency()
    guard latency > 0 || loop.knobs.answersPerSecond > 0 else { return try answer(stream) }
    var due = LoopState.milliseconds + UInt64(latency)
    if loop.knobs.answersPerSecond > 0 {
      nextAnswer = max(nextAnswer, Double(due)) + 1000 / Double(loop.knobs.answersPerSecond)
      due = UInt64(nextAnswer)
    }
    loop.pending.add(LoopState.PendingAnswer(connection: connection, stream: stream), due: due)
  }

  func closed(_ stream: HTTP2Stream, error: HTTP2ErrorCode) {
    guard isOpen(stream) else { return channels.close(stream) }
    if !requests[stream.slot].isAnswered { loop.tally.abandonedStreams += 1 }
    requests[stream.slot].stream = 0
  }

  func refused(streamID: Int32) throws {
    loop.tally.refusedStreams += 1
    // Observed at APNs: one reset for the stream's HEADERS and one for its DATA.
    if limit.hasExpired { try session.reset(streamID: streamID, error: .streamClosed) }
  }

  var silence: Int { loop.knobs.settingsDelayMilliseconds }

  var lingers: Bool { loop.knobs.lingersAfterGoAway }

  func pinged() {
    if !loop.knobs.answersPings { loop.count(.answersPings) }
  }

  func abandoned() {
    loop.tally.abandonedStreams += requests.count { $0.stream != 0 && !$0.isAnswered }
    requests = []
  }

  /// Sends the answer that was already decided. Does nothing if the stream is closed.
  func answer(_ stream: HTTP2Stream) throws {
    guard isOpen(stream) else { return }
    requests[stream.slot].isAnswered = true
    lastAnswered = max(lastAnswered, stream.id)
    let request = requests[stream.slot]
    if loop.knobs.interimStatus > 0 { try sendInterim(stream) }
    answer.removeAll()
    var body: [UInt8]?
    switch request.outcome {
    case .accepted:
      answer.add(":status", "200")
      limit.accepted()
      errors.accepted()
    case .rejected(let reason):
      answer.add(":status", Self.bytes(reason.status))
      body = loop.rules.body(reason, timestamp: request.verdict.timestamp)
      try rejected(reason)
    case .injected(let failure):
      answer.add(":status", String(failure.status))
      body = loop.rules.body(failure.reason)
      if failure.status < 500 { rejected(weight: 1) }
    }
    if loop.knobs.sendsID {
      let id = request.id ?? MessageID(random: &loop.generator)
      (loop.knobs.raisesID ? id.raised : id).withText { answer.add("apns-id", $0, indexing: .never) }
    }
    if loop.knobs.retryAfterSeconds > 0, request.outcome.status >= 429 {
      answer.add("retry-after", String(loop.knobs.retryAfterSeconds))
    }
    if loop.knobs.sendsUniqueID {
      MessageID(random: &loop.generator).withText { answer.add("apns-unique-id", $0, indexing: .never) }
    }
    if body != nil { answer.add("content-type", "application/json") }
    try session.respond(to: stream, answer, body: body)
    if errors.isSpent(loop.knobs.errorBudget), lastStream == .max {
      loop.count(.errorBudget)
      try leave(because: Reason.tooManyRequests.name, error: .enhanceYourCalm)
    }
  }

  private func sendInterim(_ stream: HTTP2Stream) throws {
    answer.removeAll()
    answer.add(":status", String(loop.knobs.interimStatus))
    try session.submitInterim(stream, answer)
  }

  private func rejected(_ reason: Reason) throws {
    if reason == .expiredProviderToken { try expire() }
    if !reason.hasTimestamp { rejected(weight: reason == .badDeviceToken ? loop.knobs.badTokenPoints : 1) }
  }

  private func rejected(weight: Int) {
    if loop.knobs.limitDropsOnRejection { limit.rejected() }
    errors.rejected(weight)
  }

  /// Handles an expired token: sets the stream limit back to one and refuses the streams whose body is still arriving.
  /// Each such stream gets two resets, as observed at APNs: one for its HEADERS and one for its DATA.
  private func expire() throws {
    guard limit.expired() else { return }
    for request in requests where request.stream != 0 && !request.isReceived {
      loop.tally.refusedStreams += 1
      try session.reset(streamID: request.stream, error: .refusedStream)
      try session.reset(streamID: request.stream, error: .streamClosed)
    }
  }

  private func isOpen(_ stream: HTTP2Stream) -> Bool {
    !isCut && stream.slot < requests.count && requests[stream.slot].stream == stream.id
  }

  /// Decides and counts the outcome of a request. If a fault later prevents the answer, the count of accepted requests
  /// does not change.
  private func decide(_ slot: Int) {
    let request = requests[slot]
    loop.tally.received += 1
    loop.tally.bodyBytes += request.bodyCount
    let outcome: Outcome
    if let reason = request.verdict.reason(bodyCount: request.bodyCount) ?? loop.excess(for: request.token) {
      loop.tally.byReason[Int(reason.rawValue)] += 1
      outcome = .rejected(reason)
    } else if let failure = loop.nextFailure(for: request.token, request.details) {
      loop.tally.injected[failure.reason, default: 0] += 1
      if failure.delivers { deliver(request) }
      outcome = .injected(failure)
    } else {
      loop.tally.accepted += 1
      deliver(request)
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

  private func deliver(_ request: Request) {
    guard let details = request.details else {
      loop.tally.delivered += 1
      return
    }
    if request.verdict.isAway {
      loop.shared.mailboxes.store(details, now: loop.now)
    } else {
      loop.tally.delivered += 1
      if loop.knobs.tracksCollapse { loop.shared.mailboxes.show(details) }
    }
  }

  // MARK: Connection

  func leave(at end: ConnectionEnd) throws {
    switch end {
    case .age:
      loop.count(.connectionSeconds)
      try leave()
    case .idleness:
      loop.count(.idleSeconds)
      try leave(because: Reason.idleTimeout.name)
    case .order: try leave()
    }
  }

  /// Ends the connection with a GOAWAY, as APNs does for maintenance: answers the received requests and accepts no
  /// more.
  ///
  /// - Parameter error: error code; `nil` for the code that a knob sets.
  func leave(because reason: String = "Shutdown", error: HTTP2ErrorCode? = nil) throws {
    guard lastStream == .max else { return }
    lastStream = max(session.lastStream(keeping: loop.knobs.goAwayUnprocessed), lastAnswered)
    let unprocessed = requests.count { $0.stream > lastStream && $0.isReceived }
    if unprocessed > 0 { loop.count(.goAwayUnprocessed, unprocessed) }
    loop.tally.goAways += 1
    if lingers { loop.count(.lingersAfterGoAway) }
    let error = error ?? HTTP2ErrorCode(rawValue: loop.knobs.goAwayError)
    for _ in 0..<(loop.knobs.repeatsGoAway ? 2 : 1) {
      try session.goAway(lastStreamID: lastStream, error: error, debugData: loop.rules.goAwayData(reason))
    }
  }

  func willWrite() throws {
    guard let settings = limit.announcement(imposed: loop.knobs.streamLimit) else { return }
    if loop.knobs.streamLimit > 0 { loop.count(.streamLimit) }
    try session.submit(settings)
  }

  private static func bytes(_ text: StaticString) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
  }
}
