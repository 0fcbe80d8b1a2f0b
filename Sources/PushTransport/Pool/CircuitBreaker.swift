internal import PushCore

/// Circuit breaker: stops sending while the service answers almost everything with 503, and detects when the service
/// has recovered. The type does no I/O: the caller supplies the time and the jitter.
///
///     closed ──half of the latest answers are 503──► open ──wait is over, one push is taken──► half-open
///       ▲                                             ▲                                          │ │
///       └───────────answered with anything but 5xx────┼──────────────────────────────────────────┘ │
///                                                     └─────5xx: twice the wait; no answer: the same┘
///
/// The service decides which server errors count as 503 (``PushCore/PushService/isUnavailable(_:)``). A 429 never
/// counts, because it concerns one device or a quota.
public struct CircuitBreaker: Sendable, Equatable {
  /// State of the breaker.
  public enum State: Sendable, Equatable {
    /// All pushes may be sent.
    case closed
    /// No push may be sent until this time, in monotonic nanoseconds.
    case open(until: UInt64)
    /// One trial push, with this tag, is in flight.
    case halfOpen(tag: UInt64)

    /// Name of the state, for logs.
    public var name: String {
      switch self {
      case .closed: "closed"
      case .open: "open"
      case .halfOpen: "half-open"
      }
    }
  }

  /// Settings of a breaker.
  public struct Limits: Sendable, Equatable {
    /// Nanoseconds before the first trial push, before jitter; doubles with every failed trial.
    public var firstWait: UInt64
    /// Maximum wait between trial pushes in nanoseconds, before jitter.
    public var longestWait: UInt64

    /// Creates settings. The default of `firstWait` suits a restart behind a load balancer, which takes seconds. The
    /// default of `longestWait` suits an outage of hours: one push per minute costs the service and the campaign almost
    /// nothing, and the breaker detects the recovery within a minute.
    public init(firstWait: UInt64 = 2_000_000_000, longestWait: UInt64 = 60_000_000_000) {
      self.firstWait = firstWait
      self.longestWait = longestWait
    }
  }

  /// Result of a push, as a sign of the service's health.
  public enum Signal: Sendable, Equatable {
    /// An answer other than 5xx.
    case answered
    /// A 503, or another 5xx which means that the whole service accepts no more pushes.
    case unavailable
    /// Any other 5xx.
    case failed
    /// No answer.
    case silent

    init(_ answer: PushAnswer, of service: any PushService) {
      guard answer.kind == .answered else {
        self = .silent
        return
      }
      switch answer.status {
      case 500..<600 where service.isUnavailable(answer): self = .unavailable
      case 500..<600: self = .failed
      default: self = .answered
      }
    }
  }

  /// Number of 503 among the latest 64 answers that opens the breaker. If fewer than half of the answers are 503,
  /// retries succeed, and the congestion window slows down enough.
  static let unavailableToOpen = 32
  /// Minimum number of answers before the breaker opens. Fewer answers may be chance.
  static let minimumAnswers = 20

  /// Settings.
  public let limits: Limits
  /// Present state.
  public private(set) var state = State.closed
  /// Number of times that the breaker has opened, not counting failed trial pushes.
  public private(set) var openings = 0
  /// Latest 64 answers, the newest in the lowest bit; a bit is set for a 503.
  private var history: UInt64 = 0
  private var answers = 0
  private var wait: UInt64

  /// - Parameter limits: the settings.
  public init(limits: Limits = Limits()) {
    self.limits = limits
    wait = limits.firstWait
  }

  /// Records the result of a push.
  ///
  /// - Parameters:
  ///   - signal: the meaning of the result.
  ///   - tag: the tag of the push. While the breaker is not closed, only the trial push counts, because all others were
  ///     sent earlier.
  ///   - jitter: random, 0 to 1; half of a wait is random, so that the workers of a fleet do not continue at the same
  ///     moment.
  /// - Returns: whether the state changed.
  public mutating func record(_ signal: Signal, tag: UInt64, now: UInt64, jitter: Double) -> Bool {
    switch state {
    case .open: return false
    case .halfOpen(let trial):
      guard tag == trial else { return false }
      switch signal {
      case .answered: close()
      case .unavailable, .failed:
        wait = min(2 * wait, limits.longestWait)
        open(now, jitter)
      case .silent: open(now, jitter)
      }
      return true
    case .closed:
      guard signal != .silent else { return false }
      history = history << 1 | (signal == .unavailable ? 1 : 0)
      answers += 1
      guard signal == .unavailable, answers >= Self.minimumAnswers else { return false }
      guard history.nonzeroBitCount >= min(Self.unavailableToOpen, (answers + 1) / 2) else { return false }
      openings += 1
      wait = limits.firstWait
      open(now, jitter)
      return true
    }
  }

  /// Returns the nanoseconds until a push may be sent: 0 if the breaker is closed or a trial push is due, `nil` while a
  /// trial push is in flight.
  public func untilTrial(now: UInt64) -> UInt64? {
    switch state {
    case .closed: 0
    case .open(let until): until > now ? until - now : 0
    case .halfOpen: nil
    }
  }

  /// Records that a trial push is sent, whose result decides whether the breaker closes.
  public mutating func beginTrial(tag: UInt64) { state = .halfOpen(tag: tag) }

  private mutating func open(_ now: UInt64, _ jitter: Double) {
    state = .open(until: now + UInt64(Double(wait) * (0.5 + jitter / 2)))
  }

  private mutating func close() {
    state = .closed
    history = 0
    answers = 0
  }
}
