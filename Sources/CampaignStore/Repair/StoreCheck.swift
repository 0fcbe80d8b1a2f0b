import PushCore
import Redis

/// Holding the store's keys against each other.
extension Repair {
  /// Looks for everything in the store that should be otherwise, and mends what can be mended safely.
  ///
  /// It may run beside workers and imports. What takes several steps in several slots is looked at twice, and reported
  /// when it is the same both times; what one script keeps is looked at by one script. Every mend looks again in the
  /// script that does it. Commands read a page at a time, except what workers read to find lost slices and the names of
  /// the registrations under way in a partition. Where a key that everything depends on has another type, only keys are
  /// looked at; where a key of one partition has, the looks that need it are left out.
  ///
  /// - Parameters:
  ///   - mends: whether to mend.
  ///   - pause: between the two looks: longer than the steps of a registration take.
  ///   - found: gets what was found, in the order of the looks.
  /// - Returns: how much was looked at.
  /// - Throws: ``StoreError``, `RedisError`, and what `found` throws.
  public func check(
    mending mends: Bool = false, pause: Duration = .seconds(2), found: ([StoreFinding]) throws -> Void
  ) async throws -> StoreCheckTally {
    var check = StoreCheck(store: store, mends: mends, pause: pause)
    let names = try await check.keys(found)
    guard !names.isUnreadable else { return check.tally }
    let partitions = 0..<keys.partitions
    for partition in partitions { try await check.pass(names, found) { try await $0.registrations(in: partition) } }
    // First what is where it can't be found: then who has which token can be said.
    for partition in partitions {
      try await check.pass(names, found) { try await $0.places(in: partition, segments: names.segments.keys) }
    }
    // Opt-outs count under ids as they are read today before any device does.
    let lists = StoreCheck.optOutsFirst(names.segments.keys)
    if mends {
      for partition in partitions {
        try await check.pass(names, found) {
          try await $0.unite(lists, in: partition)
          return []
        }
      }
    }
    for partition in partitions { try await check.pass(names, found) { try await $0.renames(in: partition) } }
    for partition in partitions { try await check.pass(names, found) { try await $0.owners(in: partition) } }
    for partition in partitions { try await check.pass(names, found) { try await $0.users(in: partition) } }
    for partition in partitions {
      try await check.pass(names, found) { try await $0.members(of: lists, in: partition) }
    }
    try await check.campaigns(names, found)
    return check.tally
  }
}

/// A walk through the store; its passes are in the extensions.
struct StoreCheck {
  let store: CampaignStore
  let mends: Bool
  let pause: Duration
  var tally = StoreCheckTally()
  /// Users who are in another partition than theirs, and stay there.
  var misplaced: Set<String> = []

  let undelivered: UndeliveredTokens

  init(store: CampaignStore, mends: Bool, pause: Duration) {
    (self.store, self.mends, self.pause) = (store, mends, pause)
    undelivered = UndeliveredTokens(in: store)
  }

  var keys: Keyspace { store.keys }

  /// Looks at a part of the store. Where a key has another type that this part needs, the part is left out: the key is
  /// among the findings.
  mutating func pass(
    _ names: Names, _ found: ([StoreFinding]) throws -> Void,
    _ look: (inout StoreCheck) async throws -> [StoreFinding]
  ) async throws {
    do {
      try found(try await look(&self))
    } catch let error as StoreError where names.explain(error) {
      tally.leftOut += 1
    }
  }

  /// What was found and can be mended.
  func finding(_ kind: StoreFinding.Kind, _ key: String, _ subject: String = "", _ detail: String = "") -> StoreFinding
  {
    StoreFinding(kind: kind, key: key, subject: subject, detail: detail, standing: mends ? .mended : .mendable)
  }

  /// What was found and only a person can mend.
  func open(_ kind: StoreFinding.Kind, _ key: String, _ subject: String = "", _ detail: String = "") -> StoreFinding {
    StoreFinding(kind: kind, key: key, subject: subject, detail: detail, standing: .open)
  }

  /// What both of two looks see, with time between them for what is in motion.
  ///
  /// - Parameter look: looks at these things, and gives those of them that are not as they should be.
  func twice<Thing>(_ things: [Thing], _ look: ([Thing]) async throws -> [Thing]) async throws -> [Thing] {
    guard !things.isEmpty else { return [] }
    let suspects = try await look(things)
    guard !suspects.isEmpty else { return [] }
    try await Task.sleep(for: pause)
    return try await look(suspects)
  }

  /// Reads keys, a set or a hash to the end, a page at a time.
  ///
  /// - Parameters:
  ///   - home: a key of the server that is asked, where the command names none.
  ///   - read: writes the command for a page from a cursor on.
  ///   - body: gets the page's entries: of a hash, fields and values in turn.
  func forEachPage(
    with home: String? = nil, _ read: (String, inout RedisPipeline) -> Void,
    _ body: (RedisReply) async throws -> Void
  ) async throws {
    var cursor = "0"
    repeat {
      var pipeline = RedisPipeline()
      if let home { pipeline.append("EXISTS", home) }
      read(cursor, &pipeline)
      let reply = try await store.run(pipeline)[pipeline.count - 1]
      cursor = reply[0].string ?? "0"
      if !reply[1].isEmpty { try await body(reply[1]) }
    } while cursor != "0"
  }

  /// The fields and values of a hash, a page at a time.
  func forEachField(of key: String, _ body: ([(RedisReply, RedisReply)]) async throws -> Void) async throws {
    try await forEachPage {
      $1.append("HSCAN", key, $0, "COUNT", CampaignStore.batch)
    } _: { pairs in
      try await body(stride(from: 0, to: pairs.count - 1, by: 2).map { (pairs[$0], pairs[$0 + 1]) })
    }
  }

  /// The members of a set, a page at a time.
  func forEachMember(of key: String, _ body: ([String]) async throws -> Void) async throws {
    try await forEachPage {
      $1.append("SSCAN", key, $0, "COUNT", CampaignStore.batch)
    } _: { page in
      try await body(page.compactMap(\.string))
    }
  }

  /// The members of a sorted set, a page at a time.
  func forEachRanked(in key: String, _ body: ([String]) async throws -> Void) async throws {
    try await forEachPage {
      $1.append("ZSCAN", key, $0, "COUNT", CampaignStore.batch)
    } _: { pairs in
      try await body(stride(from: 0, to: pairs.count - 1, by: 2).compactMap { pairs[$0].string })
    }
  }

  /// A token for people.
  static func text(_ token: some Sequence<UInt8>) -> String {
    String(decoding: Hex.encode(Array(token)), as: UTF8.self)
  }
}
