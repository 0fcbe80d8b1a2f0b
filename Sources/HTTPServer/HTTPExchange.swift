import CMicrohttpd
import Synchronization

/// A request and its answer, as far as they have come. Shared by libmicrohttpd's thread and the task that answers.
final class HTTPExchange: Sendable {
  /// What to do when libmicrohttpd calls again.
  enum Step {
    /// The request has come whole: answer it.
    case handle(HTTPRequest)
    /// The answer is there.
    case answer(HTTPResponse)
    /// There is nothing to do: the connection is asleep, so it should not have been called.
    case nothing
  }

  /// The target of a request as it came, and where in memory it stands.
  struct Target {
    var text: [UInt8]
    var address: UInt
  }

  private enum Phase {
    /// The headers come.
    case begun(Target)
    /// The body comes, and is kept up to a limit.
    case receiving(HTTPRequest, limit: Int)
    /// The body comes and is of no use.
    case discarding(HTTPResponse)
    case handling
    case answered(HTTPResponse)
    case ended
  }

  private struct State {
    var phase: Phase
    /// Bytes of the body that have come.
    var received = 0
    /// Bytes that it took of the server's memory for bodies.
    var reserved = 0
    /// Whether the work is of no use without the client.
    var endsWithClient = false
    /// Whether the connection ends with this request.
    var isLast = false
    var task: Task<Void, Never>?
    var writer: HTTPBodyWriter?
  }

  /// Bytes of a body that are read beyond those that are kept, so that the client gets its answer rather than a reset.
  static let discardLimit = 256 * 1024

  private let state: Mutex<State>

  /// A request of which the first line has come.
  init(_ target: Target) { state = Mutex(State(phase: .begun(target))) }

  /// The target, once: when the headers have come.
  func takeTarget() -> Target? {
    state.withLock { state in
      guard case .begun(let target) = state.phase else { return nil }
      state.phase = .handling
      return target
    }
  }

  /// The request is to be handled once its body has come.
  func accept(_ request: HTTPRequest, _ terms: HTTPTerms) {
    state.withLock { state in
      state.phase = .receiving(request, limit: terms.bodyLimit)
      state.endsWithClient = terms.endsWithClient
    }
  }

  /// The request is answered like this, whatever its body is.
  func refuse(_ response: HTTPResponse) { state.withLock { $0.phase = .discarding(response) } }

  /// Whether the connection ends with this request.
  var isLast: Bool {
    get { state.withLock { $0.isLast } }
    set { state.withLock { $0.isLast = newValue } }
  }

  /// Bytes that it holds of the server's memory for bodies.
  var reserved: Int { state.withLock { $0.reserved } }

  /// A part of the body.
  ///
  /// - Parameters:
  ///   - memory: takes so many bytes of what the server has for bodies; false when there is no room.
  ///   - refusal: makes an answer of a status and a reason.
  /// - Returns: whether the connection may go on.
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
          state.phase = .discarding(refusal(503, "too many requests with large bodies at once"))
        } else {
          state.reserved += bytes.count
          // The old value must not be held while it grows, or every part would copy it.
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

  /// What to do, once the body has come or the connection was resumed.
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

  /// The answer is there; the connection is to be resumed after this.
  func answer(_ response: HTTPResponse) {
    state.withLock { state in
      if case .handling = state.phase { state.phase = .answered(response) }
      state.task = nil
    }
  }

  /// Keeps the task that answers, or writes the body, so that a stop can cancel it.
  func keep(_ task: Task<Void, Never>, writer: HTTPBodyWriter? = nil) {
    state.withLock { state in
      state.task = task
      state.writer = writer ?? state.writer
    }
  }

  /// The client has gone: what is made for it alone is cancelled.
  func abandon() {
    if state.withLock({ $0.endsWithClient || $0.writer != nil }) { cancel() }
  }

  /// The server stops: who answers is told.
  func cancel() {
    let (task, writer) = state.withLock { ($0.task, $0.writer) }
    task?.cancel()
    writer?.close()
  }

  /// The request is over, whether it was answered or the client went away.
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
