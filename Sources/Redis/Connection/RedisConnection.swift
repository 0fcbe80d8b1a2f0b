import Dispatch
import EventLoop
import Glibc
import TLS

/// Connection to one Redis server. It sends each call immediately and returns the answers in the order of the calls.
///
/// It runs on one event loop with its socket, its buffers and its parser. The first failure or missed deadline ends it
/// permanently, because it is then unknown which answer belongs to which call. All calls in flight and all later calls
/// fail. ``RedisClient`` replaces dead connections.
///
/// The many properties are the link to the server and the parts that manage its traffic (``ReplyParser``, `InFlight`,
/// `OutgoingBytes`, ``ScriptCache``).
public actor RedisConnection {
  /// Maximum number of calls in flight. Each call is a suspended task, and a worker has a few dozen of them.
  static let maximumCalls = 65_536
  /// Maximum number of unsent bytes. A usual call of a worker has less than 1 MB, so this many bytes mean that the
  /// server has stopped reading.
  static let maximumUnsentBytes = 64 << 20

  private typealias Waiter = CheckedContinuation<Result<[RedisReply], RedisError>, Never>

  enum Phase {
    case idle
    case connecting(CheckedContinuation<RedisError?, Never>)
    case handshaking(CheckedContinuation<RedisError?, Never>)
    case open
    case dead(RedisError)
  }

  let loop: EventLoop
  let endpoint: String
  private let traffic: RedisTraffic.Counter
  let answerTimeout: Duration
  let tls: TLSPeer?
  /// Buffer for received bytes. Its 64 kB have space for the answers to about a hundred usual calls of a worker, and
  /// are the size of a socket's buffer.
  private let readBuffer = ReadBuffer(count: 64 << 10)
  var phase = Phase.idle
  var socket: Socket?
  var stream: (any ByteStream)?
  var watcher: SocketWatcher?
  var timer: LoopTimer?
  private var timerDeadline = UInt64.max
  private var parser = ReplyParser()
  private var inFlight = InFlight<Waiter>()
  private var outgoing = OutgoingBytes()
  var scripts = ScriptCache()
  private var onDeath: (@Sendable (RedisError) -> Void)?
  /// Handler for messages of channels. The first subscription sets it permanently.
  private var onMessage: (@Sendable (RedisReply) -> Void)?

  /// The server's `INFO`, read at the beginning of the connection.
  public internal(set) var server = RedisServerInfo(parsing: "")

  public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

  init(endpoint: String, answerTimeout: Duration, tls: TLSPeer?, loop: EventLoop) {
    self.loop = loop
    self.tls = tls
    self.endpoint = endpoint
    traffic = RedisTraffic.counter(of: endpoint)
    self.answerTimeout = answerTimeout
  }

  /// Sends commands and waits for all their answers.
  ///
  /// - Parameters:
  ///   - pipeline: the commands; an empty pipeline is answered immediately.
  ///   - timeout: timeout for the answers, counted from now; `nil` for the answer timeout of the connection.
  /// - Returns: one reply per command, in the order of the commands. If Redis refuses a command, the refusal is its
  ///   reply.
  /// - Throws: ``RedisError`` if the connection failed. ``RedisError/mayHaveExecuted`` is false only if no byte of the
  ///   call was sent.
  public func execute(
    _ pipeline: RedisPipeline, timeout: Duration? = nil
  ) async throws(RedisError) -> [RedisReply] {
    guard !pipeline.isEmpty else { return [] }
    let deadline = EventLoop.now + (timeout ?? answerTimeout).wholeNanoseconds
    guard !pipeline.scriptCalls.isEmpty else {
      return try await send(pipeline.bytes, replies: pipeline.count, deadline: deadline)
    }

    let missing = scripts.missing(in: pipeline)
    if !missing.isEmpty {
      do throws(RedisError) {
        try await load(missing, deadline: deadline)
      } catch {
        var failure = error
        failure.mayHaveExecuted = false
        throw failure
      }
    }
    let filled = scripts.filled(pipeline)
    var replies = try await send(filled.bytes, replies: filled.count, deadline: deadline)
    guard let again = ScriptCache.repetition(of: filled, after: replies, into: server.version) else { return replies }
    do throws(RedisError) {
      let answers = try await send(again.pipeline.bytes, replies: again.pipeline.count, deadline: deadline)
      for (new, old) in again.answers { replies[old] = answers[new] }
      return replies
    } catch {
      var failure = error
      failure.mayHaveExecuted = true
      throw failure
    }
  }

  /// Closes the connection; calls in flight fail. Idempotent.
  ///
  /// - Parameter reason: the reason for the errors of calls in flight.
  public func close(because reason: String? = nil) {
    let reason = reason ?? "the connection was closed by this program"
    die(RedisError(.closed, reason, endpoint: endpoint, hint: Hint.none))
  }

  /// Subscribes to a channel. From then on, this connection can be used only to subscribe to further channels and for
  /// ``ping()``.
  ///
  /// - Parameter handler: called on the loop with each message of any channel, in Redis' form: `message`, channel,
  ///   text.
  /// - Throws: ``RedisError`` if the connection failed, or Redis refused.
  func subscribe(to channel: String, handler: @escaping @Sendable (RedisReply) -> Void) async throws(RedisError) {
    onMessage = handler
    var pipeline = RedisPipeline()
    pipeline.append("SUBSCRIBE", channel)
    guard let error = try await execute(pipeline)[0].error else { return }
    let refusal = Handshake.refusal(error, step: "SUBSCRIBE", endpoint: endpoint)
    die(refusal)
    throw refusal
  }

  /// Checks whether the server answers.
  func ping() async throws(RedisError) {
    var pipeline = RedisPipeline()
    pipeline.append("PING")
    _ = try await execute(pipeline)
  }

  /// Calls `handler` on the loop when the connection dies, or immediately if it is already dead.
  func whenDead(_ handler: @escaping @Sendable (RedisError) -> Void) {
    if case .dead(let error) = phase { return handler(error) }
    onDeath = handler
  }
}

