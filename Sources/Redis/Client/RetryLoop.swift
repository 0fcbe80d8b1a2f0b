/// Repeats attempts to connect, with a pause between two attempts.
enum RetryLoop {
  /// Starts a task that makes attempts, the first one after `delay`.
  ///
  /// - Parameter attempt: makes one attempt. Returns the pause before the next attempt; `nil` ends the task.
  static func start(
    after delay: Duration, _ attempt: @escaping @Sendable () async -> Duration?
  ) -> Task<Void, Never> {
    Task {
      var pause: Duration? = delay
      while let wait = pause {
        if wait > .zero { try? await Task.sleep(for: wait) }
        if Task.isCancelled { return }
        pause = await attempt()
      }
    }
  }
}
