internal import EventLoop
internal import PushCore

extension NativeConnection {
  enum Event: Sendable {
    /// The lookup of the host has ended.
    case lookedUp(Result<[SocketAddress], any Error>)
    /// The socket of a link is ready.
    case ready(link: Int)
  }

  /// Timeouts after which a silent peer is checked, in nanoseconds.
  struct Liveness {
    /// Maximum silence while pushes wait for answers.
    var busy: UInt64 = 5_000_000_000
    /// Maximum silence while no push waits. Apple recommends a PING after an hour, but NATs and firewalls on the path
    /// may drop the connection sooner.
    var idle: UInt64 = 60_000_000_000
    /// Maximum time for the answer to a PING.
    var answer: UInt64 = 5_000_000_000
  }

  /// Setup of the connection.
  struct Setup {
    var configuration: ConnectionPool.Configuration
    var target: Authority
    var proxy: Authority?
    var liveness = Liveness()
    var firstStreamID: UInt32 = 1
  }
}
