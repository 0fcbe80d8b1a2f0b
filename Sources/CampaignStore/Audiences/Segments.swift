public import PushCore
import Redis

/// Segments: named sets of users, spread over the partitions of their users.
extension Audiences {
  /// Adds users to a segment or a suppression list, which comes into being with the first: they are in it from now on.
  ///
  /// - Parameters:
  ///   - users: each allowed by `UserID`; some thousands at a time.
  ///   - segment: a name that expressions can say.
  /// - Returns: how many of them are registered.
  @discardableResult
  public func add(_ users: [String], to segment: String) async throws -> Int {
    try await set(Self.statements(of: users, isMember: true), in: segment)
    var pipeline = RedisPipeline(reserving: users.count * 32)
    // Of nobody too.
    pipeline.append("SADD", keys.segments, segment)
    let known = askForRegistered(users, &pipeline)
    return Self.sum(try await run(pipeline), known)
  }

  /// Removes users from a segment or a suppression list: they are not in it from now on.
  ///
  /// - Returns: how many of them were in it.
  public func remove(_ users: [String], from segment: String) async throws -> Int {
    try await set(Self.statements(of: users, isMember: false), in: segment).left
  }

  private static func statements(of users: [String], isMember: Bool) -> [String: MembershipStatement] {
    Dictionary(users.map { ($0, MembershipStatement(isMember: isMember)) }) { $1 }
  }

  /// Which of two statements of the same time stands: an opt-out, but no tag.
  static func memberWins(in list: String) -> Bool { SuppressionList(segment: list) != nil }

  /// What became of statements.
  struct Membership {
    var joined = 0
    var left = 0
    /// How many changed nothing, because something newer stands.
    var superseded = 0
  }

  /// Enters users into a segment or a suppression list, or takes them off it, as far as nothing newer was said.
  ///
  /// - Parameter statements: by user.
  @discardableResult
  func set(_ statements: [String: MembershipStatement], in list: String) async throws -> Membership {
    var pipeline = RedisPipeline(reserving: statements.count * 64)
    if statements.contains(where: \.value.isMember) { pipeline.append("SADD", keys.segments, list) }
    let first = pipeline.count
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
    return try await run(pipeline).dropFirst(first).reduce(into: Membership()) { sum, reply in
      guard reply.count == 3 else { return }
      sum.joined += reply[0].integer ?? 0
      sum.left += reply[1].integer ?? 0
      sum.superseded += reply[2].integer ?? 0
    }
  }

  /// Asks which users are registered.
  ///
  /// - Returns: the places of the answers.
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

  /// Calls `body` with users of one partition, at most ``batch`` at a time.
  func forEachGroup(of users: [String], _ body: (Int, ArraySlice<String>) -> Void) {
    var groups: [Int: [String]] = [:]
    for user in users { groups[Partition.of(user: user, count: keys.partitions), default: []].append(user) }
    for (partition, group) in groups {
      for start in stride(from: 0, to: group.count, by: CampaignStore.batch) {
        body(partition, group[start..<min(start + CampaignStore.batch, group.count)])
      }
    }
  }

  /// Returns the keys that scripts take for a suppression list beside those of any list: departures and arrivals.
  func suppressionKeys(_ partition: Int, _ list: String) -> [String] {
    SuppressionList(segment: list) == nil ? [] : [keys.departures(partition), keys.arrivals(partition, list)]
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
    for start in stride(from: 0, to: keys.partitions, by: CampaignStore.batch) {
      var pipeline = RedisPipeline()
      for partition in start..<min(start + CampaignStore.batch, keys.partitions) {
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
      try await store.expansion.forEachUser(of: search, in: partition) { page in
        try body(page.members.compactMap(\.string))
      }
    }
  }

  /// Walks over the users for whom an expression holds, in no order, each once.
  ///
  /// - Throws: ``StoreError`` `invalid` when it names a segment that doesn't exist.
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
