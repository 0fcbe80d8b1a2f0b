internal import Synchronization

/// The device tokens that get an injected error, with the remaining counts. Shared by all event loops.
final class TokenFailures: Sendable {
  private struct State {
    var list: [SimulatorKnobs.TokenFailure] = []
    var left: [[UInt8]: SimulatorKnobs.TokenFailure] = [:]
  }

  private let state = Mutex(State())

  /// Replaces the list and resets the counts. Does nothing for an equal list, because then another knob was changed.
  func set(_ list: [SimulatorKnobs.TokenFailure]) {
    state.withLock { state in
      guard state.list != list else { return }
      let left = list.filter { $0.times > 0 }.map { (Array($0.token.lowercased().utf8), $0) }
      state = State(list: list, left: Dictionary(left, uniquingKeysWith: { $1 }))
    }
  }

  /// Returns the error for a token in lower-case hex and decrements its count; `nil` if the token gets no further
  /// error.
  func take(_ token: [UInt8]) -> SimulatorKnobs.TokenFailure? {
    state.withLock { state in
      guard var failure = state.left[token] else { return nil }
      failure.times -= 1
      state.left[token] = failure.times > 0 ? failure : nil
      return failure
    }
  }
}
