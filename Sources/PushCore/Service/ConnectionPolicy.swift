/// Limits of a push service for its connections: pushes in flight, age, PINGs and growth of the pool. Durations are in
/// nanoseconds.
///
/// The defaults are the most careful values, and APNs uses them.
public struct ConnectionPolicy: Sendable, Equatable {
  /// Number of pushes that a new connection may have in flight at first.
  public enum Start: Sendable, Equatable {
    /// One push, until the service has accepted this push. APNs requires this of a connection with a provider token
    /// (Apple, "Establishing a token-based connection to APNs").
    case onePush
    /// As many pushes as the window, the service's SETTINGS and ``ConnectionPolicy/maximumStreams`` allow.
    case fullWindow
  }

  /// When a pool opens its second and further connections.
  public enum Growth: Sendable, Equatable {
    /// The pool opens connections as soon as there are pushes to send.
    case immediate
    /// The pool opens a connection when all streams of the open connections are busy and latency does not rise. While
    /// latency rises, another connection would only lengthen the service's queue.
    case whenBusy
  }

  /// Number of pushes that a new connection may have in flight at first.
  public var start = Start.onePush
  /// When a pool opens its second and further connections.
  public var growth = Growth.immediate
  /// Maximum number of streams on a connection, even if the service's SETTINGS allow more; at least 1. APNs allows 1000
  /// on a connection that it trusts (measured from 2021 on).
  public var maximumStreams = 1000
  /// Whether pushes that will probably be rejected use a separate connection (``PushBatch/isUnproven``). A separate
  /// connection is useful if the service limits a connection after a rejection.
  public var hasUnprovenConnection = true
  /// Age at which a connection takes no more pushes and another one replaces it; `nil` for no limit. The old connection
  /// completes its pushes in flight.
  public var maximumAge: UInt64?
  /// Largest share, 0 to 1, by which ``maximumAge`` is shortened at random, so that connections are not replaced at the
  /// same time.
  public var ageSpread = 0.1
  /// Time without a push in flight after which a connection is closed; `nil` to keep it open.
  public var idleClose: UInt64?
  /// Maximum number of PINGs since the last request on a connection; `nil` for no limit.
  public var maximumPings: Int?
  /// Minimum time for which the worker waits for an answer, even if the worker's configuration sets a shorter time.
  /// After a shorter wait, the worker would repeat pushes that the service is still processing.
  public var minimumAnswerTimeout: UInt64 = 0

  /// Creates the policy with all defaults.
  public init() {}

  /// Returns the time at which a connection takes no more pushes.
  ///
  /// - Parameters:
  ///   - openedAt: time of its opening, in monotonic nanoseconds.
  ///   - chance: random, 0 to 1.
  public func expiry(openedAt: UInt64, chance: Double) -> UInt64 {
    guard let maximumAge else { return .max }
    return openedAt + UInt64(Double(maximumAge) * (1 - ageSpread * chance))
  }

  /// Shorter time of ``maximumAge`` and ``idleClose``; `nil` if neither is set. The worker checks connections at
  /// shorter intervals than this time.
  public var shortestLimit: UInt64? {
    [maximumAge, idleClose].compactMap { $0 }.min()
  }
}
