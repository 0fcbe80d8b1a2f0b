import CMicrohttpd
import Synchronization

/// The state of one request and its answer. libmicrohttpd's thread and the task that makes the answer share it.
final class ServerExchange: Sendable {
  /// The action for the next call of libmicrohttpd.
  enum Step {
    /// Handle the request, which has arrived completely.
    case handle(HTTPRequest)
    /// Send the answer, which is ready.
    case answer(HTTPResponse)
    /// Do nothing. The connection is suspended, so libmicrohttpd should not have made this call.
    case nothing
  }

  /// The target of a request as received, and its address in memory.
  struct Target {
    var text: [UInt8]
    var address: UInt
  }

  private enum Phase {
    /// The headers are arriving.
    case begun(Target)
    /// The body is arriving, and is stored up to a limit.
    case receiving(HTTPRequest, limit: Int)
    /// The body is arriving and is discarded, because the request is already answered.
    case discarding(HTTPResponse)
    case handling
    case answered(HTTPResponse)
    case ended
  }

  private struct State {
    var phase: Phase
    /// Number of bytes of the body that have arrived.
    var received = 0
    /// Number of bytes of the server's memory for bodies that this request uses.
    var reserved = 0
    /// Whether the work for the request is cancelled when the client disconnects.
    var endsWithClient = false
    /// Whether the connection is closed after this request.
    var isLast = false
    var task: Task<Void, Never>?
    var writer: HTTPBodyWriter?
  }

  /// Number of bytes of a body that the server reads and discards, so that the client gets its answer instead of a
  /// reset of the connection.
  static let discardLimit = 256 * 1024

  private let state: Mutex<State>

  /// Creates the exchange of a request whose first line has arrived.
  init(_ target: Target) { state = Mutex(State(phase: .begun(target))) }

  /// Returns the target when the headers have arrived; `nil` in later calls.
  func takeTarget() -> Target? {
    state.withLock { state in
      guard case .begun(let target) = state.phase else { return nil }
      state.phase = .handling
      return target
    }
  }

  /// Accepts the request, which is handled when its body has arrived.
  func accept(_ request: HTTPRequest, _ terms: HTTPTerms) {
    state.withLock { state in
      state.phase = .receiving(request, limit: terms.bodyLimit)
      state.endsWithClient = terms.endsWithClient
    }
  }

  /// Sets the answer to the request. The body is discarded.
  func refuse(_ response: HTTPResponse) { state.withLock { $0.phase = .discarding(response) } }

  /// Whether the connection is closed after this request.
  var isLast: Bool {
    get { state.withLock { $0.isLast } }
    set { state.withLock { $0.isLast = newValue } }
  }

  /// Number of bytes of the server's memory for bodies that this request uses.
  var reserved: Int { state.withLock { $0.reserved } }

  /// Processes a part of the body.
  ///
  /// - Parameters:
  ///   - memory: Reserves a number of bytes of the server's memory for bodies; returns `false` if not enough is free.
  ///   - refusal: Makes an answer from a status and a reason.
  /// - Returns: Whether the connection may continue.
  func receive(
    _ bytes: UnsafeRawBufferPointer, memory: (Int) -> Bool, refusal: (Int, String) -> HTTPResponse
  ) -> Bool {
    state.withLock { state in
      state.received += bytes.count
      switch state.phase {
      case .receiving(var request, let limit):
        if state.received > limit {
          state.phase = .discarding(refusal(413, "the body is larger than \(limit) bytes"))
        } else if !memory(bytes.count) {
          state.phase = .discarding(refusal(503, "too many requests with large bodies are in progress"))
        } else {
          state.reserved += bytes.count
          // Remove the request from the phase before the body grows. Otherwise, each part would copy the whole body.
          state.phase = .handling
          request.body.append(contentsOf: bytes)
          state.phase = .receiving(request, limit: limit)
        }
        return true
      case .discarding: return state.received <= Self.discardLimit + (1 << 20)
      case .begun, .handling, .answered, .ended: return false
      }
    }
  }

  /// Returns the next action, after the body has arrived or the connection was resumed.
  func next() -> Step {
    state.withLock { state in
      switch state.phase {
      case .receiving(let request, _):
        state.phase = .handling
        return .handle(request)
      case .discarding(let response), .answered(let response):
        state.phase = .ended
        return .answer(response)
      case .begun, .handling, .ended: return .nothing
      }
    }
  }

  /// Sets the answer. The caller then resumes the connection.
  func answer(_ response: HTTPResponse) {
    state.withLock { state in
      if case .handling = state.phase { state.phase = .answered(response) }
      state.task = nil
    }
  }

  /// Stores the task that makes the answer or writes the body, so that a stop of the server can cancel it.
  func keep(_ task: Task<Void, Never>, writer: HTTPBodyWriter? = nil) {
    state.withLock { state in
      state.task = task
      state.writer = writer ?? state.writer
    }
  }

  /// Handles a disconnected client: cancels the work if only the client needs it.
  func abandon() {
    if state.withLock({ $0.endsWithClient || $0.writer != nil }) { cancel() }
  }

  /// Cancels the work, because the server stops.
  func cancel() {
    let (task, writer) = state.withLock { ($0.task, $0.writer) }
    task?.cancel()
    writer?.close()
  }

  /// Ends the request after its answer, or because the client has disconnected.
  func end() {
    let (task, writer) = state.withLock { state in
      state.phase = .ended
      defer { (state.task, state.writer) = (nil, nil) }
      return (state.task, state.writer)
    }
    task?.cancel()
    writer?.close()
  }
}
