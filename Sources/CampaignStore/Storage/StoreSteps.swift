#if DEBUG
  import Foundation
  import Synchronization

  /// Lets tests decide in which order the steps of several callers of a store run, and end a caller between two steps.
  enum StoreSteps {
    /// Called before each pipeline of the task. An error from it ends the call.
    @TaskLocal static var beforeEach: (@Sendable () async throws -> Void)?

    /// `CARILLON_FAULT_STEP`: number of the pipeline before which the process kills itself; `nil` for none.
    private static let last = ProcessInfo.processInfo.environment["CARILLON_FAULT_STEP"].flatMap { Int($0) }
    private static let count = Mutex(0)

    /// Ends the process with SIGKILL before the pipeline that `CARILLON_FAULT_STEP` names.
    static func pass() {
      guard let last else { return }
      let step = count.withLock {
        $0 += 1
        return $0
      }
      if step == last { kill(getpid(), SIGKILL) }
    }
  }
#endif
