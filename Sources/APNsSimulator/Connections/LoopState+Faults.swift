/// The outcome of a request that was received and judged.
enum RequestFate {
  case answered
  case withheld
  case reset
  /// The request is answered, and then the connection is closed.
  case answeredLast
  /// The connection is reset instead of an answer.
  case cut
  /// The connection becomes silent instead of an answer.
  case silenced
}

/// Selection of the faults that are due.
extension LoopState {
  /// Returns the injected error of the next acceptable request, if any.
  ///
  /// - Parameters:
  ///   - token: in lower-case hex.
  ///   - parcel: the other values of the push, if a knob needs them.
  func nextFailure(for token: [UInt8], _ parcel: Parcel?) -> SimulatorKnobs.Failure? {
    if !knobs.tokenFailures.isEmpty, let failure = shared.tokenFailures.take(token) {
      note(.tokenFailures)
      return SimulatorKnobs.Failure(share: 0, status: failure.status, reason: failure.reason)
    }
    if knobs.failures.isEmpty { return nil }
    if shares.failures.count != knobs.failures.count {
      shares.failures = Array(repeating: EvenShare(), count: knobs.failures.count)
    }
    var due: SimulatorKnobs.Failure?
    for (index, failure) in knobs.failures.enumerated() where failure.concerns(token, parcel) {
      if due == nil {
        if shares.failures[index].isDue(failure.share) { due = failure }
      } else {
        shares.failures[index].postpone(failure.share)
      }
    }
    return due
  }

  /// Returns the reason if the token exceeds its rate limit; `nil` without a limit.
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

  /// Returns whether an accepted connection is reset immediately, and counts it.
  func refusesConnection(from descriptor: Int32) -> Bool {
    if shares.connects.isDue(knobs.connectResetShare) {
      note(.connectResetShare)
      return true
    }
    guard knobs.connectsPerMinute > 0 else { return false }
    let address = PeerAddress.text(of: descriptor)
    if shared.connectRates.admit(address, limit: knobs.connectsPerMinute, now: Self.milliseconds) { return false }
    note(.connectsPerMinute)
    return true
  }

  /// Returns the delay of the next answer in milliseconds.
  func nextLatency() -> Int {
    var latency = knobs.latencyMilliseconds
    if knobs.latencySpreadMilliseconds > 0 {
      // The sum of twelve uniform numbers has a variance of one. It approximates a normal distribution well enough for
      // a latency.
      let sum = (0..<12).reduce(-6.0) { sum, _ in sum + Double.random(in: 0..<1, using: &generator) }
      latency = max(0, latency + Int(sum * Double(knobs.latencySpreadMilliseconds)))
    }
    if shares.stalled.isDue(knobs.stallShare) {
      note(.stallShare)
      latency += knobs.stallMilliseconds
    }
    return latency
  }

  /// Decides the outcome of a received request and of its connection, and counts it.
  ///
  /// - Parameter number: number of the request on its connection, from 1.
  func nextFate(onConnection number: Int) -> RequestFate {
    if knobs.resetAfterRequests > 0, number >= knobs.resetAfterRequests {
      note(.resetAfterRequests)
      return .cut
    }
    if knobs.silentAfterRequests > 0, number >= knobs.silentAfterRequests {
      note(.silentAfterRequests)
      return .silenced
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

extension SimulatorKnobs.Failure {
  /// Returns whether the injected error applies to the request.
  fileprivate func concerns(_ token: [UInt8], _ parcel: Parcel?) -> Bool {
    (tokenPrefix.isEmpty || token.starts(with: tokenPrefix.utf8))
      && (topic.isEmpty || parcel?.topic.elementsEqual(topic.utf8) ?? false)
  }
}
