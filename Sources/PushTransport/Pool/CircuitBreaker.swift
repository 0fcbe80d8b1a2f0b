internal import PushCore

/// Stops sending while the service answers nearly everything with 503, and finds out when it has recovered. Pure: time and
/// chance are arguments.
///
///     closed ──half of the latest answers are 503──► open ──wait is over, one push is taken──► half-open
///       ▲                                             ▲                                          │ │
///       └───────────answered with anything but 5xx────┼──────────────────────────────────────────┘ │
///                                                     └─────5xx: twice the wait; no answer: the same┘
///
/// Only 503 `ServiceUnavailable` and those without a reason count (reference 5.3: back off globally if their rate rises).
/// A 429 concerns one device, a 500 may lie with what is in the push, and 503 `Shutdown` is said by one server that stops,
/// after which its connection is replaced.
public struct CircuitBreaker: Sendable, Equatable {
  /// What the breaker lets through.
  public enum State: Sendable, Equatable {
    /// Everything.
    case closed
    /// Nothing until then, in monotonic nanoseconds.
    case open(until: UInt64)
    /// One push, with this tag, is on its way.
    case halfOpen(tag: UInt64)

    /// For logs.
    public var name: String {
      switch self {
      case .closed: "closed"
      case .open: "open"
      case .halfOpen: "half-open"
      }
    }
  }

  /// The numbers of a breaker.
  public struct Limits: Sendable, Equatable {
    /// Nanoseconds before the first trial push, before jitter; doubles with every one that fails.
    public var firstWait: UInt64
    /// The longest wait between trial pushes, before jitter.
    public var longestWait: UInt64

    /// Defaults: restarts behind a load balancer take seconds; and where it lasts for hours, one push a minute costs the service
    /// and the campaign's attempts next to nothing, and recovery is noticed within the minute.
    public init(firstWait: UInt64 = 2_000_000_000, longestWait: UInt64 = 60_000_000_000) {
      self.firstWait = firstWait
      self.longestWait = longestWait
    }
  }

  /// What the end of a push says about the service.
  public enum Signal: Sendable, Equatable {
    /// An answer that is no 5xx.
    case answered
    /// 503 by which the service as a whole takes no more.
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
      case 503 where service.isUnavailable(answer): self = .unavailable
      case 500..<600: self = .failed
      default: self = .answered
      }
    }
  }

  /// So many of the latest 64 answers must be 503: with less than half of them, what is tried again gets through, and the
  /// congestion window slows down enough.
  static let unavailableToOpen = 32
  /// Of a pool that has heard less than 64 answers, so many at least: a handful says little.
  static let leastAnswers = 20

  /// The numbers in force.
  public let limits: Limits
  /// What is let through now.
  public private(set) var state = State.closed
  /// How often it has opened; failed trial pushes aside.
  public private(set) var openings = 0
  /// The latest 64 answers, the newest in the lowest bit; set where it was a 503.
  private var history: UInt64 = 0
  private var answers = 0
  private var wait: UInt64

  /// - Parameter limits: the numbers.
  public init(limits: Limits = Limits()) {
    self.limits = limits
    wait = limits.firstWait
  }

  /// Takes note of what became of a push.
  ///
  /// - Parameters:
  ///   - signal: what it says.
  ///   - tag: of the push; while the breaker is not closed nothing but the trial push counts, the rest was sent before.
  ///   - jitter: random, 0 to 1; half of a wait is chance, so that a fleet doesn't come back in one moment.
  /// - Returns: whether the state has changed.
  public mutating func note(_ signal: Signal, tag: UInt64, now: UInt64, jitter: Double) -> Bool {
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
      guard signal == .unavailable, answers >= Self.leastAnswers else { return false }
      guard history.nonzeroBitCount >= min(Self.unavailableToOpen, (answers + 1) / 2) else { return false }
      openings += 1
      wait = limits.firstWait
      open(now, jitter)
      return true
    }
  }

  /// Nanoseconds until the next trial push may be sent: 0 for now, `nil` while one is on its way.
  public func untilTrial(now: UInt64) -> UInt64? {
    switch state {
    case .closed: 0
    case .open(let until): until > now ? until - now : 0
    case .halfOpen: nil
    }
  }

  /// A push is sent to find out whether an open breaker may close.
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