// MARK: - Sending and receiving

extension RedisConnection {
  func send(_ bytes: [UInt8], replies: Int, deadline: UInt64) async throws(RedisError) -> [RedisReply] {
    switch phase {
    case .open: break
    case .idle, .connecting, .handshaking: throw lost("not connected yet")
    case .dead(let error): throw lost("the connection is dead: \(error.message)")
    }
    guard inFlight.count < Self.maximumCalls, outgoing.waiting + bytes.count <= Self.maximumUnsentBytes else {
      throw RedisError(
        .overloaded, "\(inFlight.count) calls and \(outgoing.waiting) unsent bytes are waiting already",
        endpoint: endpoint, hint: "Send fewer commands at a time, or find the cause of the slow answers (SLOWLOG GET).")
    }
    // Check for cancellation here. A cancellation handler would pass the call's task through the global pool twice
    // (SE-0461).
    guard !Task.isCancelled else {
      throw RedisError(.cancelled, "the call was cancelled", endpoint: endpoint, hint: Hint.none)
    }
    traffic.count(commands: replies)
    let result: Result<[RedisReply], RedisError> = await withCheckedContinuation { continuation in
      inFlight.append(
        .init(missing: replies, deadline: deadline, offset: outgoing.accepted, waiter: continuation))
      outgoing.append(bytes)
      if deadline < timerDeadline { arm(deadline) }
      // If the connection already waits for writability, the socket is full, and the bytes are sent later.
      if watcher?.wantsWrite == false { flush() }
    }
    return try result.get()
  }

  private func flush() {
    guard let stream, let watcher else { return }
    do {
      var wantsWrite = false
      var isClosed = false
      try outgoing.drain { bytes in
        switch try stream.write(bytes) {
        case .bytes(let count): return count
        case .wantsWrite: wantsWrite = true
        case .wantsRead: break
        case .closed: isClosed = true
        }
        return 0
      }
      if isClosed { return peerClosed() }
      watcher.wantsWrite = wantsWrite
    } catch {
      // Read the server's last message, which may explain the failure. Because `wantsWrite` is set, `readable()` does
      // not try to write again.
      watcher.wantsWrite = true
      readable()
      peerClosed("\(error)")
    }
  }

  func writable() {
    switch phase {
    case .connecting(let continuation): connected(continuation)
    case .handshaking(let continuation): advanceHandshake(continuation)
    case .open: flush()
    case .idle, .dead: break
    }
  }

