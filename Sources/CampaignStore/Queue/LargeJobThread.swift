import EventLoop
public import PushCore

/// The thread of this process that reads the large jobs of campaigns and the definitions of segments, one at a time.
///
/// Reading a large job takes a fraction of a second. It would delay pushes if it ran on an event loop, and it would
/// block one of the few threads of Swift's executor, which has one thread per core. `JobChecker` in `PushWorker` checks
/// new jobs, with a time limit.
public enum LargeJobThread {
  /// Minimum size of a large job, in bytes. A smaller job is read within a millisecond.
  public static let size = 16_384

  private static let thread = ComputeThread(priority: .low)

  #if DEBUG
    /// Called before each reading on the thread, with its size. For tests.
    @TaskLocal static var beforeReading: (@Sendable (Int) -> Void)?
  #endif

  /// Returns the result of `body`, which reads jobs or definitions. If they are large, `body` runs on the thread.
  ///
  /// - Parameter bytes: the total size of the texts.
  public static func read<Value: Sendable>(_ bytes: Int, _ body: @escaping @Sendable () -> Value) async -> Value {
    guard bytes >= size else { return body() }
    #if DEBUG
      beforeReading?(bytes)
    #endif
    return await withCheckedContinuation { continuation in
      thread.async { continuation.resume(returning: body()) }
    }
  }
}

extension CampaignRecord {
  /// Reads the job like ``campaign(_:_:leg:)``. A large job is read on ``LargeJobThread``, outside the caller's event
  /// loop.
  public func read(_ job: [UInt8], _ apps: JobApps) async throws(JobError) -> Campaign {
    let result = await LargeJobThread.read(job.count) { Result { () throws(JobError) in try campaign(job, apps) } }
    return try result.get()
  }
}

extension JobOutline {
  /// Reads a job like ``init(_:)``. A large job is read on ``LargeJobThread``, outside the caller's event loop.
  public static func read(_ job: [UInt8]) async -> JobOutline? {
    await LargeJobThread.read(job.count) { JobOutline(job) }
  }
}

extension CampaignJob {
  /// Reads a valid job like ``parse(_:_:as:now:leg:)``. A large job is read on ``LargeJobThread``, outside the caller's
  /// event loop.
  public static func read(_ job: [UInt8], _ apps: JobApps, as id: String) async throws(JobError) -> Campaign {
    let result = await LargeJobThread.read(job.count) { Result { () throws(JobError) in try parse(job, apps, as: id) } }
    return try result.get()
  }
}
