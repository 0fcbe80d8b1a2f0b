import Redis

/// Pages of the dead list.
extension Queue {
  /// Returns jobs and events that could not be run, newest first.
  ///
  /// - Parameter cursor: the cursor of the previous page; `nil` for the first page.
  public func deadJobs(from cursor: String?, count: Int) async throws -> StorePage<DeadJob> {
    if let cursor, !Self.isStreamKey(cursor) {
      throw StoreError(
        .invalid, "cursor: is not a cursor of this list", hint: "use the value of next in the previous page")
    }
    var pipeline = RedisPipeline()
    pipeline.append("XREVRANGE", keys.dead, cursor.map { "(" + $0 } ?? "+", "-", "COUNT", count)
    let jobs = try await run(pipeline)[0].map(DeadJob.init)
    return StorePage(elements: jobs, next: jobs.count == count ? jobs.last?.key : nil)
  }

  /// Returns whether a text has the form of a stream's key: two numbers of 64 bits. Redis refuses any other text.
  static func isStreamKey(_ key: String) -> Bool {
    let parts = key.split(separator: "-", omittingEmptySubsequences: false)
    return parts.count == 2 && parts.allSatisfy { UInt64($0) != nil && !$0.hasPrefix("+") }
  }
}
