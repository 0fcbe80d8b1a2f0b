/// Present state of a pool, for logs, metrics and tests.
public struct PoolState: Sendable, Equatable {
  /// Connections of the pool, open or not. The last one is for unproven pushes, if the policy has such a connection.
  public var connections: [ConnectionState] = []
  /// Number of pushes that no connection has taken yet.
  public var backlog = 0
  /// Latencies of answers since the start.
  public var times = AnswerTimes()
  /// Last error, as text of the engine.
  public var lastError: String?
  /// State of the circuit breaker.
  public var breaker = CircuitBreaker.State.closed
  /// Number of times that the circuit breaker has opened since the start.
  public var breakerOpenings = 0

  /// Creates the state of a pool that has done nothing yet.
  public init() {}

  /// Number of connections on which the service has accepted a push.
  public var open: Int { connections.count { $0.phase == .established } }
  /// Number of sent pushes without an answer.
  public var inFlight: Int { connections.reduce(0) { $0 + $1.inFlight } }
  /// Number of connections opened since the start.
  public var openings: Int { connections.reduce(0) { $0 + $1.openings } }
  /// Number of connections that could not be opened, or broke, since the start.
  public var failures: Int { connections.reduce(0) { $0 + $1.failures } }
}

/// State of one connection of a pool. A closed connection is replaced in the same place, so some numbers include its
/// predecessors.
public struct ConnectionState: Sendable, Equatable {
  /// Phase of a connection.
  public enum Phase: Sendable, Equatable {
    case closed
    /// The connection is being opened, or is open without an accepted push yet.
    case opening
    /// The service has accepted a push on the connection.
    case established
  }

  /// Whether the connection is only for unproven pushes, see ``PushBatch/isUnproven``.
  public var isForUnproven = false
  /// Phase of the connection.
  public var phase = Phase.closed
  /// Numeric address of the connection; `nil` if it is closed, or behind a proxy.
  public var address: String?
  /// Age of the connection in nanoseconds at the time of this state; `nil` if the connection is closed.
  public var age: UInt64?
  /// Number of pushes without an answer on this connection and its predecessors.
  public var inFlight = 0
  /// Number of pushes that may be in flight, as the engine last reported it.
  public var window = 1
  /// Number of connections opened in this place since the start.
  public var openings = 0
  /// Number of these connections that could not be opened, or broke.
  public var failures = 0
  /// Whether the connection is saturated (all streams busy, latency flat), as far as the engine reports it.
  var isSaturated = false
  /// Time when the connection was opened, in monotonic nanoseconds.
  var openedAt: UInt64?
  /// Time of the last answer on the connection in monotonic nanoseconds; `nil` before the first answer.
  var answeredAt: UInt64?
  /// Time when the connection got pushes while it had none in flight, in monotonic nanoseconds.
  var busySince: UInt64 = 0

  /// Creates the state of a connection that was never opened.
  public init() {}

  mutating func record(_ event: ConnectionEvent, now: UInt64) {
    switch event {
    case .opening:
      phase = .opening
      openedAt = now
      answeredAt = nil
      isSaturated = false
      openings += 1
      window = 1
    case .established: phase = .established
    case .failed:
      failures += 1
      close()
    case .closed: close()
    case .saturated(let isIt): isSaturated = isIt
    case .pushesLost, .credential: break
    }
  }

  /// Records that the connection sends pushes.
  mutating func recordSending(_ count: Int, now: @autoclosure () -> UInt64) {
    if inFlight == 0 { busySince = now() }
    inFlight += count
  }

  private mutating func close() {
    phase = .closed
    openedAt = nil
    answeredAt = nil
    address = nil
  }
}
