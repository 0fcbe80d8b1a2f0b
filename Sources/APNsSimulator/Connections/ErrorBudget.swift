/// How much a connection's sender has erred: "too many errors" disconnect, sooner for some kinds (Apple, "Handling
/// notification responses from APNs"). How many is not published.
struct ErrorBudget {
  /// Points that an acceptance takes off: at one rejection in a hundred the connection lives for ever.
  private static let repayment = 0.01

  private var points = 0.0

  mutating func accepted() { points = max(0, points - Self.repayment) }

  mutating func rejected(_ weight: Int) { points += Double(weight) }

  /// Whether `budget` points are used up; never when it is 0.
  func isSpent(_ budget: Int) -> Bool { budget > 0 && points >= Double(budget) }
}
