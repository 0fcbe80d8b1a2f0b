/// Which errors on a connection are more than noise, by their share of some sixty recent pushes: one of a few says little.
/// Pure.
struct ErrorShares: Sendable, Equatable {
  private var throttled = 0.0
  private var busy = 0.0
  private var failed = 0.0

  /// A round of so many pushes or more counts alone.
  private static let memory = 64.0
  /// What is noise: of 429, single devices that got too much; of 5xx, single requests; of pushes without an answer,
  /// whatever it is, as no window is narrow enough to prevent it.
  private static let noise = (throttled: 0.25, busy: 0.03, failed: 0.1)

  /// The share of a round's pushes that met errors which are more than noise, 0 to 1.
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
      // What was sent before the peer's limit was known to have fallen is refused.
      + average(&failed, round.isHeldBack ? 0 : round.failed, noise: Self.noise.failed)
    return Double(errors) / count
  }
}
