import Redis

/// Confirmation that replicas of Redis have a job.
extension Queue {
  /// Waits until replicas have a job that was submitted before this call.
  ///
  /// - Parameters:
  ///   - count: the number of replicas that must have the job before the wait ends.
  ///   - id: the id of the job.
  ///   - timeout: the maximum time to wait.
  /// - Returns: the number of replicas that have the job.
  /// - Throws: ``StoreError`` `notFound` if Redis has lost the job itself.
  public func awaitReplicas(_ count: Int, of id: String, timeout: Duration) async throws -> Int {
    var pipeline = RedisPipeline()
    pipeline.append("EXISTS", keys.job(id), keys.campaign(id))
    pipeline.append("TTL", keys.job(id))
    let replies = try await run(pipeline)
    let (isThere, seconds) = (replies[0].integer != 0, replies[1].integer ?? 0)
    pipeline.removeAll()
    // WAIT covers only the writes of its own connection. This EXPIRE changes nothing, but it is a write of this
    // connection after the write of the job. A replica that has the EXPIRE therefore also has the job. After a
    // failover, the reply of EXPIRE shows whether the new primary has the job.
    if seconds > 0 { pipeline.append("EXPIRE", keys.job(id), seconds) }
    pipeline.append("WAIT", count, Int(timeout / .milliseconds(1)))
    let answers = isThere ? try await run(pipeline, timeout: timeout + .seconds(10)) : []
    guard isThere, answers.count == 1 || answers[0].integer == 1 else {
      throw StoreError(
        .notFound, "Redis has lost the job \(id): it failed over or restarted at this moment",
        hint: "submit it again")
    }
    return answers.last?.integer ?? 0
  }
}
