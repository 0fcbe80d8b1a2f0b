public import PushCore
import Redis

/// Segments: named sets of users, spread over the partitions of their users.
extension CampaignStore {
  /// Adds users to a segment, which comes into being with the first.
  ///
  /// - Parameters:
  ///   - users: each allowed by `UserID`; some thousands at a time.
  ///   - segment: a name that expressions can say.
  public func add(_ users: [String], to segment: String) async throws {
    var pipeline = RedisPipeline(reserving: users.count * 48)
    pipeline.append("SADD", keys.segments, segment)
    var groups: [Int: [String]] = [:]
    for user in users { groups[Partition.of(user: user, count: keys.partitions), default: []].append(user) }
    for (partition, group) in groups {
      for start in stride(from: 0, to: group.count, by: Self.batch) {
        pipeline.command("SADD") { arguments in
          arguments.append(keys.segment(partition, segment))
          for user in group[start..<min(start + Self.batch, group.count)] { arguments.append(user) }
        }
      }
    }
    _ = try await run(pipeline)
  }

  /// The names of all segments, sorted.
  public func segmentNames() async throws -> [String] {
    var pipeline = RedisPipeline()
    pipeline.append("SMEMBERS", keys.segments)
    return try await run(pipeline)[0].compactMap(\.string).sorted()
  }

  /// The number of users in a segment, devices or not.
  public func size(ofSegment name: String) async throws -> Int {
    var total = 0
    for start in stride(from: 0, to: keys.partitions, by: Self.batch) {
      var pipeline = RedisPipeline()
      for partition in start..<min(start + Self.batch, keys.partitions) {
        pipeline.append("SCARD", keys.segment(partition, name))
      }
      total += try await run(pipeline).reduce(0) { $0 + ($1.integer ?? 0) }
    }
    return total
  }

  /// Removes a segment; its users stay.
  ///
  /// - Returns: false when there was none of that name.
  public func removeSegment(_ name: String) async throws -> Bool {
    for start in stride(from: 0, to: keys.partitions, by: Self.batch) {
      var pipeline = RedisPipeline()
      for partition in start..<min(start + Self.batch, keys.partitions) {
        pipeline.append("UNLINK", keys.segment(partition, name))
      }
      _ = try await run(pipeline)
    }
    var pipeline = RedisPipeline()
    pipeline.append("SREM", keys.segments, name)
    return try await run(pipeline)[0].integer == 1
  }

  /// The segments that a user is in, sorted.
  public func segments(of user: String) async throws -> [String] {
    let names = try await segmentNames()
    guard !names.isEmpty else { return [] }
    let partition = Partition.of(user: user, count: keys.partitions)
    var pipeline = RedisPipeline()
    for name in names { pipeline.append("SISMEMBER", keys.segment(partition, name), user) }
    return zip(names, try await run(pipeline)).filter { $0.1.integer == 1 }.map(\.0)
  }

  /// Walks over the users for whom an expression holds, in no order, each once.
  ///
  /// - Throws: ``StoreError`` `invalid` when it names a segment that doesn't exist.
  public func forEachMember(of expression: AudienceExpression, _ body: ([String]) throws -> Void) async throws {
    try await checkSegments(of: expression)
    var random = SystemRandomNumberGenerator()
    let scratch = String(random.next(), radix: 16)
    for partition in 0..<keys.partitions {
      try await forEachUser(of: expression, in: partition, scratch: scratch) { page in
        try body(page.members.compactMap(\.string))
      }
    }
  }

  /// Counts the registered users for whom an expression holds, and those of their devices that could be sent to.
  ///
  /// Members of a segment who have no device don't count: whether they would depends on how the sets are worked out.
  ///
  /// - Throws: ``StoreError`` `invalid` when it names a segment that doesn't exist.
  public func count(_ expression: AudienceExpression) async throws -> (users: Int, devices: Int) {
    try await checkSegments(of: expression)
    var random = SystemRandomNumberGenerator()
    let scratch = String(random.next(), radix: 16)
    var (users, devices) = (0, 0)
    for partition in 0..<keys.partitions {
      try await forEachUser(of: expression, in: partition, scratch: scratch) { page in
        for record in page.records where !record.isNull {
          users += 1
          devices += record.withBytes { DeviceCursor($0).reduce(0) { $0 + ($1.isQuarantined ? 0 : 1) } }
        }
      }
    }
    return (users, devices)
  }
}
