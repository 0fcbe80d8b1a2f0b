public import PushCore
import Redis

/// Segments: named sets of users, spread over the partitions of their users.
extension CampaignStore {
  /// Adds users to a segment, which comes into being with the first.
  ///
  /// - Parameters:
  ///   - users: each allowed by `UserID`; some thousands at a time.
  ///   - segment: a name that expressions can say.
  /// - Returns: how many of them are registered.
  @discardableResult
  public func add(_ users: [String], to segment: String) async throws -> Int {
    var pipeline = RedisPipeline(reserving: users.count * 96)
    pipeline.append("SADD", keys.segments, segment)
    let known = add(users, to: &pipeline) { keys.segment($0, segment) }
    return Self.sum(try await run(pipeline), known)
  }

  /// Removes users from a segment.
  ///
  /// - Returns: how many of them were in it.
  public func remove(_ users: [String], from segment: String) async throws -> Int {
    var pipeline = RedisPipeline(reserving: users.count * 48)
    forEachGroup(of: users) { partition, group in
      pipeline.command("SREM") { arguments in
        arguments.append(keys.segment(partition, segment))
        for user in group { arguments.append(user) }
      }
    }
    return try await run(pipeline).reduce(0) { $0 + ($1.integer ?? 0) }
  }

  /// Adds users to a set of their partition, and asks which of them are registered.
  ///
  /// - Returns: the places of the answers to that.
  private func add(_ users: [String], to pipeline: inout RedisPipeline, _ key: (Int) -> String) -> [Int] {
    var known: [Int] = []
    forEachGroup(of: users) { partition, group in
      pipeline.command("SADD") { arguments in
        arguments.append(key(partition))
        for user in group { arguments.append(user) }
      }
      known.append(pipeline.count)
      pipeline.command("SMISMEMBER") { arguments in
        arguments.append(keys.users(partition))
        for user in group { arguments.append(user) }
      }
    }
    return known
  }

  private static func sum(_ replies: [RedisReply], _ places: [Int]) -> Int {
    places.reduce(0) { sum, place in sum + replies[place].reduce(0) { $0 + ($1.integer ?? 0) } }
  }

  /// Calls `body` with users of one partition, at most ``batch`` at a time.
  func forEachGroup(of users: [String], _ body: (Int, ArraySlice<String>) -> Void) {
    var groups: [Int: [String]] = [:]
    for user in users { groups[Partition.of(user: user, count: keys.partitions), default: []].append(user) }
    for (partition, group) in groups {
      for start in stride(from: 0, to: group.count, by: Self.batch) {
        body(partition, group[start..<min(start + Self.batch, group.count)])
      }
    }
  }

  // MARK: Replacing

  /// Adds users to a segment that is being read in; nobody sees it before ``putInForce(_:)``.
  ///
  /// - Returns: how many of them are registered.
  public func add(_ users: [String], to replacement: inout SegmentReplacement) async throws -> Int {
    var pipeline = RedisPipeline(reserving: users.count * 96)
    let (name, id) = (replacement.name, replacement.id)
    var touched: Set<Int> = []
    let known = add(users, to: &pipeline) { partition in
      touched.insert(partition)
      return keys.importing(partition, name, id: id)
    }
    for partition in touched {
      pipeline.append("EXPIRE", keys.importing(partition, name, id: id), SegmentReplacement.timeToLive)
    }
    let replies = try await run(pipeline)
    replacement.partitions.formUnion(touched)
    return Self.sum(replies, known)
  }

  /// Puts a segment that was read in whole in the place of the one in force, which it is until then: partition by
  /// partition, each in one step.
  public func putInForce(_ replacement: SegmentReplacement) async throws {
    for start in stride(from: 0, to: keys.partitions, by: Self.batch) {
      var pipeline = RedisPipeline()
      for partition in start..<min(start + Self.batch, keys.partitions) {
        let segment = keys.segment(partition, replacement.name)
        guard replacement.partitions.contains(partition) else {
          pipeline.append("UNLINK", segment)
          continue
        }
        let read = keys.importing(partition, replacement.name, id: replacement.id)
        pipeline.append("PERSIST", read)
        pipeline.append("RENAME", read, segment)
      }
      _ = try await run(pipeline)
    }
    var pipeline = RedisPipeline()
    pipeline.append("SADD", keys.segments, replacement.name)
    _ = try await run(pipeline)
  }

  /// Lets go of what was read in: the segment in force stays.
  public func discard(_ replacement: SegmentReplacement) async throws {
    var pipeline = RedisPipeline()
    for partition in replacement.partitions {
      pipeline.append("UNLINK", keys.importing(partition, replacement.name, id: replacement.id))
    }
    if !pipeline.isEmpty { _ = try await run(pipeline) }
  }

