/// Pages of the dead list.
extension Queue {
  /// Returns jobs and events that could not be run, newest first.
  ///
  /// - Parameter cursor: the cursor of the previous page; `nil` for the first page.
  public func deadJobs(from cursor: String?, count: Int) async throws -> StorePage<DeadJob> {
    try await store.newest(in: keys.dead, from: cursor, count: count, DeadJob.init, key: \.key)
  }

  /// Returns whether a text has the form of a stream entry's key: two numbers of 64 bits. Redis refuses any other text.
  static func isStreamKey(_ key: String) -> Bool {
    let parts = key.split(separator: "-", omittingEmptySubsequences: false)
    return parts.count == 2 && parts.allSatisfy { UInt64($0) != nil && !$0.hasPrefix("+") }
  }
}
