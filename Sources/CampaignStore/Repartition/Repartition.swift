import PushCore
import Redis

/// The numbers of moved objects of a repartition.
public struct RepartitionTally: Equatable, Sendable {
  /// Users that moved.
  public var users = 0
  /// Tokens whose entry in the index of owners moved.
  public var tokens = 0
  /// Users of segments that moved, counted once for each segment.
  public var members = 0
  /// Campaigns that have not begun and got new slices.
  public var campaigns = 0

  /// Creates empty numbers.
  public init() {}
}

/// Changes the number of partitions.
public struct Repartition: StoreRoom {
  let store: CampaignStore

  /// Moves all data to its partition under another number of partitions, and then gives the store that number. The
  /// store must be held for the number, without running campaigns and live workers (``obstacles(timeout:)``).
  ///
  /// All data is written to its new place before it leaves the old one. So the move may be interrupted at any time and
  /// repeated, for the same number or another one. A writer that began before the hold may still write to the old
  /// places. Therefore the passes through the store are repeated until no data moves.
  ///
  /// - Parameters:
  ///   - count: the new number of partitions.
  ///   - spread: number of partitions that may have users, see ``hold(for:)``.
  ///   - progress: called after each partition, with the pass and the number of completed partitions.
  /// - Throws: ``StoreError`` `conflict` if the store is held for another number by now, and errors of `progress`.
  public func change(
    to count: Int, spread: Int, progress: (_ pass: Int, _ done: Int) async throws -> Void = { _, _ in }
  ) async throws -> RepartitionTally {
    guard let wanted = Keyspace(namespace: keys.namespace, partitions: count) else {
      throw StoreError(.invalid, "a store can't have \(count) partitions", hint: "it can have 1 to 16384")
    }
    var move = RepartitionMove(here: store, there: store.withPartitions(of: wanted))
    try await move.settle(0..<spread)
    var (pass, before) = (1, RepartitionTally())
    repeat {
      before = move.tally
      for partition in 0..<spread {
        try await move.marks(of: partition)
        try await move.users(of: partition)
        try await move.retained(of: partition)
        try await move.members(of: partition)
        try await progress(pass, partition + 1)
      }
      // The owner's device, which has moved by now, has the push service of the token.
      for partition in 0..<spread { try await move.owners(of: partition) }
      pass += 1
    } while move.tally != before
    try await move.campaigns(spread)
    var pipeline = RedisPipeline()
    pipeline.script(StoreScripts.repartition, keys: [keys.store, keys.epoch, keys.wake]) { $0.append(count) }
    guard try await run(pipeline)[0].integer == 1 else {
      throw StoreError(
        .conflict, "the store is not held for \(count) partitions any more",
        hint: "somebody else runs carillon store repartition")
    }
    return move.tally
  }
}

/// A repartition in progress.
private struct RepartitionMove {
  /// Entries of a hash or set in a page.
  private static let page = 200
  /// A limit above the number of devices of any user, so that a move evicts no device.
  private static let devicesPerUser = 1_000_000

  /// The store with its present number of partitions.
  let here: CampaignStore
  /// The store with its future number of partitions.
  let there: CampaignStore
  var tally = RepartitionTally()

  private var keys: Keyspace { here.keys }

  init(here: CampaignStore, there: CampaignStore) {
    self.here = here
    self.there = there
  }

  private func home(ofUser bytes: [UInt8]) -> Int { Partition.of(user: bytes, count: there.keys.partitions) }

  /// Completes registrations and feedback in the present partitions.
  func settle(_ partitions: Range<Int>) async throws {
    _ = try await here.results.deliverFeedback(from: partitions)
    for partition in partitions { while try await here.registry.redoMoves(in: partition) > 0 {} }
  }

  // MARK: Users

  private struct User {
    var name: [UInt8]
    /// The device records.
    var blob: [UInt8]
    var attributes: [UInt8] = []
    /// Badges and frequency cap counters; empty for none.
    var pressure: [UInt8] = []
  }

