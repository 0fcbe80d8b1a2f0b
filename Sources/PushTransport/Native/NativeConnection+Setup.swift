internal import EventLoop
internal import PushCore

extension NativeConnection {
  enum Event: Sendable {
    /// The host was looked up.
    case lookedUp(Result<[SocketAddress], any Error>)
    /// The socket is ready.
    case ready
  }

  /// When a silent peer is asked for a sign of life, in nanoseconds.
  struct Liveness {
    /// Silence while pushes wait for answers.
    var busy: UInt64 = 5_000_000_000
    /// Silence while none do. Apple asks for an hour; what dies sooner is the way there, in the tables of others.
    var idle: UInt64 = 60_000_000_000
    /// How long the sign may take.
    var answer: UInt64 = 5_000_000_000
  }

  /// What it is to be.
  struct Setup {
    var configuration: ConnectionPool.Configuration
    var target: Authority
    var proxy: Authority?
    var liveness = Liveness()
    var firstStreamID: UInt32 = 1
  }
}
