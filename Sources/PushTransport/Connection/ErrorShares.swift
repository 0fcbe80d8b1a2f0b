/// Shares of errors in about sixty recent pushes of a connection. They distinguish real problems from single errors.
struct ErrorShares: Sendable, Equatable {
  private var throttled = 0.0
  private var busy = 0.0
  private var failed = 0.0

  /// Number of pushes in a round above which earlier rounds no longer count.
  private static let memory = 64.0
  /// Share of each kind of error that is ignored. A 429 may concern a single device, and a 5xx a single request. A
  /// missing answer may have any cause, and a narrower window would not always prevent it.
  private static let noise = (throttled: 0.25, busy: 0.03, failed: 0.1)

  /// Records a round. Returns the share of the round's pushes with errors, 0 to 1. Only those kinds of errors count
  /// whose recent share is above ``noise``.
  mutating func add(_ round: AnswerRound) -> Double {
    let count = Double(max(1, round.count))
    let weight = min(1, count / Self.memory)
    func average(_ average: inout Double, _ errors: Int, noise: Double) -> Int {
      average += (Double(errors) / count - average) * weight
      return average > noise ? errors : 0
    }
    let errors =
      average(&throttled, round.throttled, noise: Self.noise.throttled)
      + average(&busy, round.busy, noise: Self.noise.busy)
      // While the peer's stream limit holds pushes back, failures do not count. The peer also refuses pushes that were
      // sent before the client knew that the peer had lowered the limit.
      + average(&failed, round.isHeldBack ? 0 : round.failed, noise: Self.noise.failed)
    return Double(errors) / count
  }
}
