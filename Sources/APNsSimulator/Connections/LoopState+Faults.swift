/// What becomes of a request that was received and judged.
enum RequestFate {
  case answered
  case withheld
  case reset
  /// It is answered, and the connection closed.
  case answeredLast
  /// The connection is broken off instead.
  case cut
}

/// Which faults are due.
extension LoopState {
  /// The injected error that the next acceptable request gets, if any.
  ///
  /// - Parameter token: in lower-case hex.
  func nextFailure(for token: [UInt8]) -> SimulatorKnobs.Failure? {
    if !knobs.tokenFailures.isEmpty, let failure = shared.tokenFailures.take(token) {
      note(.tokenFailures)
      return SimulatorKnobs.Failure(share: 0, status: failure.status, reason: failure.reason)
    }
    if knobs.failures.isEmpty { return nil }
    if shares.failures.count != knobs.failures.count {
      shares.failures = Array(repeating: EvenShare(), count: knobs.failures.count)
    }
    var due: SimulatorKnobs.Failure?
    for (index, failure) in knobs.failures.enumerated() {
      if due == nil {
        if shares.failures[index].isDue(failure.share) { due = failure }
      } else {
        shares.failures[index].postpone(failure.share)
      }
    }
    return due
  }

  /// The reason for a token that gets more than it may, if that is limited.
  ///
  /// - Parameter token: in lower-case hex.
  func excess(for token: [UInt8]) -> Reason? {
    guard knobs.tokenBurst > 0, !token.isEmpty else { return nil }
    let isAllowed = shared.tokenRates.take(
      token, burst: knobs.tokenBurst, refill: knobs.tokenRefillMilliseconds, now: Self.milliseconds)
    if isAllowed { return nil }
    note(.tokenBurst)
    return .tooManyRequests
  }

  /// Decides and counts what happens to a request that was received, and to its connection with it.
  ///
  /// - Parameter number: of the request on its connection, from 1.
  func nextFate(onConnection number: Int) -> RequestFate {
    if knobs.resetAfterRequests > 0, number >= knobs.resetAfterRequests {
      note(.resetAfterRequests)
      return .cut
    }
    if knobs.closeAfterRequests > 0, number >= knobs.closeAfterRequests {
      note(.closeAfterRequests)
      return .answeredLast
    }
    if shares.reset.isDue(knobs.resetShare) {
      note(.resetShare)
      return .reset
    }
    if shares.withheld.isDue(knobs.withheldShare) {
      note(.withheldShare)
      return .withheld
    }
    return .answered
  }
}
