import CMicrohttpd
import Dispatch
import Foundation
import Synchronization

/// What libmicrohttpd's callbacks work on, all of them on its one thread. Lives until the daemon has ended.
final class ServerCore: Sendable {
  private struct State {
    var exchanges: [ObjectIdentifier: HTTPExchange] = [:]
    var bodyMemory: Int
    var isStopping = false
    var idleWaiters: [UInt64: CheckedContinuation<Void, Never>] = [:]
    var nextWaiter: UInt64 = 0
  }

  let clocks = ConnectionClocks()
  private let handler: any HTTPHandler
  private let state: Mutex<State>

  init(_ handler: any HTTPHandler, bodyMemory: Int) {
    self.handler = handler
    state = Mutex(State(bodyMemory: bodyMemory))
  }

  // MARK: Called by libmicrohttpd

  /// `MHD_AccessHandlerCallback`: called with the headers, then with each part of the body, then without a part, and again
  /// whenever the connection was resumed.
  func handle(
    _ connection: OpaquePointer, url: UnsafePointer<CChar>, method: UnsafePointer<CChar>,
    upload: UnsafePointer<CChar>?, uploadSize: UnsafeMutablePointer<Int>,
    slot: UnsafeMutablePointer<UnsafeMutableRawPointer?>
  ) -> MHD_Result {
    guard let known = slot.pointee else {
      return begin(connection, String(cString: url), String(cString: method), slot)
    }
    // Retained in `begin`, released in `completed`, which libmicrohttpd calls once for each request that has begun.
    let exchange = Unmanaged<HTTPExchange>.fromOpaque(known).takeUnretainedValue()
    if uploadSize.pointee > 0 {
      let part = UnsafeRawBufferPointer(start: upload, count: uploadSize.pointee)
      uploadSize.pointee = 0
      return exchange.receive(part, memory: reserve, refusal: handler.refusal) ? cmicrohttpd_yes : cmicrohttpd_no
    }
    switch exchange.next() {
    case .nothing: return cmicrohttpd_yes
    case .answer(let response): return queue(response, on: connection, exchange)
    case .handle(let request):
      clocks.received(cmicrohttpd_descriptor(connection))
      // Asleep before anybody could wake it.
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

  /// `MHD_RequestCompletedCallback`: the request is over, however it ended.
  func completed(_ connection: OpaquePointer, slot: UnsafeMutablePointer<UnsafeMutableRawPointer?>) {
    guard let known = slot.pointee else { return }
    slot.pointee = nil
    let exchange = Unmanaged<HTTPExchange>.fromOpaque(known).takeRetainedValue()
    exchange.end()
    clocks.answered(cmicrohttpd_descriptor(connection), now: Self.now)
    let waiters = state.withLock { state -> [CheckedContinuation<Void, Never>] in
      state.exchanges[ObjectIdentifier(exchange)] = nil
      state.bodyMemory += exchange.reserved
      guard state.exchanges.isEmpty else { return [] }
      defer { state.idleWaiters = [:] }
      return Array(state.idleWaiters.values)
    }
    for waiter in waiters { waiter.resume() }
  }

  /// `MHD_NotifyConnectionCallback`.
  func notify(_ connection: OpaquePointer, hasStarted: Bool) {
    let descriptor = cmicrohttpd_descriptor(connection)
    if hasStarted { clocks.opened(descriptor, now: Self.now) } else { clocks.closed(descriptor) }
  }

  // MARK: Requests

  private func begin(
    _ connection: OpaquePointer, _ url: String, _ method: String,
    _ slot: UnsafeMutablePointer<UnsafeMutableRawPointer?>
  ) -> MHD_Result {
    let headers = Self.values(connection, cmicrohttpd_headers)
    let length = headers.first { $0.name.lowercased() == "content-length" }.flatMap { Int($0.value) }
    let isChunked = headers.contains { $0.name.lowercased() == "transfer-encoding" }
    let exchange: HTTPExchange
    var early: HTTPResponse?
    switch admission(connection, url, method, headers, length: length) {
    case .accepted(let request, let limit): exchange = HTTPExchange(request, bodyLimit: limit)
    case .refused(let response):
      exchange = HTTPExchange(refused: response)
      // A short body is read all the same: closed with something unread, the connection would be reset, and the answer lost.
      if isChunked || length ?? 0 > HTTPExchange.discardLimit { early = response }
    }
    state.withLock { $0.exchanges[ObjectIdentifier(exchange)] = exchange }
    slot.pointee = Unmanaged.passRetained(exchange).toOpaque()
    guard let early else { return cmicrohttpd_yes }
    return queue(early, on: connection, exchange)
  }

  private enum Admitted {
    case accepted(HTTPRequest, limit: Int)
    case refused(HTTPResponse)
  }

  private func admission(
    _ connection: OpaquePointer, _ url: String, _ method: String, _ headers: [(name: String, value: String)],
    length: Int?
  ) -> Admitted {
    guard !state.withLock({ $0.isStopping }) else {
      return .refused(handler.refusal(status: 503, reason: "this process is about to end"))
    }
    var query: [(name: String, value: String)] = []
    for (name, value) in Self.values(connection, cmicrohttpd_query) {
      guard let name = PercentText.decode(name), let value = PercentText.decode(value) else {
        return .refused(handler.refusal(status: 400, reason: "the query is not percent-encoded UTF-8"))
      }
      query.append((name, value))
    }
    guard let path = PercentText.path(url) else {
      return .refused(handler.refusal(status: 400, reason: "the path is not percent-encoded UTF-8"))
    }
    let request = HTTPRequest(method: method, path: path, query: query, headers: headers)
    switch handler.admit(request) {
    case .refuse(let response): return .refused(response)
    case .accept(let limit):
      guard length ?? 0 <= limit else {
        return .refused(handler.refusal(status: 413, reason: "the body is larger than \(limit) bytes"))
      }
      return .accepted(request, limit: limit)
    }
  }

  /// The values of a kind, in the order in which they came. MHD_get_connection_values calls back before it returns, so a
  /// pointer to a local is good.
  private static func values(_ connection: OpaquePointer, _ kind: MHD_ValueKind) -> [(name: String, value: String)] {
    var values: [(name: String, value: String)] = []
    withUnsafeMutablePointer(to: &values) { values in
      _ = MHD_get_connection_values(
        connection, kind,
        { context, _, name, value in
          let values = context?.assumingMemoryBound(to: [(name: String, value: String)].self)
          values?.pointee.append((name.map { String(cString: $0) } ?? "", value.map { String(cString: $0) } ?? ""))
          return cmicrohttpd_yes
        }, values)
    }
    return values
  }

  /// Takes bytes of the memory for bodies.
  private func reserve(_ count: Int) -> Bool {
    state.withLock { state in
      guard state.bodyMemory >= count else { return false }
      state.bodyMemory -= count
      return true
    }
  }

  // MARK: Answers

  private func queue(_ response: HTTPResponse, on connection: OpaquePointer, _ exchange: HTTPExchange) -> MHD_Result {
    let made: OpaquePointer?
    switch response.body {
    case .bytes(var bytes):
      // MHD_RESPMEM_MUST_COPY: the array is ours.
      made = MHD_create_response_from_buffer(bytes.count, &bytes, cmicrohttpd_copy)
    case .stream(let write): made = stream(write, to: connection, exchange)
    }
    guard let made else { return cmicrohttpd_no }
    // MHD_queue_response holds the response for as long as it needs it.
    defer { MHD_destroy_response(made) }
    for (name, value) in response.headers { MHD_add_response_header(made, name, value) }
    if state.withLock({ $0.isStopping }) { MHD_add_response_header(made, "Connection", "close") }
    return MHD_queue_response(connection, UInt32(response.status), made)
  }

  /// What the content reader gets; kept by the response, freed with it.
  private final class Reader {
    let writer: HTTPBodyWriter
    let connection: ConnectionHandle

    init(_ writer: HTTPBodyWriter, _ connection: ConnectionHandle) {
      self.writer = writer
      self.connection = connection
    }
  }

  private func stream(
    _ write: @escaping @Sendable (HTTPBodyWriter) async throws -> Void, to connection: OpaquePointer,
    _ exchange: HTTPExchange
  ) -> OpaquePointer? {
    let writer = HTTPBodyWriter()
    let reader = Unmanaged.passRetained(Reader(writer, ConnectionHandle(pointer: connection)))
    let made = MHD_create_response_from_callback(
      // MHD_SIZE_UNKNOWN, a macro with a cast.
      .max, 32 * 1024,
      { context, _, target, size in
        guard let context, let target else { return -2 }
        let reader = Unmanaged<Reader>.fromOpaque(context).takeUnretainedValue()
        return reader.writer.read(into: .init(start: target, count: size), for: reader.connection)
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

  // MARK: The end

  /// Nothing more is admitted.
  func beginStop() { state.withLock { $0.isStopping = true } }

  /// Who answers is told that nobody waits any more, and connections end.
  func cancel() {
    for exchange in state.withLock({ Array($0.exchanges.values) }) { exchange.cancel() }
    clocks.endAll()
  }

  /// Returns when no request is under way, or after a while.
  ///
  /// - Returns: whether none is.
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
