import PushCore
import Redis

/// The complete check of the store, which compares keys with each other.
extension Repair {
  /// Finds every inconsistency of the store, and repairs those that can be repaired safely.
  ///
  /// The check may run while workers and imports run. Some data changes in several steps or in several slots. The check
  /// reads such data twice, and reports a difference only if both reads find it. Data that one script changes is also
  /// checked by one script. Before a repair writes, it checks again in the same script. Commands read a page at a time,
  /// with two exceptions: the data that workers read to find lost slices, and the names of the registrations in
  /// progress in a partition. If a key that everything depends on has a wrong type, only the keys are checked. If a key
  /// of one partition has a wrong type, the checks that need this key are left out.
  ///
  /// - Parameters:
  ///   - repairs: whether to repair.
  ///   - pause: time between two reads of the same data. It is longer than the steps of a registration.
  ///   - found: gets the findings, in the order of the checks.
  /// - Returns: the numbers of checked objects.
  /// - Throws: ``StoreError``, `RedisError`, and errors of `found`.
  public func check(
    repairing repairs: Bool = false, pause: Duration = .seconds(2), found: ([StoreFinding]) throws -> Void
  ) async throws -> StoreCheckTally {
    var check = StoreCheck(store: store, repairs: repairs, pause: pause)
    let names = try await check.keys(found)
    guard !names.isUnreadable else { return check.tally }
    let partitions = 0..<keys.partitions
    for partition in partitions { try await check.runCheck(names, found) { try await $0.registrations(in: partition) } }
    // Check for users in wrong partitions first, because the owners of tokens can only be checked after that.
    for partition in partitions {
      try await check.runCheck(names, found) { try await $0.places(in: partition, segments: names.segments.keys) }
    }
    // The opt-outs must have the present ids before any device has such an id.
    let lists = StoreCheck.optOutsFirst(names.segments.keys)
    if repairs {
      for partition in partitions {
        try await check.runCheck(names, found) {
          try await $0.addPresentForms(to: lists, in: partition)
          return []
        }
      }
    }
    for partition in partitions { try await check.runCheck(names, found) { try await $0.renames(in: partition) } }
    for partition in partitions { try await check.runCheck(names, found) { try await $0.owners(in: partition) } }
    for partition in partitions { try await check.runCheck(names, found) { try await $0.users(in: partition) } }
    for partition in partitions {
      try await check.runCheck(names, found) { try await $0.members(of: lists, in: partition) }
    }
    try await check.campaigns(names, found)
    return check.tally
  }
}

/// The state of one check. Its passes over the store are in the extensions.
struct StoreCheck {
  let store: CampaignStore
  let repairs: Bool
  let pause: Duration
  var tally = StoreCheckTally()
  /// Users who are in a wrong partition and were not moved.
  var misplaced: Set<String> = []

  let undelivered: UndeliveredTokens

  init(store: CampaignStore, repairs: Bool, pause: Duration) {
    (self.store, self.repairs, self.pause) = (store, repairs, pause)
    undelivered = UndeliveredTokens(in: store)
  }

  var keys: Keyspace { store.keys }

  /// Runs one pass. If the pass fails because of a key whose wrong type is already reported, the pass is counted as
  /// left out.
  mutating func runCheck(
    _ names: Names, _ found: ([StoreFinding]) throws -> Void,
    _ look: (inout StoreCheck) async throws -> [StoreFinding]
  ) async throws {
    do {
      try found(try await look(&self))
    } catch let error as StoreError where names.explain(error) {
      tally.leftOut += 1
    }
  }

  /// Creates a finding that can be repaired.
  func finding(_ kind: StoreFinding.Kind, _ key: String, _ subject: String = "", _ detail: String = "") -> StoreFinding
  {
    StoreFinding(kind: kind, key: key, subject: subject, detail: detail, standing: repairs ? .repaired : .repairable)
  }

  /// Creates a finding that only an operator can repair.
  func open(_ kind: StoreFinding.Kind, _ key: String, _ subject: String = "", _ detail: String = "") -> StoreFinding {
    StoreFinding(kind: kind, key: key, subject: subject, detail: detail, standing: .open)
  }

  /// Checks objects twice, and returns those with a problem in both checks. The pause between the checks lets changes
  /// in progress end.
  ///
  /// - Parameter look: checks the given objects, and returns those with a problem.
  func twice<Thing>(_ things: [Thing], _ look: ([Thing]) async throws -> [Thing]) async throws -> [Thing] {
    guard !things.isEmpty else { return [] }
    let suspects = try await look(things)
    guard !suspects.isEmpty else { return [] }
    try await Task.sleep(for: pause)
    return try await look(suspects)
  }

  /// Reads all keys, or all members of a set or hash, a page at a time.
  ///
  /// - Parameters:
  ///   - home: if the command has no key, a key of the server to read.
  ///   - read: appends the command for a page at a cursor.
  ///   - body: gets the entries of the page: for a hash, fields and values in turn.
  func forEachPage(
    with home: String? = nil, _ read: (String, inout RedisPipeline) -> Void,
    _ body: (RedisReply) async throws -> Void
  ) async throws {
    try await store.forEachPage { cursor, pipeline in
      if let home { pipeline.append("EXISTS", home) }
      read(cursor, &pipeline)
    } _: { page in
      try await body(page)
      return true
    }
  }

  /// Calls `body` with the fields and values of a hash, a page at a time.
  func forEachField(of key: String, _ body: ([(RedisReply, RedisReply)]) async throws -> Void) async throws {
    try await forEachPage {
      $1.append("HSCAN", key, $0, "COUNT", CampaignStore.batch)
    } _: { pairs in
      try await body(stride(from: 0, to: pairs.count - 1, by: 2).map { (pairs[$0], pairs[$0 + 1]) })
    }
  }

  /// Calls `body` with the members of a set, a page at a time.
  func forEachMember(of key: String, _ body: ([String]) async throws -> Void) async throws {
    try await forEachPage {
      $1.append("SSCAN", key, $0, "COUNT", CampaignStore.batch)
    } _: { page in
      try await body(page.compactMap(\.string))
    }
  }

  /// Calls `body` with the members of a sorted set, a page at a time.
  func forEachRanked(in key: String, _ body: ([String]) async throws -> Void) async throws {
    try await forEachPage {
      $1.append("ZSCAN", key, $0, "COUNT", CampaignStore.batch)
    } _: { pairs in
      try await body(stride(from: 0, to: pairs.count - 1, by: 2).compactMap { pairs[$0].string })
    }
  }

  /// Returns a token as text for people.
  static func text(_ token: some Sequence<UInt8>) -> String {
    String(decoding: Hex.encode(Array(token)), as: UTF8.self)
  }
}
