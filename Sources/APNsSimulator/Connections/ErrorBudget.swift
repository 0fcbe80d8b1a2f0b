/// The error points of the sender on one connection. Each rejected request adds points. APNs disconnects after "too
/// many errors", and sooner for some kinds of errors (Apple, "Handling notification responses from APNs"). Apple does
/// not publish the numbers.
struct ErrorBudget {
  /// Number of points that an accepted request removes. A sender with one rejection in a hundred requests never uses up
  /// the budget.
  private static let pointsPerAcceptance = 0.01

  private var points = 0.0

  mutating func accepted() { points = max(0, points - Self.pointsPerAcceptance) }

  mutating func rejected(_ weight: Int) { points += Double(weight) }

  /// Returns whether `budget` points are used up. A budget of 0 has no limit.
  func isSpent(_ budget: Int) -> Bool { budget > 0 && points >= Double(budget) }
}
