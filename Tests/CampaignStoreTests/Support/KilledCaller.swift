@testable import CampaignStore
import Synchronization

/// A caller of the store whose process is killed.
enum KilledCaller {
  private struct Killed: Error {}

  /// Runs `body`, whose process is killed before one of its steps.
  ///
  /// - Returns: whether it was killed; false if it has fewer steps.
  static func dies(before step: Int, _ body: () async throws -> Void) async throws -> Bool {
    let left = Mutex(step)
    do {
      try await StoreSteps.$beforeEach.withValue({
        let isNow = left.withLock { left in
          left -= 1
          return left == -1
        }
        if isNow { throw Killed() }
      }) { try await body() }
      return false
    } catch is Killed {
      return true
    }
  }
}