  /// Moves the users of a partition who belong to another one, with their devices, attributes, counters and quarantine
  /// notes.
  mutating func users(of partition: Int) async throws {
    try await forEachPage("HSCAN", keys.devices(partition)) { move, reply in
      var users: [User] = []
      for (name, blob) in Self.pairs(reply) where move.home(ofUser: name) != partition {
        users.append(User(name: name, blob: blob))
      }
      guard !users.isEmpty else { return }
      try await move.copy(&users, from: partition)
      var pipeline = RedisPipeline()
      pipeline.script(
        StoreScripts.moveUsers,
        keys: [
          move.keys.devices(partition), move.keys.users(partition), move.keys.attributes(partition),
          move.keys.quarantine(partition), move.keys.pressure(partition),
        ]
      ) {
        for user in users {
          $0.append(user.name)
          $0.append(user.blob)
        }
      }
      move.tally.users += try await move.here.run(pipeline)[0].integer ?? 0
    }
  }

  private func copy(_ users: inout [User], from partition: Int) async throws {
    let held = users.flatMap { user in
      user.blob.withUnsafeBytes { blob in
        DeviceCursor(blob).filter(\.isQuarantined).map { (user: user.name, token: Array($0.token)) }
      }
    }
    var pipeline = RedisPipeline()
    pipeline.command("HMGET") {
      $0.append(keys.attributes(partition))
      for user in users { $0.append(user.name) }
    }
    pipeline.command("HMGET") {
      $0.append(keys.pressure(partition))
      for user in users { $0.append(user.name) }
    }
    if !held.isEmpty {
      pipeline.command("HMGET") {
        $0.append(keys.quarantine(partition))
        for device in held { $0.append(device.token) }
      }
    }
    let replies = try await here.run(pipeline)
    for (index, attributes) in replies[0].enumerated() {
      users[index].attributes = attributes.bytes.map(Array.init) ?? []
    }
    for (index, pressure) in replies[1].enumerated() {
      users[index].pressure = pressure.bytes.map(Array.init) ?? []
    }
    try await enter(users)
    pipeline.removeAll()
    for user in users where !user.pressure.isEmpty {
      pipeline.append("HSETNX", keys.pressure(home(ofUser: user.name)), user.name, user.pressure)
    }
    for (device, note) in zip(held, held.isEmpty ? [] : Array(replies[2])) where !note.isNull {
      pipeline.append("HSETNX", keys.quarantine(home(ofUser: device.user)), device.token, note)
    }
    if !pipeline.isEmpty { _ = try await here.run(pipeline) }
  }

  /// Writes users to their new partitions. If a device is there already, the later registration wins.
  private func enter(_ users: [User]) async throws {
    // Each row is user, record of one device, attributes.
    var waiting: [Int: ArraySlice<([UInt8], [UInt8], [UInt8])>] = [:]
    for user in users {
      let rows = user.blob.withUnsafeBytes { blob in
        DeviceCursor(blob).map { (user.name, Array($0.bytes), user.attributes) }
      }
      waiting[home(ofUser: user.name), default: []] += rows
    }
    // A script stops early if records are large. The next call gets the remaining rows.
    while !waiting.isEmpty {
      let parts = Array(waiting)
      var pipeline = RedisPipeline()
      for (partition, rows) in parts {
        pipeline.script(
          StoreScripts.upsert,
          keys: [
            keys.devices(partition), keys.users(partition), keys.attributes(partition), keys.quarantine(partition),
            keys.removals(partition), keys.erased(partition), keys.retained(partition), keys.departures(partition),
            keys.moving(partition),
          ]
        ) {
          $0.append(Self.devicesPerUser)
          $0.append(0)
          $0.append("")
          for (user, record, attributes) in rows {
            $0.append(user)
            $0.append(record)
            $0.append(attributes)
          }
        }
      }
      waiting = [:]
      for ((partition, rows), reply) in zip(parts, try await here.run(pipeline)) {
        let rest = rows.dropFirst(max(1, reply.first?.integer ?? rows.count))
        if !rest.isEmpty { waiting[partition] = rest }
      }
    }
  }

