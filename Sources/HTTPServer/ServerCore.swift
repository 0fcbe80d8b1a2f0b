import CMicrohttpd
import Dispatch
import Glibc
import Synchronization

/// The code behind libmicrohttpd's callbacks, and its state. All callbacks run on libmicrohttpd's only thread. The core
/// lives until the end of the daemon.
final class ServerCore: Sendable {
  private struct State {
    var exchanges: [ObjectIdentifier: ServerExchange] = [:]
    var bodyMemory: Int
    var isStopping = false
    var idleWaiters: [UInt64: CheckedContinuation<Void, Never>] = [:]
    var nextWaiter: UInt64 = 0
  }

  let connections: OpenConnections
  private let handler: any HTTPHandler
  /// Number of requests in progress above which the server answers only health checks.
  private let maximumRequests: Int
  private let state: Mutex<State>

  init(_ handler: any HTTPHandler, _ options: HTTPServerOptions) {
    self.handler = handler
    connections = OpenConnections(most: options.connections)
    maximumRequests = options.requests
    state = Mutex(State(bodyMemory: options.bodyMemory))
  }

  // MARK: Called by libmicrohttpd

  /// Implements `MHD_OPTION_URI_LOG_CALLBACK`: the first line of a request has arrived, and its target is still
  /// unchanged. libmicrohttpd stores the returned pointer in the slot of the request.
  static func begin(target: UnsafePointer<CChar>) -> UnsafeMutableRawPointer {
    let bytes = UnsafeRawBufferPointer(start: target, count: strlen(target))
    let exchange = ServerExchange(.init(text: Array(bytes), address: UInt(bitPattern: target)))
    cmicrohttpd_hide_query(target)
    return Unmanaged.passRetained(exchange).toOpaque()
  }

  /// Implements `MHD_AccessHandlerCallback`. libmicrohttpd calls it first with the headers, then with each part of the
  /// body, and then without a part, at the end of the body. After each resumption of the connection, libmicrohttpd
  /// calls it again.
  func handle(
    _ connection: OpaquePointer, method: UnsafePointer<CChar>, version: UnsafePointer<CChar>,
    upload: UnsafePointer<CChar>?, uploadSize: UnsafeMutablePointer<Int>,
    slot: UnsafeMutablePointer<UnsafeMutableRawPointer?>
  ) -> MHD_Result {
    guard let known = slot.pointee else { return cmicrohttpd_no }
    // The exchange was retained in `begin`. `completed` releases it, which libmicrohttpd calls once for each request
    // that has begun.
    let exchange = Unmanaged<ServerExchange>.fromOpaque(known).takeUnretainedValue()
    if let target = exchange.takeTarget() {
      return receive(RequestHead(connection, method: method, target, version: version), connection, exchange)
    }
    if uploadSize.pointee > 0 {
      let part = UnsafeRawBufferPointer(start: upload, count: uploadSize.pointee)
      uploadSize.pointee = 0
      return exchange.receive(part, memory: reserve, refusal: handler.refusal) ? cmicrohttpd_yes : cmicrohttpd_no
    }
    switch exchange.next() {
    case .nothing: return cmicrohttpd_yes
    case .answer(let response): return queue(response, on: connection, exchange)
    case .handle(let request):
      connections.recordProgress(cmicrohttpd_descriptor(connection), on: exchange, now: Self.now)
      // Suspend the connection before a task can resume it.
      let handle = ConnectionHandle(pointer: connection)
      handle.suspend()
      exchange.keep(
        Task { [handler] in
          exchange.answer(await handler.respond(to: request))
          handle.resume()
        })
      return cmicrohttpd_yes
    }
  }

  /// Implements `MHD_RequestCompletedCallback`: the request has ended, with or without success.
  func completed(_ connection: OpaquePointer, slot: UnsafeMutablePointer<UnsafeMutableRawPointer?>) {
    guard let known = slot.pointee else { return }
    slot.pointee = nil
    let exchange = Unmanaged<ServerExchange>.fromOpaque(known).takeRetainedValue()
    exchange.end()
    connections.answered(cmicrohttpd_descriptor(connection), now: Self.now)
    let waiters = state.withLock { state -> [CheckedContinuation<Void, Never>] in
      state.exchanges[ObjectIdentifier(exchange)] = nil
      state.bodyMemory += exchange.reserved
      guard state.exchanges.isEmpty else { return [] }
      defer { state.idleWaiters = [:] }
      return Array(state.idleWaiters.values)
    }
    for waiter in waiters { waiter.resume() }
  }

  /// Implements `MHD_NotifyConnectionCallback`.
  func notify(_ connection: OpaquePointer, hasStarted: Bool) {
    let descriptor = cmicrohttpd_descriptor(connection)
    if hasStarted { connections.opened(descriptor, now: Self.now) } else { connections.closed(descriptor) }
  }

  // MARK: Requests

  /// Handles the headers of a request.
  private func receive(
    _ head: RequestHead, _ connection: OpaquePointer, _ exchange: ServerExchange
  ) -> MHD_Result {
    state.withLock { $0.exchanges[ObjectIdentifier(exchange)] = exchange }
    // libmicrohttpd accepts a bare LF as the end of a line between chunks, so a proxy may see another end of the body.
    // The connection therefore ends after a chunked body, and no further bytes are read as a request.
    exchange.isLast = head.isChunked
    do throws(RequestFault) {
      let request = try head.request()
      switch admission(request, length: head.length) {
      case .accept(let terms):
        exchange.accept(request, terms)
        return cmicrohttpd_yes
      case .refuse(let response):
        exchange.refuse(response)
        // Read the rest of a short body. If the connection were closed with unread bytes, the system would reset it,
        // and the client would lose the answer.
        guard head.isChunked || head.length > ServerExchange.discardLimit else { return cmicrohttpd_yes }
        return queue(response, on: connection, exchange)
      }
    } catch {
      exchange.isLast = true
      return queue(handler.refusal(status: error.status, reason: error.reason), on: connection, exchange)
    }
  }

