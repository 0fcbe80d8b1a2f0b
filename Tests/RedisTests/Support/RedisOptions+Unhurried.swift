import Redis

extension RedisOptions {
  /// Returns options with long timeouts, so that a loaded machine does not fail tests that are not about time.
  static func unhurried(backoff: Backoff = Backoff()) -> RedisOptions {
    RedisOptions(
      connectTimeout: .seconds(60), answerTimeout: .seconds(60), waitTimeout: .seconds(60), backoff: backoff)
  }
}
