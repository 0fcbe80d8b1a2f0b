public import PushCore
import Redis

/// Segments: named sets of users, stored in the partitions of their users. A *statement* says that a user is a member
/// of a set, or is not, as of a time.
extension Audiences {
  /// Adds users to a segment or a suppression list, with the present time. This call creates the segment if it does not
  /// exist.
  ///
  /// - Parameters:
  ///   - users: ids that `UserID` allows; at most a few thousand in a call.
  ///   - segment: a name that expressions can contain.
  /// - Returns: the number of these users who are registered.
  @discardableResult
  public func add(_ users: [String], to segment: String) async throws -> Int {
    try await set(Self.statements(of: users, isMember: true), in: segment)
    var pipeline = RedisPipeline(reserving: users.count * 32)
    // The segment is created even without users.
    pipeline.append("SADD", keys.segments, segment)
    let known = askForRegistered(users, &pipeline)
    return Self.sum(try await run(pipeline), known)
  }

  /// Removes users from a segment or a suppression list, with the present time.
  ///
  /// - Returns: the number of these users who were members.
  public func remove(_ users: [String], from segment: String) async throws -> Int {
    try await set(Self.statements(of: users, isMember: false), in: segment).left
  }

  private static func statements(of users: [String], isMember: Bool) -> [String: MembershipStatement] {
    Dictionary(users.map { ($0, MembershipStatement(isMember: isMember)) }) { $1 }
  }

  /// Returns which of two statements of the same time wins: true for membership (suppression lists), false for the
  /// removal (segments).
  static func memberWins(in list: String) -> Bool { SuppressionList(segment: list) != nil }

  /// Numbers of users that statements added, removed or did not change.
  struct Membership {
    var joined = 0
    var left = 0
    /// Statements without effect, because a newer one exists.
    var superseded = 0
  }

  /// Adds users to a segment or a suppression list, or removes them. If a newer statement about a user exists, that
  /// user does not change.
  ///
  /// The list gets its name in a step before its first users. In a cluster, the commands of one step run in any order.
  /// An erasure that does not find the name could then leave its user in the list.
  ///
  /// - Parameter statements: the statements by user.
  @discardableResult
  func set(_ statements: [String: MembershipStatement], in list: String) async throws -> Membership {
    var pipeline = RedisPipeline(reserving: statements.count * 64)
    if statements.contains(where: \.value.isMember) {
      pipeline.append("SADD", keys.segments, list)
      _ = try await run(pipeline)
      pipeline.removeAll()
    }
    forEachGroup(of: Array(statements.keys)) { partition, group in
      pipeline.script(
        StoreScripts.setMembers,
        keys: [keys.segment(partition, list), keys.stated(partition, list), keys.erased(partition)]
          + suppressionKeys(partition, list)
      ) {
        $0.append(Self.memberWins(in: list) ? 1 : 0)
        $0.append(Registry.memory)
        for user in group {
          let statement = statements[user]
          $0.append(user)
          if let at = statement?.at { $0.append(at) } else { $0.append("") }
          $0.append(statement?.isMember == true ? 1 : 0)
        }
      }
    }
    guard !pipeline.isEmpty else { return Membership() }
    return try await run(pipeline).reduce(into: Membership()) { sum, reply in
      guard reply.count == 3 else { return }
      sum.joined += reply[0].integer ?? 0
      sum.left += reply[1].integer ?? 0
      sum.superseded += reply[2].integer ?? 0
    }
  }

  /// Appends commands that check which users are registered.
  ///
  /// - Returns: the positions of the replies to these commands.
  func askForRegistered(_ users: [String], _ pipeline: inout RedisPipeline) -> [Int] {
    var known: [Int] = []
    forEachGroup(of: users) { partition, group in
      known.append(pipeline.count)
      pipeline.command("SMISMEMBER") { arguments in
        arguments.append(keys.users(partition))
        for user in group { arguments.append(user) }
      }
    }
    return known
  }

  static func sum(_ replies: [RedisReply], _ places: [Int]) -> Int {
    places.reduce(0) { sum, place in sum + replies[place].reduce(0) { $0 + ($1.integer ?? 0) } }
  }

  /// Groups the users by partition, and calls `body` with the partition and at most ``batch`` of its users at a time.
  func forEachGroup(of users: [String], _ body: (Int, ArraySlice<String>) -> Void) {
    var groups: [Int: [String]] = [:]
    for user in users { groups[Partition.of(user: user, count: keys.partitions), default: []].append(user) }
    for (partition, group) in groups {
      for page in group.batches() {
        body(partition, page)
      }
    }
  }

