import Redis

/// Knowing that more than one server has a job.
extension Queue {
  /// Waits until replicas have a job that was submitted, now or before.
  ///
  /// - Parameters:
  ///   - count: how many replicas to wait for.
  ///   - id: the job's.
  ///   - timeout: how long to wait.
  /// - Returns: how many have it.
  /// - Throws: ``StoreError`` `notFound` when Redis has lost the job itself.
  public func awaitReplicas(_ count: Int, of id: String, timeout: Duration) async throws -> Int {
    var pipeline = RedisPipeline()
    pipeline.append("EXISTS", keys.job(id), keys.campaign(id))
    pipeline.append("TTL", keys.job(id))
    let replies = try await run(pipeline)
    let (isThere, seconds) = (replies[0].integer != 0, replies[1].integer ?? 0)
    pipeline.removeAll()
    // WAIT is about the writes of its own connection. This one leaves the job as it is, and comes after the job's, whichever
    // connection that was written on. Should the server have changed since, the new one is asked.
    if seconds > 0 { pipeline.append("EXPIRE", keys.job(id), seconds) }
    pipeline.append("WAIT", count, Int(timeout / .milliseconds(1)))
    let answers = isThere ? try await run(pipeline, timeout: timeout + .seconds(10)) : []
    guard isThere, answers.count == 1 || answers[0].integer == 1 else {
      throw StoreError(
        .notFound, "Redis has lost the job \(id): it failed over or was restarted in this moment",
        hint: "submit it again")
    }
    return answers.last?.integer ?? 0
  }
}
