import APNs

/// What a storm in one place must not do to campaigns that go elsewhere: they need the window, and room among the slices
/// in hand.
extension PushWorker {
  /// ms for which a slice is set aside that could only wait. Short, as nobody tells when a storm is over, and longer than
  /// it takes to go through all slices of a campaign.
  static let stormPause = 5000

  /// Whether a slice is better set aside than begun: those in hand are enough to find out when the storm is over.
  func isHeldBack(by pool: ConnectionPool) -> Bool {
    pool.isInStorm && slots.contains { $0?.context.pool === pool }
  }

  /// Takes back what waits for a pool in a storm, but for one push of each slice, with which it may be tried.
  func relieveStorms() {
    for case let run? in slots where run.intent == .send && run.unanswered > 1 && run.context.pool.isInStorm {
      let base = run.tagBase
      var isFirst = true
      let unsent = run.context.pool.cancelBacklog { tag in
        guard tag & ~0xffff_ffff == base else { return false }
        defer { isFirst = false }
        return !isFirst
      }
      takeBack(run, unsent)
      run.wake()
    }
  }
}