  /// Returns the keys `departures` and `arrivals`, which scripts also need for a suppression list; none for a segment.
  func suppressionKeys(_ partition: Int, _ list: String) -> [String] {
    SuppressionList(segment: list) == nil ? [] : [keys.departures(partition), keys.arrivals(partition, list)]
  }

  /// Returns the names of all segments that are lists of users, sorted.
  public func segmentNames() async throws -> [String] {
    try await userLists().filter(Self.isSegment)
  }

  /// Returns whether a list is a segment. Suppression lists and the users of Live Activities are stored in the same
  /// way.
  static func isSegment(_ name: String) -> Bool {
    SuppressionList(segment: name) == nil && ActivitySegment.activity(of: name) == nil
  }

  /// Returns the suppression lists of all apps, sorted.
  public func suppressionLists() async throws -> [SuppressionList] {
    try await userLists().compactMap(SuppressionList.init(segment:))
  }

  /// Returns the names of all sets that are stored like segments, sorted.
  func userLists() async throws -> [String] {
    var pipeline = RedisPipeline()
    pipeline.append("SMEMBERS", keys.segments)
    return try await run(pipeline)[0].compactMap(\.string).sorted()
  }

  /// Returns the number of users in a segment, with or without devices.
  public func size(ofSegment name: String) async throws -> Int {
    var total = 0
    for page in (0..<keys.partitions).batches() {
      var pipeline = RedisPipeline()
      for partition in page {
        pipeline.append("SCARD", keys.segment(partition, name))
      }
      total += try await run(pipeline).reduce(0) { $0 + ($1.integer ?? 0) }
    }
    return total
  }

  /// Returns the segments and the suppression lists that contain a user, both sorted.
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

  /// Calls `body` with the members of a segment or a suppression list, registered or not, in no order, each once.
  public func forEachMember(ofSegment name: String, _ body: ([String]) throws -> Void) async throws {
    let search = AudienceSearch(.set(.segment(name)))
    for partition in 0..<keys.partitions {
      try await store.expansion.forEachUser(of: search, in: partition) { page in
        try body(page.members.compactMap(\.string))
      }
    }
  }

  /// Calls `body` with the users who match an expression, in no order, each once.
  ///
  /// - Throws: ``StoreError`` `invalid` if the expression names a segment that does not exist.
  public func forEachMember(of expression: AudienceExpression, _ body: ([String]) throws -> Void) async throws {
    let definitions = try await store.queue.checkSegments(of: expression)
    let now = definitions.isEmpty ? 0 : try await store.time() / 1000
    let search = AudienceSearch(expression, definitions, start: now)
    for partition in 0..<keys.partitions {
      try await store.expansion.forEachUser(of: search, in: partition) { page in
        try body(page.members.compactMap(\.string))
      }
    }
  }

  /// Counts the registered users who match an expression, and their devices that can get a push.
  ///
  /// Members of a segment without a device are not counted, because their number would depend on the way the sets are
  /// evaluated.
  ///
  /// - Parameters:
  ///   - expression: an expression over segments.
  ///   - predicate: a condition. Devices that do not meet it are not counted. Users without a device that meets it are
  ///     not counted either.
  /// - Throws: ``StoreError`` `invalid` if the expression names a segment that does not exist.
  public func count(
    _ expression: AudienceExpression, where predicate: DevicePredicate? = nil
  ) async throws -> (users: Int, devices: Int) {
    let definitions = try await store.queue.checkSegments(of: expression)
    let names = predicate?.attributes ?? []
    let now = predicate == nil && definitions.isEmpty ? 0 : try await store.time() / 1000
    let search = AudienceSearch(expression, definitions, start: now)
    var (users, devices) = (0, 0)
    for partition in 0..<keys.partitions {
      try await store.expansion.forEachUser(of: search, in: partition, reading: UserReads(attributes: !names.isEmpty)) {
        page in
        page.forEachUser { _, record, json, _ in
          let attributes = PredicateAttributes(json?.bytes.map(Array.init) ?? [], of: names)
          let known = DeviceCursor(record).reduce(0) { count, device in
            guard !device.isQuarantined else { return count }
            return count + (predicate?.matches(device, user: attributes, now: now) ?? true ? 1 : 0)
          }
          // Without a condition, a user whose devices are all quarantined still counts.
          if known > 0 || predicate == nil { users += 1 }
          devices += known
        }
      }
    }
    return (users, devices)
  }
}
