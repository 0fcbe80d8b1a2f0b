#if DEBUG
  /// For tests that decide in which order the steps of several callers of a store are done, and who dies between two.
  enum StoreSteps {
    /// Called before each pipeline that the task runs; what it throws ends the call.
    @TaskLocal static var beforeEach: (@Sendable () async throws -> Void)?
  }
#endif
