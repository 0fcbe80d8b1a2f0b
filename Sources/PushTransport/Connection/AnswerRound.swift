/// Results of the pushes in one round. A round is about one round trip, after which a ``CongestionWindow`` adapts its
/// width. The type does no I/O.
struct AnswerRound: Sendable, Equatable {
  /// Beginning of the round, in monotonic nanoseconds.
  private(set) var began: UInt64 = 0
  /// Maximum number of pushes that were in flight at the same time in this round.
  private(set) var peak = 0
  /// Whether the peer's stream limit kept pushes waiting.
  private(set) var isHeldBack = false
  private(set) var count = 0
  private(set) var accepted = 0
  private(set) var throttled = 0
  private(set) var busy = 0
  private(set) var failed = 0
  private var samples: [UInt64] = []
  /// Number of answers to skip before the next latency is stored.
  private var passing = 0

  /// Number of latencies to store for a round. At most twice this number are stored. With this number, the median of
  /// the stored latencies usually lies between the 40th and the 60th percentile of all latencies.
  private static let sampleCount = 32

  /// Clears all counts and begins a new round.
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

  /// Records the result of one push.
  ///
  /// - Parameters:
  ///   - latency: time from sending to the answer, in nanoseconds.
  ///   - inFlight: number of pushes that the connection had been given and that were not answered when the result was
  ///     seen.
  ///   - waiting: number of these pushes that the connection had not begun to send.
  ///   - width: width of the window, which is about the number of answers in the round.
  mutating func record(
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
    // A push without an answer has no meaningful latency.
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

  /// Returns the median latency of the answers in nanoseconds; `nil` without an answer. Neither a few stalled answers
  /// nor a burst that is read late change the median much.
  mutating func median() -> UInt64? {
    guard !samples.isEmpty else { return nil }
    samples.sort()
    return samples[samples.count / 2]
  }
}
