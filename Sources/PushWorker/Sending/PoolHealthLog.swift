import PushTransport

/// Decides which changes of a pool's state are logged, and when. Pure: time is an argument.
struct PoolHealthLog {
  /// A change to log.
  enum Notice: Equatable {
    /// Connections could not be opened, or broke, since the last check. The text is the latest error.
    case failed(String)
    /// The circuit breaker has opened: the service answers nearly everything with server errors, so only trial pushes
    /// are sent.
    case breakerOpened
    /// The circuit breaker has closed.
    case breakerClosed
    /// The state of the connections.
    case connections(PoolState)
  }

  /// Minimum time between two reports on connections, in ns.
  static let interval: UInt64 = 60_000_000_000

  private var failures = 0
  private var breakerOpenings = 0
  private var isBreakerOpen = false
  private var logged: PoolState?
  private var loggedAt: UInt64 = 0

  /// Compares a pool with its state at the last check.
  ///
  /// - Parameters:
  ///   - now: `EventLoop.now`.
  ///   - isLast: Whether this is the last check. The last check reports the connections of every pool that has had any.
  mutating func check(at state: PoolState, now: UInt64, isLast: Bool = false) -> [Notice] {
    var notices: [Notice] = []
    if state.failures > failures, let error = state.lastError { notices.append(.failed(error)) }
    failures = state.failures
    if state.breakerOpenings > breakerOpenings {
      breakerOpenings = state.breakerOpenings
      isBreakerOpen = true
      notices.append(.breakerOpened)
    }
    if isBreakerOpen, state.breaker == .closed {
      isBreakerOpen = false
      notices.append(.breakerClosed)
    }
    // When the last connection of an idle pool has closed, the pool is reported one more time.
    let isOfInterest =
      state.open > 0 || state.inFlight > 0 || state.openings != logged?.openings ?? 0 || logged?.open ?? 0 > 0
    let isTime = logged == nil || now - loggedAt >= Self.interval
    if isOfInterest && isTime || isLast && state.openings > 0 {
      logged = state
      loggedAt = now
      notices.append(.connections(state))
    }
    return notices
  }
}
