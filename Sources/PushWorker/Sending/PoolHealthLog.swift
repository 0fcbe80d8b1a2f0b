import PushTransport

/// What of a pool's state is worth telling, and when. Pure: time is an argument.
struct PoolHealthLog {
  /// Something to tell.
  enum Notice: Equatable {
    /// Connections could not be opened, or broke, since the last look; the text is the last one's.
    case failed(String)
    /// The service answers nearly everything with 503: sending is held back.
    case breakerOpened
    /// It does not any more.
    case breakerClosed
    /// How the connections are.
    case connections(PoolState)
  }

  /// Nanoseconds between two accounts of connections.
  static let interval: UInt64 = 60_000_000_000

  private var failures = 0
  private var breakerOpenings = 0
  private var isBreakerOpen = false
  private var told: PoolState?
  private var toldAt: UInt64 = 0

  /// Compares a pool with how it was at the last look.
  ///
  /// - Parameters:
  ///   - now: `EventLoop.now`.
  ///   - isLast: whether nobody will look again: then the connections are told of, if there ever were any.
  mutating func look(at state: PoolState, now: UInt64, isLast: Bool = false) -> [Notice] {
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
    // A pool that rests is told of once more when its last connection has closed, and then no more.
    let isOfInterest =
      state.open > 0 || state.inFlight > 0 || state.openings != told?.openings ?? 0 || told?.open ?? 0 > 0
    let isTime = told == nil || now - toldAt >= Self.interval
    if isOfInterest && isTime || isLast && state.openings > 0 {
      told = state
      toldAt = now
      notices.append(.connections(state))
    }
    return notices
  }
}
