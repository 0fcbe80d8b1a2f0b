import Redis

/// What is known of earlier attempts to take in a job.
public struct JobAttempts: Sendable, Equatable {
  /// The SHA-1 of the entry on the worker's list, in hex: the job's name among the attempts.
  var digest: String
  /// Other lives of workers that began to take in the job and did not finish: most of them have ended.
  public var otherLives: Int
  /// How often the job could not be taken in because of damage.
  public var failures: Int
}

/// Attempts to take in jobs. They are counted in Redis, because a job may end the worker that looks at it.
extension Queue {
  /// How long an attempt is remembered, in ms: a day. A job that waits longer for its next attempt has outlived an outage.
  private static let attemptMemory = 86_400_000
  /// Fields from which on ``beginJob(_:instance:)`` looks for old ones. Each worker has a few jobs in hand, with two fields
  /// each; more are left behind by workers that died.
  private static let attemptFields = 1000

  /// Notes that a worker begins to take in a job.
  ///
  /// - Parameters:
  ///   - entry: what stands on the worker's list.
  ///   - instance: of the worker.
  /// - Returns: the earlier attempts; `nil` when the entry is not on the worker's list any more.
  public func beginJob(_ entry: [UInt8], instance: WorkerInstance) async throws -> JobAttempts? {
    var pipeline = RedisPipeline(reserving: entry.count + 256)
    pipeline.script(StoreScripts.beginJob, keys: [keys.intake(worker: instance.name), keys.attempts]) {
      $0.append(entry)
      $0.append(instance.nonce)
      $0.append(Self.attemptMemory)
      $0.append(Self.attemptFields)
    }
    let reply = try await run(pipeline)[0]
    guard reply.count == 3, let digest = reply[0].string else { return nil }
    return JobAttempts(digest: digest, otherLives: reply[1].integer ?? 0, failures: reply[2].integer ?? 0)
  }

  /// Counts a failure to take in a job.
  ///
  /// - Returns: how many there were, this one included.
  public func noteFailure(of attempts: JobAttempts) async throws -> Int {
    var pipeline = RedisPipeline()
    pipeline.append("HINCRBY", keys.attempts, attempts.digest + ":failures", 1)
    return try await run(pipeline)[0].integer ?? 0
  }

  /// Forgets the attempts at a job that stays on the list because the worker stops. The scripts that take a job off the list
  /// forget its attempts themselves.
  public func forget(_ attempts: JobAttempts) async throws {
    var pipeline = RedisPipeline()
    pipeline.append("HDEL", keys.attempts, attempts.digest, attempts.digest + ":failures")
    _ = try await run(pipeline)
  }
}
