public import PushCore
public import PushTransport
import Synchronization

/// Bearer token of an account of ``TextService``. It can be replaced.
public final class TextCredential: PushCredential {
  private struct State {
    var text: String
    var generation = 1
    var stopped: ReasonCode?
    var observers: [@Sendable () -> Void] = []
  }

  private let state: Mutex<State>

  /// - Parameter text: the token, without the word `bearer`.
  public init(_ text: String) { state = Mutex(State(text: text)) }

  public func authorization() -> PushAuthorization? {
    state.withLock { state in
      state.stopped == nil
        ? .token(BearerToken(text: state.text, generation: state.generation, connection: state.generation)) : nil
    }
  }

  /// Replaces the token.
  public func exchange(_ text: String) {
    state.withLock {
      $0.text = text
      $0.generation += 1
    }
    resume()
  }

  public func record(_ event: CredentialEvent) {
    guard case .refused(let reason, _, let generation) = event else { return }
    change { if $0.generation == generation { $0.stopped = reason } }
  }

  public var stopped: ReasonCode? { state.withLock { $0.stopped } }
  public func resume() { change { $0.stopped = nil } }
  public func explain(_ reason: ReasonCode) -> String { "repair the bearer token" }
  public func setOffset(_ seconds: Int64) {}
  public func observe(_ body: @escaping @Sendable () -> Void) { state.withLock { $0.observers.append(body) } }

  private func change(_ body: (inout State) -> Void) {
    for observer in state.withLock({ state in
      body(&state)
      return state.observers
    }) { observer() }
  }
}
