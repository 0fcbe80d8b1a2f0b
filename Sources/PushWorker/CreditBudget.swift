/// The worker's window: how many targets it may have granted without a recorded answer, over all its slices.
///
/// Credit is lent to slices and comes back only when an answer is recorded, so what is in doubt when the worker dies is
/// never more than the window.
struct CreditBudget: Equatable {
  let window: Int
  private(set) var lent = 0

  init(window: Int) {
    self.window = window
  }

  /// What can still be lent.
  var free: Int { max(0, window - lent) }

  mutating func lend(_ amount: Int) {
    lent += amount
  }

  mutating func giveBack(_ amount: Int) {
    lent -= amount
    assert(lent >= 0, "credit came back that was never lent")
  }
}