  // MARK: Statements

  /// Copies the statements of a partition about removals and erasures to every partition that may get their users and
  /// tokens. They have only digests, so their exact partition is unknown. Unneeded copies expire with the others.
  mutating func marks(of partition: Int) async throws {
    let step = Self.greatestCommonDivisor(keys.partitions, there.keys.partitions)
    let homes = stride(from: partition % step, to: there.keys.partitions, by: step).filter { $0 != partition }
    for key in [Keyspace.removals, Keyspace.erased] {
      try await forEachPage("ZSCAN", key(keys)(partition)) { move, reply in
        try await move.enter(Self.pairs(reply), homes.map { key(move.keys)($0) })
      }
    }
  }

  /// Writes members of a sorted set into others. The later time wins.
  private func enter(_ pairs: [(token: [UInt8], text: [UInt8])], _ homes: [String]) async throws {
    guard !pairs.isEmpty, !homes.isEmpty else { return }
    var pipeline = RedisPipeline()
    for home in homes {
      pipeline.command("ZADD") {
        $0.append(home)
        $0.append("GT")
        for (member, score) in pairs {
          $0.append(score)
          $0.append(member)
        }
      }
    }
    _ = try await here.run(pipeline)
  }

  private static func greatestCommonDivisor(_ one: Int, _ other: Int) -> Int {
    other == 0 ? one : greatestCommonDivisor(other, one % other)
  }

  /// Moves the retained data of users without a device.
  mutating func retained(of partition: Int) async throws {
    try await forEachPage("ZSCAN", keys.retained(partition)) { move, reply in
      let away = Self.pairs(reply).filter { move.home(ofUser: $0.token) != partition }
      guard !away.isEmpty else { return }
      var pipeline = RedisPipeline()
      for (user, _) in away {
        pipeline.append("HGET", move.keys.attributes(partition), user)
        pipeline.append("HGET", move.keys.pressure(partition), user)
      }
      let known = try await move.here.run(pipeline)
      pipeline.removeAll()
      for (index, (user, since)) in away.enumerated() {
        let home = move.home(ofUser: user)
        if !known[2 * index].isNull {
          pipeline.append("HSETNX", move.keys.attributes(home), user, known[2 * index])
        }
        if !known[2 * index + 1].isNull {
          pipeline.append("HSETNX", move.keys.pressure(home), user, known[2 * index + 1])
        }
        pipeline.append("ZADD", move.keys.retained(home), since, user)
      }
      _ = try await move.here.run(pipeline)
      pipeline.removeAll()
      for (user, _) in away {
        pipeline.append("HDEL", move.keys.attributes(partition), user)
        pipeline.append("HDEL", move.keys.pressure(partition), user)
        pipeline.append("ZREM", move.keys.retained(partition), user)
      }
      _ = try await move.here.run(pipeline)
    }
  }

  // MARK: Segments

  /// Moves the times of statements about single users of a segment, and copies the time of the whole segment to all
  /// partitions.
  private mutating func times(of name: String, _ partition: Int) async throws {
    let key = keys.stated(partition, name)
    try await forEachPage("ZSCAN", key) { move, reply in
      let pairs = Self.pairs(reply)
      let whole = pairs.filter(\.token.isEmpty)
      try await move.enter(whole, (0..<move.there.keys.partitions).map { move.keys.stated($0, name) })
      let away = pairs.filter { !$0.token.isEmpty && move.home(ofUser: $0.token) != partition }
      for (home, pairs) in Dictionary(grouping: away, by: { move.home(ofUser: $0.token) }) {
        try await move.enter(pairs, [move.keys.stated(home, name)])
      }
      guard !away.isEmpty else { return }
      var pipeline = RedisPipeline()
      pipeline.command("ZREM") {
        $0.append(key)
        for (user, _) in away { $0.append(user) }
      }
      _ = try await move.here.run(pipeline)
    }
  }

