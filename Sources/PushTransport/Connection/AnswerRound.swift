/// What became of pushes during one round trip of a ``CongestionWindow``. Pure.
struct AnswerRound: Sendable, Equatable {
  /// When it began, in monotonic nanoseconds.
  private(set) var began: UInt64 = 0
  /// Pushes on their way at most.
  private(set) var peak = 0
  /// The peer's stream limit kept pushes waiting.
  private(set) var isHeldBack = false
  private(set) var count = 0
  private(set) var accepted = 0
  private(set) var throttled = 0
  private(set) var busy = 0
  private(set) var failed = 0
  private var samples: [UInt64] = []
  /// Answers to pass over until the next sample.
  private var passing = 0

  /// Latencies that are kept of a round: with so many, the median of the same answers varies by a tenth.
  private static let sampleCount = 32

  /// Forgets everything, and begins anew.
  mutating func restart(_ now: UInt64) {
    began = now
    peak = 0
    isHeldBack = false
    count = 0
    accepted = 0
    throttled = 0
    busy = 0
    failed = 0
    samples.removeAll(keepingCapacity: true)
    passing = 0
  }

  /// Takes note of what became of one push.
  ///
  /// - Parameters:
  ///   - latency: from sending to answer, in nanoseconds.
  ///   - inFlight: pushes handed over and not answered at that time.
  ///   - waiting: of them, those that the connection had not begun to send.
  ///   - width: of the window, which is about how many answers the round will have.
  mutating func note(
    _ signal: CongestionWindow.Signal, latency: UInt64, inFlight: Int, waiting: Int, width: Double
  ) {
    count += 1
    if inFlight - waiting > peak { peak = inFlight - waiting }
    if waiting > 0 { isHeldBack = true }
    switch signal {
    case .accepted: accepted += 1
    case .rejected: break
    case .throttled: throttled += 1
    case .busy: busy += 1
    // A push without an answer took no time that would mean anything.
    case .failed:
      failed += 1
      return
    }
    guard passing == 0 else {
      passing -= 1
      return
    }
    guard samples.count < 2 * Self.sampleCount else { return }
    samples.append(latency)
    passing = Int(width) / Self.sampleCount
  }

  /// The median of what answers took, in nanoseconds: neither a few that stall nor a burst read late move it. `nil`
  /// without an answer.
  mutating func median() -> UInt64? {
    guard !samples.isEmpty else { return nil }
    samples.sort()
    return samples[samples.count / 2]
  }
}
