import Redis

/// How much of its memory Redis uses.
struct MemoryUse: Equatable {
  /// Bytes that count against the limit.
  var used: Int
  /// `maxmemory` in bytes; 0 for none.
  var limit: Int

  /// Percent of the limit above which no job is taken in: the rest is for the campaigns that run, whose outcomes are
  /// written however full Redis is.
  static let mark = 90

  init(used: Int, limit: Int) {
    self.used = used
    self.limit = limit
  }

  init(_ info: RedisServerInfo) {
    // What is on its way to replicas and to the log is not counted by Redis either (evict.c, getMaxmemoryState).
    let uncounted = info.fields["mem_not_counted_for_evict"].flatMap { Int($0) } ?? 0
    self.init(used: (info.usedMemory ?? 0) - uncounted, limit: info.maximumMemory ?? 0)
  }

  /// Why no job should be taken in now; `nil` when there is room.
  ///
  /// - Parameter endpoint: whose memory it is.
  func problem(at endpoint: String) -> StoreError? {
    guard limit > 0, used > limit / 100 * Self.mark else { return nil }
    let mebibytes = { (bytes: Int) in (bytes + (1 << 19)) >> 20 }
    return StoreError(
      .full,
      "Redis at \(endpoint) uses \(mebibytes(used)) of its \(mebibytes(limit)) MiB (\(used * 100 / limit) %): "
        + "above \(Self.mark) % no campaign is taken in",
      hint: "raise maxmemory, or wait until ended campaigns expire (ttl); campaigns that run go on")
  }
}

/// Refusing work before Redis has to.
extension CampaignStore {
  /// Refuses when a Redis has no room for another campaign.
  ///
  /// - Throws: ``StoreError`` `full`.
  public func checkRoom() async throws {
    for sight in try await redis.sights(["memory"]) {
      if let problem = MemoryUse(sight.info).problem(at: sight.endpoint) { throw problem }
    }
  }
}