  /// Moves the users of segments who belong to another partition, with or without devices.
  mutating func members(of partition: Int) async throws {
    for name in try await here.audiences.userLists() {
      try await times(of: name, partition)
      let key = keys.segment(partition, name)
      try await forEachPage("SSCAN", key) { move, reply in
        let away = reply.compactMap { $0.bytes.map(Array.init) }.filter { move.home(ofUser: $0) != partition }
        guard !away.isEmpty else { return }
        var pipeline = RedisPipeline()
        for (home, users) in Dictionary(grouping: away, by: move.home) {
          pipeline.command("SADD") {
            $0.append(move.keys.segment(home, name))
            for user in users { $0.append(user) }
          }
        }
        _ = try await move.here.run(pipeline)
        pipeline.removeAll()
        pipeline.command("SREM") {
          $0.append(key)
          for user in away { $0.append(user) }
        }
        move.tally.members += try await move.here.run(pipeline)[0].integer ?? 0
      }
    }
  }

  // MARK: Owners

  /// Moves the entries of a partition's index of owners that belong to another partition. An entry whose device does
  /// not exist is invalid and stays. The next registration of the token may find it.
  mutating func owners(of partition: Int) async throws {
    try await forEachPage("HSCAN", keys.owner(partition)) { move, reply in
      let entries = Self.pairs(reply)
      let services = try await move.services(of: entries)
      var pipeline = RedisPipeline()
      var away: [(token: [UInt8], text: [UInt8])] = []
      for ((token, text), service) in zip(entries, services) {
        guard let service else { continue }
        let home = try move.there.registry.partition(of: Registry.OwnedToken(token, service))
        guard home != partition else { continue }
        pipeline.append("HSETNX", move.keys.owner(home), token, text)
        away.append((token, text))
      }
      guard !away.isEmpty else { return }
      _ = try await move.here.run(pipeline)
      pipeline.removeAll()
      pipeline.script(StoreScripts.moveOwners, keys: [move.keys.owner(partition)]) {
        for entry in away {
          $0.append(entry.token)
          $0.append(entry.text)
        }
      }
      move.tally.tokens += try await move.here.run(pipeline)[0].integer ?? 0
    }
  }

  /// Returns the push service of each token from its owner's device, which has moved already; `nil` if the owner has no
  /// such device.
  private func services(of entries: [(token: [UInt8], text: [UInt8])]) async throws -> [String?] {
    // The entry is `at:user`.
    let users = entries.map { $0.text.drop { $0 != UInt8(ascii: ":") }.dropFirst() }
    var services = [String?](repeating: nil, count: entries.count)
    try await here.registry.perPartition(entries.indices, of: { home(ofUser: Array(users[$0])) }) {
      partition, part, pipeline in
      pipeline.command("HMGET") {
        $0.append(keys.devices(partition))
        for index in part { $0.append(Array(users[index])) }
      }
    } replies: { part, records in
      for (index, record) in zip(part, records) {
        services[index] = record.withBytes { bytes in
          DeviceCursor(bytes).first { $0.token.elementsEqual(entries[index].token) }?.text(.service)
        }
      }
    }
    return services
  }

  // MARK: Campaigns

  /// Gives campaigns that have not begun new slices and audiences. Campaigns that have begun have ended by now, and
  /// keep their slices.
  mutating func campaigns(_ spread: Int) async throws {
    var position = 0
    while true {
      var pipeline = RedisPipeline()
      pipeline.append("ZRANGE", keys.all, position, position + Self.page - 1)
      let ids = try await here.run(pipeline)[0].compactMap(\.string)
      guard !ids.isEmpty else { return }
      position += ids.count
      for id in ids { try await reslice(id, spread) }
    }
  }