  /// The names of all segments that are lists of users, sorted.
  public func segmentNames() async throws -> [String] {
    try await userLists().filter(Self.isSegment)
  }

  /// Whether it is a segment of the user's own making: suppression lists and activities are kept as segments are.
  static func isSegment(_ name: String) -> Bool {
    SuppressionList(segment: name) == nil && ActivitySegment.activity(of: name) == nil
  }

  /// The suppression lists of all apps, sorted.
  public func suppressionLists() async throws -> [SuppressionList] {
    try await userLists().compactMap(SuppressionList.init(segment:))
  }

  /// The names of everything that is kept as a segment is, sorted.
  func userLists() async throws -> [String] {
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

  /// The segments that a user is in, and the suppression lists, both sorted.
  public func lists(of user: String) async throws -> (segments: [String], suppression: [SuppressionList]) {
    let names = try await userLists()
    guard !names.isEmpty else { return ([], []) }
    let partition = Partition.of(user: user, count: keys.partitions)
    var pipeline = RedisPipeline()
    for name in names { pipeline.append("SISMEMBER", keys.segment(partition, name), user) }
    let found = zip(names, try await run(pipeline)).filter { $0.1.integer == 1 }.map(\.0)
    return (
      found.filter(Self.isSegment), found.compactMap(SuppressionList.init(segment:))
    )
  }

  /// Walks over the members of a segment or a suppression list, registered or not, in no order, each once.
  public func forEachMember(ofSegment name: String, _ body: ([String]) throws -> Void) async throws {
    let search = AudienceSearch(.set(.segment(name)))
    for partition in 0..<keys.partitions {
      try await forEachUser(of: search, in: partition) { page in
        try body(page.members.compactMap(\.string))
      }
    }
  }

  /// Walks over the users for whom an expression holds, in no order, each once.
  ///
  /// - Throws: ``StoreError`` `invalid` when it names a segment that doesn't exist.
  public func forEachMember(of expression: AudienceExpression, _ body: ([String]) throws -> Void) async throws {
    let definitions = try await checkSegments(of: expression)
    let now = definitions.isEmpty ? 0 : try await time() / 1000
    let search = AudienceSearch(expression, definitions, start: now)
    for partition in 0..<keys.partitions {
      try await forEachUser(of: search, in: partition) { page in
        try body(page.members.compactMap(\.string))
      }
    }
  }

  /// Counts the registered users for whom an expression holds, and those of their devices that could be sent to.
  ///
  /// Members of a segment who have no device don't count: whether they would depends on how the sets are worked out.
  ///
  /// - Parameters:
  ///   - expression: over segments.
  ///   - predicate: devices for which it doesn't hold don't count, nor do users who have no other.
  /// - Throws: ``StoreError`` `invalid` when it names a segment that doesn't exist.
  public func count(
    _ expression: AudienceExpression, where predicate: DevicePredicate? = nil
  ) async throws -> (users: Int, devices: Int) {
    let definitions = try await checkSegments(of: expression)
    let names = predicate?.attributes ?? []
    let now = predicate == nil && definitions.isEmpty ? 0 : try await time() / 1000
    let search = AudienceSearch(expression, definitions, start: now)
    var (users, devices) = (0, 0)
    for partition in 0..<keys.partitions {
      try await forEachUser(of: search, in: partition, reading: UserReads(attributes: !names.isEmpty)) { page in
        page.forEachUser { _, record, json, _ in
          let attributes = PredicateAttributes(json?.bytes.map(Array.init) ?? [], of: names)
          let known = DeviceCursor(record).reduce(0) { count, device in
            guard !device.isQuarantined else { return count }
            return count + (predicate?.holds(of: device, user: attributes, now: now) ?? true ? 1 : 0)
          }
          // Without a condition who has nothing but devices in quarantine is a user all the same.
          if known > 0 || predicate == nil { users += 1 }
          devices += known
        }
      }
    }
    return (users, devices)
  }
}

/// A segment that is being read in, to take the place of the one in force as a whole.
public struct SegmentReplacement: Sendable {
  /// The segment.
  public let name: String
  /// Two imports at a time don't mix.
  let id = String(UInt64.random(in: .min ... .max), radix: 36)
  /// Partitions that have users of it.
  var partitions: Set<Int> = []

  /// Seconds after the last users that were added for which an import that never ends leaves something behind: a day.
  static let timeToLive = 86_400

  /// - Parameter name: a name that expressions can say.
  public init(of name: String) { self.name = name }
}
