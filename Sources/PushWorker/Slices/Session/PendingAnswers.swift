/// What a slice in hand waits for: answers of the push service, the guard, and records in Redis.
struct PendingAnswers {
  /// Pushes handed to the pool and not answered.
  var unanswered = 0
  /// Answers that the campaign's guard defers. Their targets are still under way, and their credit is still lent.
  var deferred: [DeferredAnswer] = []
  /// Outcomes that Redis does not know yet.
  var outcomes = OutcomeQueue()
}