  private mutating func reslice(_ id: String, _ spread: Int) async throws {
    guard let (record, job) = try await here.campaigns.findWithJob(id), !record.state.isFinal else { return }
    let campaign = try record.campaign(job, .any(here.services.service(ofApp: record.app)))
    // The campaign, not its parts, has the keys of the listed users.
    guard campaign.part == nil else {
      return try await reslice(id, to: there.queue.listedPartitions(of: campaign))
    }
    for start in stride(from: 0, to: spread, by: CampaignStore.batch) {
      var pipeline = RedisPipeline()
      for partition in start..<min(start + CampaignStore.batch, spread) {
        pipeline.append("UNLINK", keys.audience(partition, id))
        if !campaign.message.hasValuesBeside { pipeline.append("UNLINK", keys.values(partition, id)) }
      }
      _ = try await here.run(pipeline)
    }
    if campaign.message.hasValuesBeside {
      for partition in 0..<spread { try await moveValues(of: id, in: partition) }
    }
    // A repeated job is itself sent to no user.
    let isSent = campaign.delivery.timing.repetition == nil
    try await reslice(id, to: isSent ? there.queue.writeAudience(of: campaign) : [])
  }

  private mutating func reslice(_ id: String, to partitions: [Int]) async throws {
    var pipeline = RedisPipeline()
    pipeline.script(
      StoreScripts.reslice, keys: [keys.campaign(id), keys.open(id), keys.finished(id), keys.running]
    ) {
      $0.append(id)
      $0.append(there.keys.partitions)
      $0.append(PartitionBitmap(allBut: partitions, of: there.keys.partitions).bytes)
      for partition in partitions { $0.append(partition) }
    }
    tally.campaigns += try await here.run(pipeline)[0].integer ?? 0
  }

  /// Moves the separately uploaded values of a job to the partitions of their users.
  private mutating func moveValues(of id: String, in partition: Int) async throws {
    try await forEachPage("HSCAN", keys.values(partition, id)) { move, pairs in
      var moved: [Int: [Int]] = [:]
      for index in stride(from: 0, to: pairs.count - 1, by: 2) {
        let home = move.home(ofUser: Array(pairs[index].bytes ?? []))
        if home != partition { moved[home, default: []].append(index) }
      }
      for part in [true, false] {
        // Values are deleted only after they were written to their new place.
        var pipeline = RedisPipeline()
        for (home, indexes) in moved {
          pipeline.command(part ? "HSET" : "HDEL") { arguments in
            arguments.append(move.keys.values(part ? home : partition, id))
            for index in indexes {
              arguments.append(pairs[index])
              if part { arguments.append(pairs[index + 1]) }
            }
          }
        }
        if !pipeline.isEmpty { _ = try await move.here.run(pipeline) }
      }
    }
  }

  // MARK: Pages

  /// Calls `body` with a hash or set, a page at a time.
  private mutating func forEachPage(
    _ command: StaticString, _ key: String, _ body: (inout RepartitionMove, RedisReply) async throws -> Void
  ) async throws {
    var cursor = "0"
    repeat {
      var pipeline = RedisPipeline()
      pipeline.command(command) {
        $0.append(key)
        $0.append(cursor)
        $0.append("COUNT")
        $0.append(Self.page)
      }
      let reply = try await here.run(pipeline)[0]
      cursor = reply[0].string ?? "0"
      if !reply[1].isEmpty { try await body(&self, reply[1]) }
    } while cursor != "0"
  }

  private static func pairs(_ reply: RedisReply) -> [(token: [UInt8], text: [UInt8])] {
    stride(from: 0, to: reply.count - 1, by: 2).map {
      (reply[$0].bytes.map(Array.init) ?? [], reply[$0 + 1].bytes.map(Array.init) ?? [])
    }
  }
}
