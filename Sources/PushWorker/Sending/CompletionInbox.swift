import PushTransport
import EventLoop
import Synchronization

/// Transfers completions (the results of pushes) from the queues of the connections to the queue of the worker. One
/// wake-up delivers all completions that have gathered.
final class CompletionInbox: Sendable {
  private struct State {
    var completions: [PushCompletion] = []
    var isScheduled = false
    var handler: (@Sendable () -> Void)?
  }

  private let state = Mutex(State())
  private let loop: EventLoop

  init(loop: EventLoop) {
    self.loop = loop
  }

  /// Sets the handler, which runs on the loop when completions have arrived.
  func onArrival(_ handler: @escaping @Sendable () -> Void) {
    state.withLock { $0.handler = handler }
  }

  /// Adds completions. Callable from any thread.
  func put(_ completions: [PushCompletion]) {
    let handler = state.withLock { state -> (@Sendable () -> Void)? in
      if state.completions.isEmpty {
        state.completions = completions
      } else {
        state.completions.append(contentsOf: completions)
      }
      guard !state.isScheduled else { return nil }
      state.isScheduled = true
      return state.handler
    }
    if let handler { loop.execute(handler) }
  }

  /// Removes and returns all completions.
  func take() -> [PushCompletion] {
    state.withLock { state in
      state.isScheduled = false
      defer { state.completions = [] }
      return state.completions
    }
  }
}
