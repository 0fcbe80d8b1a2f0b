import Redis

extension RedisOptions {
  /// For tests that are not about time: no loaded machine makes them fail.
  static func unhurried(backoff: Backoff = Backoff()) -> RedisOptions {
    RedisOptions(
      connectTimeout: .seconds(60), answerTimeout: .seconds(60), patience: .seconds(60), backoff: backoff)
  }
}
