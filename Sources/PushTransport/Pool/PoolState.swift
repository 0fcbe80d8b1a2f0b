/// What a pool is doing just now; for logs, metrics and tests.
public struct PoolState: Sendable, Equatable {
  /// Its connections, open or not; the last is the one for unproven pushes.
  public var connections: [ConnectionState] = []
  /// Pushes not taken by any connection yet.
  public var backlog = 0
  /// How long answers took, since the start.
  public var times = AnswerTimes()
  /// What went wrong last, in the engine's words.
  public var lastError: String?
  /// Whether pushes are held back because the service answers 503.
  public var breaker = CircuitBreaker.State.closed
  /// How often the circuit breaker has opened, since the start.
  public var breakerOpenings = 0

  /// Of a pool that has done nothing yet.
  public init() {}

  /// Connections on which the service has accepted a push.
  public var open: Int { connections.count { $0.phase == .established } }
  /// Pushes sent without an answer yet.
  public var inFlight: Int { connections.reduce(0) { $0 + $1.inFlight } }
  /// Connections opened since the start.
  public var openings: Int { connections.reduce(0) { $0 + $1.openings } }
  /// Connections that could not be opened, or broke, since the start.
  public var failures: Int { connections.reduce(0) { $0 + $1.failures } }
}

/// One of a pool's connections, and those that it took the place of.
public struct ConnectionState: Sendable, Equatable {
  /// How far it has come.
  public enum Phase: Sendable, Equatable {
    case closed
    /// Being opened, or open without an accepted push yet.
    case opening
    /// The service has accepted a push on it.
    case established
  }

  /// Whether it is for unproven pushes alone, see ``PushBatch/isUnproven``.
  public var isForUnproven = false
  /// How far it has come.
  public var phase = Phase.closed
  /// Where it goes to, in numbers; `nil` when closed, or behind a proxy.
  public var address: String?
  /// Nanoseconds since it was opened, when the state was read; `nil` when closed.
  public var age: UInt64?
  /// Pushes sent without an answer yet, those on its predecessors included.
  public var inFlight = 0
  /// Pushes that may be on their way at once, as of the last answers.
  public var window = 1
  /// Connections opened in this place since the start.
  public var openings = 0
  /// Of them, those that could not be opened, or broke.
  public var failures = 0
  /// When it was opened, in monotonic nanoseconds.
  var openedAt: UInt64?
  /// When its last answer came, in monotonic nanoseconds; `nil` when none has come since it was opened.
  var answeredAt: UInt64?
  /// When it got pushes after it had none on their way, in monotonic nanoseconds.
  var busySince: UInt64 = 0

  /// Closed, and never opened.
  public init() {}

  mutating func note(_ event: ConnectionEvent, now: UInt64) {
    switch event {
    case .opening:
      phase = .opening
      openedAt = now
      answeredAt = nil
      openings += 1
      window = 1
    case .established: phase = .established
    case .failed:
      failures += 1
      close()
    case .closed: close()
    case .trouble, .credential: break
    }
  }

  /// Pushes go out on it.
  mutating func took(_ count: Int, now: @autoclosure () -> UInt64) {
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
