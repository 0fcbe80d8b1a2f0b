/// Selects the injected faults that are due on one event loop.
extension LoopState {
  /// Returns the injected error of the next acceptable request, if any.
  ///
  /// - Parameters:
  ///   - token: in lower-case hex.
  ///   - details: the topic and other values of the push; `nil` if no knob needs them.
  func nextFailure(for token: [UInt8], _ details: PushDetails?) -> SimulatorKnobs.Failure? {
    if !knobs.tokenFailures.isEmpty, let failure = shared.tokenFailures.take(token) {
      count(.tokenFailures)
      return SimulatorKnobs.Failure(share: 0, status: failure.status, reason: failure.reason)
    }
    if knobs.failures.isEmpty { return nil }
    if shares.failures.count != knobs.failures.count {
      shares.failures = Array(repeating: EvenShare(), count: knobs.failures.count)
    }
    var due: SimulatorKnobs.Failure?
    for (index, failure) in knobs.failures.enumerated() where failure.concerns(token, details) {
      if due == nil {
        if shares.failures[index].isDue(failure.share) { due = failure }
      } else {
        shares.failures[index].postpone(failure.share)
      }
    }
    return due
  }

  /// Returns the reason of the rejection if the token exceeds its rate limit; `nil` otherwise.
  ///
  /// - Parameter token: in lower-case hex.
  func excess(for token: [UInt8]) -> Reason? {
    guard knobs.tokenBurst > 0, !token.isEmpty else { return nil }
    let isAllowed = shared.tokenRates.take(
      token, burst: knobs.tokenBurst, refill: knobs.tokenRefillMilliseconds, now: Self.milliseconds)
    if isAllowed { return nil }
    count(.tokenBurst)
    return .tooManyRequests
  }

  /// Returns whether an accepted connection is reset immediately. If so, counts the fault.
  func refusesConnection(from descriptor: Int32) -> Bool {
    if shares.connects.isDue(knobs.connectResetShare) {
      count(.connectResetShare)
      return true
    }
    guard knobs.connectsPerMinute > 0 else { return false }
    let address = PeerAddress.text(of: descriptor)
    if shared.connectRates.admit(address, limit: knobs.connectsPerMinute, now: Self.milliseconds) { return false }
    count(.connectsPerMinute)
    return true
  }

  /// Returns the delay of the next answer in milliseconds.
  func nextLatency() -> Int {
    shares.exchange.isActive ? shares.exchange.latency(random: &generator) { count($0) } : 0
  }

  /// Decides the outcome of a received request and of its connection, and counts a fault.
  ///
  /// - Parameter number: number of the request on its connection, from 1.
  func nextOutcome(onConnection number: Int) -> RequestOutcome {
    shares.exchange.isActive ? shares.exchange.outcome(onConnection: number) { count($0) } : .answered
  }

  /// Returns whether the next request is refused before any processing. If so, counts the fault.
  func refusesRequest() -> Bool { shares.exchange.isActive && shares.exchange.refuses { count($0) } }
}

extension SimulatorKnobs.Failure {
  /// Returns whether the injected error applies to the request.
  fileprivate func concerns(_ token: [UInt8], _ details: PushDetails?) -> Bool {
    (tokenPrefix.isEmpty || token.starts(with: tokenPrefix.utf8))
      && (topic.isEmpty || details?.topic.elementsEqual(topic.utf8) ?? false)
  }
}
