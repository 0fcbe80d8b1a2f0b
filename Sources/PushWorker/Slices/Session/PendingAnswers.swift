/// Everything that a held slice waits for: answers of the push service, decisions of the guard, and acknowledgements of
/// Redis.
struct PendingAnswers {
  /// Pushes that were passed to the pool and have no answer.
  var unanswered = 0
  /// Time at which the oldest of these pushes may have been composed, by `EventLoop.now`.
  var composedAt: UInt64 = 0
  /// Answers that wait for the decision of the campaign's guard. Their targets are still in flight and keep their
  /// credit.
  var deferred: [DeferredAnswer] = []
  /// Outcomes that Redis has not recorded yet.
  var outcomes = OutcomeQueue()
}
