import Redis

/// An attempt to take in a job, and the earlier ones. Workers use these numbers to find a job that makes workers fail.
public struct JobAttempts: Sendable, Equatable {
  /// SHA-1 of the entry on the worker's list, in hex. It is the name of the job's field in the hash `attempts`.
  var digest: String
  /// Number of other worker processes that began to take in the job and did not finish. Most of these processes have
  /// died.
  public var otherLives: Int
  /// Number of failures to take in the job because of damaged data in Redis.
  public var failures: Int
  /// The time at which this attempt began, by Redis' clock in ms since the epoch.
  public var beganAt: Int
  /// Whether erasures are pending. If so, the job may name an erased user (``Erasure/withoutErased(_:)``).
  public var hasErasures: Bool
}

/// Attempts to take in jobs. They are counted in Redis, because a job may crash the worker that reads it.
extension Queue {
  /// Time for which an attempt counts, in ms: a day. If a job waits for its next attempt for more than a day, the cause
  /// is an outage and not the job.
  private static let attemptMemory = 86_400_000
  /// If the hash `attempts` has at least this number of fields, ``beginJob(_:instance:)`` also removes old fields. Each
  /// worker takes in a few jobs at a time, with two fields each. More fields come from workers that died.
  private static let attemptFields = 1000

  /// Records that a worker begins to take in a job.
  ///
  /// - Parameters:
  ///   - entry: the entry on the worker's list.
  ///   - instance: the worker's instance.
  /// - Returns: this attempt and the earlier ones; `nil` if the entry is no longer on the worker's list.
  public func beginJob(_ entry: [UInt8], instance: WorkerInstance) async throws -> JobAttempts? {
    var pipeline = RedisPipeline(reserving: entry.count + 256)
    pipeline.script(StoreScripts.beginJob, keys: [keys.intake(worker: instance.name), keys.attempts]) {
      $0.append(entry)
      $0.append(instance.nonce)
      $0.append(Self.attemptMemory)
      $0.append(Self.attemptFields)
    }
    pipeline.append("HLEN", keys.erasing)
    let replies = try await run(pipeline)
    let reply = replies[0]
    guard reply.count == 4, let digest = reply[0].string else { return nil }
    return JobAttempts(
      digest: digest, otherLives: reply[1].integer ?? 0, failures: reply[2].integer ?? 0,
      beganAt: reply[3].integer ?? 0, hasErasures: replies[1].integer ?? 0 > 0)
  }

  /// Counts a failure to take in a job.
  ///
  /// - Returns: the number of failures, including this one.
  public func countFailure(of attempts: JobAttempts) async throws -> Int {
    var pipeline = RedisPipeline()
    pipeline.append("HINCRBY", keys.attempts, attempts.digest + ":failures", 1)
    return try await run(pipeline)[0].integer ?? 0
  }

  /// Removes the attempts of a job that stays on the list because the worker stops. Scripts that remove a job from the
  /// list also remove its attempts.
  public func forget(_ attempts: JobAttempts) async throws {
    var pipeline = RedisPipeline()
    pipeline.append("HDEL", keys.attempts, attempts.digest, attempts.digest + ":failures")
    _ = try await run(pipeline)
  }
}