  func readable() {
    if case .handshaking(let continuation) = phase { advanceHandshake(continuation) }
    // The loop ends, because the server sends nothing except the answers to the commands in flight.
    while case .open = phase, let stream {
      do {
        switch try stream.read(into: readBuffer.bytes) {
        case .bytes(let count):
          try parser.feed(UnsafeRawBufferPointer(rebasing: readBuffer.bytes[..<count]))
          try deliver()
        case .wantsRead:
          // TLS may have been waiting for received bytes before it could write.
          if outgoing.waiting > 0, watcher?.wantsWrite == false { flush() }
          return
        case .wantsWrite:
          watcher?.wantsWrite = true
          return
        case .closed: return peerClosed()
        }
      } catch let violation as ReplyParser.Violation {
        die(
          RedisError(
            .protocolViolation, "the answer can't be understood: \(violation.reason)", endpoint: endpoint,
            hint: "Check that a Redis server listens at this address."))
      } catch let error as TLSError where error.alert != nil {
        // In TLS 1.3, the client learns only after the handshake whether the server accepts its certificate (RFC 8446
        // section 4.4.2.4).
        die(RedisError(tls: error, with: tls?.serverName ?? "", endpoint: endpoint))
      } catch {
        peerClosed("\(error)")
      }
    }
  }

  private func deliver() throws {
    while let root = try parser.next() {
      if let onMessage, parser.isMessage(root) {
        // The arena contains only this message: on a connection with subscriptions, no call is waiting for further
        // answers.
        onMessage(RedisReply(arena: parser.take(), index: root))
        continue
      }
      switch inFlight.received(root: root) {
      case .incomplete: continue
      case .complete(let waiter, let roots):
        let arena = parser.take()
        let replies = roots.map { RedisReply(arena: arena, index: $0) }
        EventLoop.resuming { waiter.resume(returning: .success(replies)) }
      case .unexpected:
        let reply = RedisReply(arena: parser.take(), index: root)
        if let error = reply.error { return die(lost("Redis refused the connection: \(error)")) }
        throw ReplyParser.Violation(reason: "\(reply), which no command requested")
      }
    }
  }
}

// MARK: - End of the connection

extension RedisConnection {
  func die(_ error: RedisError) {
    let last = phase
    if case .dead = last { return }
    phase = .dead(error)
    watcher?.close()
    watcher = nil
    stream = nil
    socket = nil
    timer?.disarm()
    switch last {
    case .connecting(let continuation), .handshaking(let continuation): continuation.resume(returning: error)
    case .idle, .open, .dead: break
    }
    for call in inFlight.removeAll() {
      var failure = error
      failure.mayHaveExecuted = outgoing.written > call.offset
      call.waiter.resume(returning: .failure(failure))
    }
    onDeath?(error)
    onDeath = nil
  }

  /// Handles the case that the server has closed the connection. A server that rejects a client first sends an error
  /// that answers no command.
  func peerClosed(_ what: String = "Redis closed the connection") {
    switch phase {
    case .open: break
    case .handshaking:
      return die(
        RedisError(.closed, "\(what) in the TLS handshake", endpoint: endpoint, hint: Hint.speaksTLS))
    case .idle, .connecting, .dead: return die(lost(what))
    }
    let reply = inFlight.lastRoot.flatMap { RedisReply(arena: parser.take(), index: $0).error }
    die(lost(reply.map { "\(what), after it replied \"\($0)\"" } ?? what))
  }

  func lost(_ message: String) -> RedisError {
    RedisError(
      .closed, message, endpoint: endpoint,
      hint: "Check that Redis is running. Its log may say why it closed the connection.")
  }

  /// Checks the deadlines. One timer serves all calls. It fires at the earliest deadline or before; this function then
  /// sets it for the next deadline. A call that ends in time therefore costs no timer operation.
  func timerFired() {
    timerDeadline = .max
    switch phase {
    case .connecting:
      return die(RedisError(.connectTimeout, "no connection in time", endpoint: endpoint, hint: Hint.address))
    case .handshaking:
      return die(
        RedisError(.connectTimeout, "no TLS handshake in time", endpoint: endpoint, hint: Hint.speaksTLS))
    case .idle, .open, .dead: break
    }
    guard let earliest = inFlight.earliestDeadline else { return }
    if earliest > EventLoop.now { return arm(earliest) }
    die(
      RedisError(
        .answerTimeout, "no answer in time", endpoint: endpoint,
        hint: "Look for slow commands (SLOWLOG GET), swapping or a full disk; blocking commands need a longer timeout.")
    )
  }

  func arm(_ deadline: UInt64) {
    timerDeadline = deadline
    let now = EventLoop.now
    timer?.schedule(after: .nanoseconds(deadline > now ? Int(clamping: deadline - now) : 0))
  }
}