  private func admission(_ request: HTTPRequest, length: Int) -> HTTPAdmission {
    guard !state.withLock({ $0.isStopping }) else {
      return .refuse(handler.refusal(status: 503, reason: "this process is stopping"))
    }
    let admission = handler.admit(request)
    guard case .accept(let terms) = admission else { return admission }
    guard length <= terms.bodyLimit else {
      return .refuse(handler.refusal(status: 413, reason: "the body is larger than \(terms.bodyLimit) bytes"))
    }
    guard terms.isProbe || connections.working < maximumRequests else {
      return .refuse(
        handler.refusal(status: 503, reason: "\(maximumRequests) requests are in progress, which is the limit"))
    }
    return admission
  }

  /// Reserves bytes of the memory for bodies (``HTTPServerOptions/bodyMemory``).
  private func reserve(_ count: Int) -> Bool {
    state.withLock { state in
      guard state.bodyMemory >= count else { return false }
      state.bodyMemory -= count
      return true
    }
  }

  // MARK: Answers

  private func queue(_ response: HTTPResponse, on connection: OpaquePointer, _ exchange: ServerExchange) -> MHD_Result {
    let made: OpaquePointer?
    switch response.body {
    case .bytes(var bytes):
      // MHD_RESPMEM_MUST_COPY: libmicrohttpd copies the array, because the array belongs to this function.
      made = MHD_create_response_from_buffer(bytes.count, &bytes, cmicrohttpd_copy)
    case .stream(let write): made = stream(write, to: connection, exchange)
    }
    guard let made else { return cmicrohttpd_no }
    // MHD_queue_response keeps its own reference to the response.
    defer { MHD_destroy_response(made) }
    for (name, value) in response.headers { MHD_add_response_header(made, name, value) }
    if exchange.isLast || state.withLock({ $0.isStopping }) { MHD_add_response_header(made, "Connection", "close") }
    connections.recordSending(cmicrohttpd_descriptor(connection), now: Self.now)
    return MHD_queue_response(connection, UInt32(response.status), made)
  }

  /// The context of the content reader. The response owns the context, and frees it when the response ends.
  private final class Reader {
    let writer: HTTPBodyWriter
    let connection: ConnectionHandle
    let exchange: ServerExchange
    let connections: OpenConnections

    init(
      _ writer: HTTPBodyWriter, _ connection: ConnectionHandle, _ exchange: ServerExchange,
      _ connections: OpenConnections
    ) {
      self.writer = writer
      self.connection = connection
      self.exchange = exchange
      self.connections = connections
    }

    /// Called on libmicrohttpd's thread. Only this thread reads, so no other read can run between a suspension of the
    /// connection and the record of it.
    func read(into target: UnsafeMutableRawBufferPointer) -> Int {
      let count = writer.read(into: target, for: connection)
      let descriptor = cmicrohttpd_descriptor(connection.pointer)
      if count > 0 { connections.recordSending(descriptor, now: ServerCore.now) }
      if count == 0 { connections.recordProgress(descriptor, on: exchange, now: ServerCore.now) }
      return count
    }
  }

  private func stream(
    _ write: @escaping @Sendable (HTTPBodyWriter) async throws -> Void, to connection: OpaquePointer,
    _ exchange: ServerExchange
  ) -> OpaquePointer? {
    let writer = HTTPBodyWriter()
    let reader = Unmanaged.passRetained(
      Reader(writer, ConnectionHandle(pointer: connection), exchange, connections))
    let made = MHD_create_response_from_callback(
      // `.max` is MHD_SIZE_UNKNOWN, a macro with a cast.
      .max, 32 * 1024,
      { context, _, target, size in
        guard let context, let target else { return -2 }
        return Unmanaged<Reader>.fromOpaque(context).takeUnretainedValue()
          .read(into: .init(start: target, count: size))
      }, reader.toOpaque(),
      { context in
        guard let context else { return }
        let reader = Unmanaged<Reader>.fromOpaque(context).takeRetainedValue()
        reader.writer.close()
      })
    guard made != nil else {
      reader.release()
      return nil
    }
    exchange.keep(
      Task {
        do {
          try await write(writer)
          writer.finish(isBroken: false)
        } catch {
          writer.finish(isBroken: true)
        }
      }, writer: writer)
    return made
  }

  // MARK: Stopping

  /// Stops the admission of requests.
  func beginStop() { state.withLock { $0.isStopping = true } }

  /// Cancels the tasks that answer, and ends the connections.
  func cancel() {
    for exchange in state.withLock({ Array($0.exchanges.values) }) { exchange.cancel() }
    connections.endAll()
  }

  /// Returns when no request is in progress, or after a time limit.
  ///
  /// - Returns: Whether no request is in progress.
  func waitUntilIdle(_ limit: Duration) async -> Bool {
    let id = state.withLock { state in
      state.nextWaiter += 1
      return state.nextWaiter
    }
    let timer = Task {
      try await Task.sleep(for: limit)
      state.withLock { $0.idleWaiters.removeValue(forKey: id) }?.resume()
    }
    await withCheckedContinuation { continuation in
      let isIdle = state.withLock { state in
        if state.exchanges.isEmpty { return true }
        state.idleWaiters[id] = continuation
        return false
      }
      if isIdle { continuation.resume() }
    }
    timer.cancel()
    return state.withLock { $0.exchanges.isEmpty }
  }

  static var now: UInt64 { DispatchTime.now().uptimeNanoseconds }
}
