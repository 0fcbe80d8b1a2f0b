/// What becomes of a request that was received and judged.
enum RequestFate {
  case answered
  case withheld
  case reset
  /// It is answered, and the connection closed.
  case answeredLast
  /// The connection is broken off instead.
  case cut
  /// The connection falls silent instead.
  case silenced
}

/// Which faults are due.
extension LoopState {
  /// The injected error that the next acceptable request gets, if any.
  ///
  /// - Parameters:
  ///   - token: in lower-case hex.
  ///   - parcel: the rest, where it is wanted.
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

  /// Whether a connection that was accepted is reset at once; counted.
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

  /// How long the next answer waits, in milliseconds.
  func nextLatency() -> Int {
    var latency = knobs.latencyMilliseconds
    if knobs.latencySpreadMilliseconds > 0 {
      // The sum of twelve has a variance of one, and is as normal as an answer's latency ever is.
      let sum = (0..<12).reduce(-6.0) { sum, _ in sum + Double.random(in: 0..<1, using: &generator) }
      latency = max(0, latency + Int(sum * Double(knobs.latencySpreadMilliseconds)))
    }
    if shares.stalled.isDue(knobs.stallShare) {
      note(.stallShare)
      latency += knobs.stallMilliseconds
    }
    return latency
  }

  /// Decides and counts what happens to a request that was received, and to its connection with it.
  ///
  /// - Parameter number: of the request on its connection, from 1.
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
  /// Whether a request may get it at all.
  fileprivate func concerns(_ token: [UInt8], _ parcel: Parcel?) -> Bool {
    (tokenPrefix.isEmpty || token.starts(with: tokenPrefix.utf8))
      && (topic.isEmpty || parcel?.topic.elementsEqual(topic.utf8) ?? false)
  }
}
