import Glibc
import Synchronization

/// Since when each connection has had no whole request, to end those that take too long over one.
final class ConnectionClocks: Sendable {
  private struct State {
    /// Of connections that have a request under way: `nil`.
    var connections: [Int32: UInt64?] = [:]
  }

  private let state = Mutex(State())

  /// Connections that are open.
  var open: Int { state.withLock { $0.connections.count } }

  /// A connection was opened.
  func opened(_ descriptor: Int32, now: UInt64) {
    state.withLock { $0.connections[descriptor] = now }
  }

  /// A request has come whole: what its answer takes is not the client's to answer for.
  func received(_ descriptor: Int32) { state.withLock { $0.connections[descriptor] = .some(nil) } }

  /// It was answered, so the next one may come.
  func answered(_ descriptor: Int32, now: UInt64) {
    state.withLock { $0.connections[descriptor] = now }
  }

  /// A connection is about to be closed.
  func closed(_ descriptor: Int32) { _ = state.withLock { $0.connections.removeValue(forKey: descriptor) } }

  /// Ends connections that have had no whole request since before `limit`.
  ///
  /// Under the lock: libmicrohttpd tells of a connection's end before it closes the descriptor, so until ``closed(_:)``
  /// the number is this connection's and nobody else's. shutdown(2) is what its thread notices; closing stays with it.
  func endThose(before limit: UInt64) {
    state.withLock { state in
      for case (let descriptor, let since?) in state.connections where since < limit {
        shutdown(descriptor, Int32(SHUT_RDWR))
        state.connections[descriptor] = .some(nil)
      }
    }
  }

  /// Ends all connections, in the same way.
  func endAll() {
    state.withLock { state in
      for descriptor in state.connections.keys { shutdown(descriptor, Int32(SHUT_RDWR)) }
    }
  }
}
