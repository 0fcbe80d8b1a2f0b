import PushTransport
import EventLoop
import Synchronization

/// Completions on their way from the connections' queues to the worker's: many at a time, one wake-up for all that have
/// gathered.
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

  /// Sets what is called on the loop when there is something to take.
  func onArrival(_ handler: @escaping @Sendable () -> Void) {
    state.withLock { $0.handler = handler }
  }

  /// Adds completions; from any thread.
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

  /// Takes all there are.
  func take() -> [PushCompletion] {
    state.withLock { state in
      state.isScheduled = false
      defer { state.completions = [] }
      return state.completions
    }
  }
}
