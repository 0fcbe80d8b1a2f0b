/// The knobs that APNs and FCM have in common: delays and lost answers. A knob is a setting of the simulator that can
/// change while it runs.
protocol ExchangeKnobs {
  var latencyMilliseconds: Int { get }
  var latencySpreadMilliseconds: Int { get }
  var stallShare: Double { get }
  var stallMilliseconds: Int { get }
  var refusedShare: Double { get }
  var resetShare: Double { get }
  var withheldShare: Double { get }
  var resetAfterRequests: Int { get }
  var closeAfterRequests: Int { get }
  var silentAfterRequests: Int { get }
}

extension SimulatorKnobs: ExchangeKnobs {}

/// The outcome of a request that was received and checked.
enum RequestOutcome {
  case answered
  case withheld
  case reset
  /// The request is answered, and then the connection is closed.
  case answeredLast
  /// Instead of an answer, the connection is reset.
  case cut
  /// Instead of an answer, the connection becomes silent.
  case silenced

  /// Whether the request gets its answer.
  var isAnswered: Bool { self == .answered || self == .answeredLast }

  /// The end of the connection after the request; `nil` if it stays open.
  var cut: ConnectionCut? {
    switch self {
    case .answered, .withheld, .reset: nil
    case .answeredLast: .finish
    case .cut: .reset
    case .silenced: .silence
    }
  }
}

/// Selects the faults of ``ExchangeKnobs`` that are due, for one push service on one event loop. The functions call
/// `count` for each fault that fires.
struct ExchangeFaults {
  /// The values of ``ExchangeKnobs``. A copy of the knobs would cost more: they also contain lists and texts, whose
  /// references would be counted for each request.
  private struct Values {
    let latencyMilliseconds, latencySpreadMilliseconds: Int
    let stallShare: Double
    let stallMilliseconds: Int
    let refusedShare, resetShare, withheldShare: Double
    let resetAfterRequests, closeAfterRequests, silentAfterRequests: Int

    init(_ knobs: some ExchangeKnobs) {
      latencyMilliseconds = knobs.latencyMilliseconds
      latencySpreadMilliseconds = knobs.latencySpreadMilliseconds
      stallShare = knobs.stallShare
      stallMilliseconds = knobs.stallMilliseconds
      refusedShare = knobs.refusedShare
      resetShare = knobs.resetShare
      withheldShare = knobs.withheldShare
      resetAfterRequests = knobs.resetAfterRequests
      closeAfterRequests = knobs.closeAfterRequests
      silentAfterRequests = knobs.silentAfterRequests
    }

    /// Whether a knob is set.
    var isAnySet: Bool {
      latencyMilliseconds > 0 || latencySpreadMilliseconds > 0 || stallShare > 0 || refusedShare > 0 || resetShare > 0
        || withheldShare > 0 || resetAfterRequests > 0 || closeAfterRequests > 0 || silentAfterRequests > 0
    }
  }

  /// Whether a knob is set. If not, all requests are answered immediately, and the caller need not call the functions
  /// below.
  let isActive: Bool
  private let knobs: Values
  private var refused = EvenShare()
  private var reset = EvenShare()
  private var withheld = EvenShare()
  private var stalled = EvenShare()

  init(_ knobs: some ExchangeKnobs) {
    self.knobs = Values(knobs)
    isActive = self.knobs.isAnySet
  }

  /// Returns whether the next request is refused before any processing.
  mutating func refuses(count: (FaultKind) -> Void) -> Bool {
    guard refused.isDue(knobs.refusedShare) else { return false }
    count(.refusedShare)
    return true
  }

  /// Returns the delay of the next answer in milliseconds.
  mutating func latency(random generator: inout SplitMix64, count: (FaultKind) -> Void) -> Int {
    var latency = knobs.latencyMilliseconds
    if knobs.latencySpreadMilliseconds > 0 {
      // The sum of twelve uniform numbers has a variance of one. It approximates a normal distribution well enough for
      // a latency.
      let sum = (0..<12).reduce(-6.0) { sum, _ in sum + Double.random(in: 0..<1, using: &generator) }
      latency = max(0, latency + Int(sum * Double(knobs.latencySpreadMilliseconds)))
    }
    if stalled.isDue(knobs.stallShare) {
      count(.stallShare)
      latency += knobs.stallMilliseconds
    }
    return latency
  }

  /// Decides the outcome of a received request and of its connection.
  ///
  /// - Parameter number: number of the request on its connection, from 1.
  mutating func outcome(onConnection number: Int, count: (FaultKind) -> Void) -> RequestOutcome {
    if knobs.resetAfterRequests > 0, number >= knobs.resetAfterRequests {
      count(.resetAfterRequests)
      return .cut
    }
    if knobs.silentAfterRequests > 0, number >= knobs.silentAfterRequests {
      count(.silentAfterRequests)
      return .silenced
    }
    if knobs.closeAfterRequests > 0, number >= knobs.closeAfterRequests {
      count(.closeAfterRequests)
      return .answeredLast
    }
    if reset.isDue(knobs.resetShare) {
      count(.resetShare)
      return .reset
    }
    if withheld.isDue(knobs.withheldShare) {
      count(.withheldShare)
      return .withheld
    }
    return .answered
  }
}
