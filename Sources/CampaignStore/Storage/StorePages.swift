import Redis

/// Reads of collections a page at a time, so that no command blocks Redis for long.
extension CampaignStore {
  /// Reads all keys, or a whole hash, set or sorted set, in no order. An element may appear twice if the collection
  /// changes during the call.
  ///
  /// - Parameters:
  ///   - read: appends the command that reads the page at a cursor: `SCAN`, `HSCAN`, `SSCAN` or `ZSCAN`. Only the reply
  ///     of the last command is used.
  ///   - body: gets the elements of each page that is not empty; for a hash, fields and values in turn. Returns false
  ///     to stop.
  func forEachPage(
    _ read: (_ cursor: String, inout RedisPipeline) -> Void, _ body: (RedisReply) async throws -> Bool
  ) async throws {
    var cursor = "0"
    repeat {
      var pipeline = RedisPipeline()
      read(cursor, &pipeline)
      let reply = try await run(pipeline)[pipeline.count - 1]
      cursor = reply[0].string ?? "0"
      if !reply[1].isEmpty, try await !body(reply[1]) { return }
    } while cursor != "0"
  }

  /// Returns a page of a stream, the newest entries first.
  ///
  /// - Parameters:
  ///   - cursor: the cursor of the previous page; `nil` for the first page.
  ///   - make: creates an element from an entry.
  func newest<Element>(
    in stream: String, from cursor: String?, count: Int, _ make: (RedisReply) -> Element, key: (Element) -> String
  ) async throws -> StorePage<Element> {
    if let cursor, !Queue.isStreamKey(cursor) { throw StoreError.invalidCursor }
    var pipeline = RedisPipeline()
    pipeline.append("XREVRANGE", stream, cursor.map { "(" + $0 } ?? "+", "-", "COUNT", count)
    let elements = try await run(pipeline)[0].map(make)
    return StorePage(elements: elements, next: elements.count == count ? elements.last.map(key) : nil)
  }
}

extension StoreError {
  /// The error for a cursor that does not come from this list.
  static var invalidCursor: StoreError {
    StoreError(.invalid, "cursor: is not a cursor of this list", hint: "use the value of next in the previous page")
  }
}
