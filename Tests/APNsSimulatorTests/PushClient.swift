import EventLoop
import HTTP2
import TLS

/// A TLS client on its own event loop. It uses the same modules as the simulator's side.
actor PushClient {
  struct Response: Equatable, Sendable {
    var status = 0
    var headers: [String: String] = [:]
    var body = ""
    /// Error code of the end of the stream.
    var error = HTTP2ErrorCode.noError
  }

  struct Request: Sendable {
    var fields: [(String, String)]
    var body: [UInt8]?
  }

  struct GoAway: Equatable, Sendable {
    var lastStreamID: Int32
    var error = HTTP2ErrorCode.noError
    var debugData: String
  }

  /// The connection ended before the expected event.
  struct Lost: Error {}

  nonisolated let loop = EventLoop(label: "push-client")
  nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

  private let port: UInt16
  private let authorityPEM: String
  private let identity: TLSIdentity?
  private var socket: Socket?
  private var tls: TLSStream?
  private var session: HTTP2Session?
  private var watcher: SocketWatcher?
  private var isReady = false
  private var isClosed = false
  private var unwritten: [UInt8] = []
  private let events = Events()
  private var waiting: [(isDone: (Events) -> Bool, continuation: CheckedContinuation<Void, any Error>)] = []

  /// Events recorded by the session's callbacks.
  fileprivate final class Events: HTTP2SessionHandler {
    var responses: [HTTP2Stream: Response] = [:]
    var closed: [HTTP2Stream: Response] = [:]
    var limits: [Int] = []
    /// Statuses of the interim answers, in their order.
    var interim: [Int] = []
    var pieces = 0
    var order: [Int32] = []
    var goAway: GoAway?
    weak var session: HTTP2Session?

    func received(_ fields: borrowing HeaderFields, on stream: HTTP2Stream) {
      if let status = Int(fields[":status"] ?? ""), (100..<200).contains(status) { return interim.append(status) }
      var response = responses[stream] ?? Response()
      for index in 0..<fields.count {
        let value = String(decoding: fields.value(index), as: UTF8.self)
        response.headers[String(decoding: fields.name(index), as: UTF8.self)] = value
      }
      response.status = response.headers[":status"].flatMap { Int($0) } ?? 0
      responses[stream] = response
    }

    func received(_ bytes: UnsafeRawBufferPointer, on stream: HTTP2Stream) {
      responses[stream]?.body += String(decoding: bytes, as: UTF8.self)
      pieces += 1
    }

    func ended(_ stream: HTTP2Stream) {}

    func closed(_ stream: HTTP2Stream, error: HTTP2ErrorCode) {
      var response = responses.removeValue(forKey: stream) ?? Response()
      response.error = error
      closed[stream] = response
      order.append(stream.id)
    }

    func receivedSettings() { limits.append(session?.peerMaxConcurrentStreams ?? 0) }

    func receivedGoAway(lastStreamID: Int32, error: HTTP2ErrorCode, debugData: UnsafeRawBufferPointer) {
      goAway = GoAway(
        lastStreamID: lastStreamID, error: error, debugData: String(decoding: debugData, as: UTF8.self))
    }
  }

  init(port: UInt16, authorityPEM: String, identity: TLSIdentity? = nil) {
    self.port = port
    self.identity = identity
    self.authorityPEM = authorityPEM
  }

  /// Connects and waits for the server's SETTINGS, so that the first request already obeys the server's limit.
  func connect() async throws {
    try begin()
    try await wait { !$0.limits.isEmpty }
  }

  /// Sends `requests` in one flight and returns the answers in their order.
  ///
  /// Without an earlier ``connect()`` this call opens the connection. It sends all requests before it can read the
  /// server's first SETTINGS.
  func send(_ requests: [Request]) async throws -> [Response] {
    if session == nil { try begin(submitting: requests) } else { try submit(requests) }
    let streams = Array(submitted.suffix(requests.count))
    try flush()
    try await wait { events in streams.allSatisfy { events.closed[$0] != nil } }
    return streams.map { events.closed[$0] ?? Response() }
  }

  /// Submits without waiting for answers.
  func start(_ requests: [Request]) throws {
    try submit(requests)
    try flush()
  }

  /// Resets the last `count` streams that ``start(_:)`` opened.
  func resetLast(_ count: Int) throws {
    for stream in submitted.suffix(count) { try session?.reset(stream, error: .cancel) }
    try flush()
  }

  /// Waits until the last announced MAX_CONCURRENT_STREAMS is `limit`. Returns all announced values.
  func limits(until limit: Int) async throws -> [Int] {
    try await wait { $0.limits.last == limit }
    return events.limits
  }

  func goAway() async throws -> GoAway? {
    try await wait { $0.goAway != nil }
    return events.goAway
  }

  /// Streams in the order of their end.
  var order: [Int32] { events.order }

  /// Statuses of the interim answers that have arrived.
  var interim: [Int] { events.interim }

  /// Number of received pieces of bodies.
  var pieces: Int { events.pieces }

  /// Sends a PING to the server.
  func ping() throws {
    try session?.ping()
    try flush()
  }

  /// The last GOAWAY that has arrived.
  var seenGoAway: GoAway? { events.goAway }

  /// Waits until the server has closed the connection.
  func end() async {
    try? await wait { _ in false }
  }

  /// TLS error that ended the connection; `nil` if there was none.
  private(set) var failure: TLSError?

  func close() {
    guard !isClosed else { return }
    isClosed = true
    watcher?.close()
    let waiting = waiting
    self.waiting = []
    for waiter in waiting { waiter.continuation.resume(throwing: Lost()) }
  }

  // MARK: Inside

  private var submitted: [HTTP2Stream] = []

  private func begin(submitting requests: [Request] = []) throws {
    let address = try SocketAddress.resolve(host: "127.0.0.1", port: port)[0]
    let socket = try Socket.connect(to: address)
    let context = try TLSContext.client(trust: .pem(authorityPEM), protocols: ["h2"], identity: identity)
    self.socket = socket
    tls = try TLSStream(socket, context: context, serverName: "localhost")
    session = try HTTP2Session(role: .client, settings: HTTP2Settings())
    events.session = session
    try submit(requests)
    let watcher = SocketWatcher(
      socket, on: loop, onReadable: { [weak self] in self?.assumeIsolated { $0.pump() } },
      onWritable: { [weak self] in self?.assumeIsolated { $0.pump() } })
    watcher.wantsWrite = true
    self.watcher = watcher
  }

  private func submit(_ requests: [Request]) throws {
    guard let session else { throw Lost() }
    for request in requests {
      var fields = HeaderFields()
      for (name, value) in request.fields { fields.add(name, value) }
      submitted.append(try session.request(fields, body: request.body))
    }
  }

  private func pump() {
    do {
      let isOpen = try move()
      check()
      if !isOpen { close() }
    } catch {
      failure = error as? TLSError
      close()
    }
  }

  /// - Returns: `false` if the server has closed the connection.
  private func move() throws -> Bool {
    guard let tls, let session, let watcher, !isClosed else { return false }
    if !isReady {
      let wanted = try tls.handshake()
      watcher.wantsWrite = wanted == .wantsWrite
      guard wanted == nil else { return true }
      isReady = true
      // The requests are written before the first read, so the server can't influence them.
      try flush()
    }
    var buffer = [UInt8](repeating: 0, count: 16_384)
    while true {
      let result = try buffer.withUnsafeMutableBytes { try tls.read(into: $0) }
      switch result {
      case .bytes(let count):
        try buffer[..<count].withUnsafeBytes { try session.receive($0, handler: events) }
      case .closed: return false
      case .wantsRead, .wantsWrite:
        try flush()
        return true
      }
    }
  }

  private func flush() throws {
    guard let tls, let session, let watcher, isReady, !isClosed else { return }
    while true {
      while let bytes = try session.nextOutput(handler: events) { unwritten += Array(bytes) }
      guard !unwritten.isEmpty else {
        watcher.wantsWrite = false
        return
      }
      guard case .bytes(let count) = try unwritten.withUnsafeBytes({ try tls.write($0) }) else {
        watcher.wantsWrite = true
        return
      }
      unwritten.removeFirst(count)
    }
  }

  private func wait(_ isDone: @escaping (Events) -> Bool) async throws {
    if isDone(events) { return }
    if isClosed { throw Lost() }
    try await withCheckedThrowingContinuation { waiting.append((isDone, $0)) }
  }

  private func check() {
    let done = waiting.filter { $0.isDone(events) }
    waiting.removeAll { $0.isDone(events) }
    for waiter in done { waiter.continuation.resume() }
  }
}
