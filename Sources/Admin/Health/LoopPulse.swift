import Synchronization

/// Whether something answers in time; who never answers is left waiting.
enum LoopPulse {
  /// - Returns: whether `body` has returned within `limit`.
  static func turns(within limit: Duration, _ body: @escaping @Sendable () async -> Void) async -> Bool {
    await withCheckedContinuation { continuation in
      let waiter = Mutex<CheckedContinuation<Bool, Never>?>(continuation)
      let first = First(waiter: waiter)
      Task {
        await body()
        first.end(true)
      }
      Task {
        try? await Task.sleep(for: limit)
        first.end(false)
      }
    }
  }

  /// Resumes a continuation with what comes first.
  private final class First: Sendable {
    private let waiter: Mutex<CheckedContinuation<Bool, Never>?>

    init(waiter: consuming Mutex<CheckedContinuation<Bool, Never>?>) {
      self.waiter = waiter
    }

    func end(_ answer: Bool) {
      waiter.withLock { waiter in
        defer { waiter = nil }
        return waiter
      }?.resume(returning: answer)
    }
  }
}
