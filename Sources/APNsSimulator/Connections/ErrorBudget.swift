/// Error points of a connection's sender. APNs disconnects after "too many errors", and sooner for some kinds of errors
/// (Apple, "Handling notification responses from APNs"). Apple does not publish the numbers.
struct ErrorBudget {
  /// Number of points that an acceptance removes. With one rejection in a hundred requests, the connection never ends.
  private static let pointsPerAcceptance = 0.01

  private var points = 0.0

  mutating func accepted() { points = max(0, points - Self.pointsPerAcceptance) }

  mutating func rejected(_ weight: Int) { points += Double(weight) }

  /// Returns whether `budget` points are used up. A budget of 0 has no limit.
  func isSpent(_ budget: Int) -> Bool { budget > 0 && points >= Double(budget) }
}
