import Redis

/// Knowing that more than one server has a job.
extension CampaignStore {
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
    // WAIT is about the writes of its own connection; this one changes nothing, and comes after the job's, whichever
    // connection that was written on. Should the server have changed since, it is the new one that is asked.
    pipeline.append("HSET", keys.store, "version", Self.layoutVersion)
    pipeline.append("WAIT", count, Int(timeout / .milliseconds(1)))
    let replies = try await run(pipeline, timeout: timeout + .seconds(10))
    guard replies[0].integer != 0 else {
      throw StoreError(
        .notFound, "Redis has lost the job \(id): it failed over or was restarted in this moment",
        hint: "submit it again")
    }
    return replies[2].integer ?? 0
  }
}
