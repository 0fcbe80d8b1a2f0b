import PushCore
import Redis

/// Checks users: whether they are in their own partition, and the data of the partition about them.
extension StoreCheck {
  // MARK: Places

  /// Finds users and members of segments who belong to another partition.
  mutating func places(in partition: Int, segments: some Collection<String>) async throws -> [StoreFinding] {
    var findings: [StoreFinding] = []
    if keys.partitions == 1 { return findings }
    for segment in segments.sorted() {
      try await forEachMember(of: keys.segment(partition, segment)) { members in
        findings += try await move(members.filter { place(of: $0) != partition }, of: segment, from: partition)
      }
    }
    let key = keys.devices(partition)
    var lost: Set<String> = []
    try await forEachField(of: key) { page in
      let foreignUsers = page.compactMap { user, record in user.string.map { ($0, record) } }
        .filter { place(of: $0.0) != partition }
      guard !foreignUsers.isEmpty else { return }
      lost.formUnion(foreignUsers.map(\.0))
      if repairs { try await move(foreignUsers, from: partition) }
    }
    if !repairs { misplaced.formUnion(lost) }
    return findings + lost.sorted().map { finding(.misplacedUser, key, $0) }
  }

  private func place(of user: String) -> Int { Partition.of(user: user, count: keys.partitions) }

  /// Moves members of a segment: adds them to their own partitions, then removes them from this one.
  private func move(_ foreignUsers: [String], of segment: String, from partition: Int) async throws -> [StoreFinding] {
    let key = keys.segment(partition, segment)
    // The segment may have been removed or replaced since.
    let users = try await twice(foreignUsers) { users in
      var pipeline = RedisPipeline()
      for user in users { pipeline.append("SISMEMBER", key, user) }
      return zip(users, try await store.run(pipeline)).filter { $1.integer == 1 }.map(\.0)
    }
    if repairs, !users.isEmpty {
      var pipeline = RedisPipeline()
      for user in users { pipeline.append("SADD", keys.segment(place(of: user), segment), user) }
      _ = try await store.run(pipeline)
      pipeline.removeAll()
      for user in users { pipeline.append("SREM", key, user) }
      _ = try await store.run(pipeline)
    }
    return users.map { finding(.misplacedMember, key, $0) }
  }

  /// Moves devices: registers them in their users' own partitions, then removes them from this one. If a device was
  /// registered later for another user, it is only removed.
  private func move(_ foreignUsers: [(String, RedisReply)], from partition: Int) async throws {
    var pipeline = RedisPipeline()
    pipeline.command("HMGET") { arguments in
      arguments.append(keys.attributes(partition))
      for (user, _) in foreignUsers { arguments.append(user) }
    }
    pipeline.command("HMGET") { arguments in
      arguments.append(keys.pressure(partition))
      for (user, _) in foreignUsers { arguments.append(user) }
    }
    let replies = try await store.run(pipeline)
    let (attributes, pressure) = (replies[0], replies[1])
    var registrations: [DeviceRegistration] = []
    for ((user, record), attributes) in zip(foreignUsers, attributes) {
      registrations += record.withBytes(DeviceRecord.all).filter { store.services[$0.service] != nil }.map {
        DeviceRegistration(user: user, device: $0, attributes: attributes.bytes.map(Array.init) ?? [])
      }
    }
    try await store.registry.register(registrations)
    pipeline.removeAll()
    for ((user, _), pressure) in zip(foreignUsers, pressure) where !pressure.isNull {
      pipeline.append("HSETNX", keys.pressure(place(of: user)), user, pressure)
    }
    if !pipeline.isEmpty { _ = try await store.run(pipeline) }
    pipeline.removeAll()
    pipeline.script(
      StoreScripts.repairPlace,
      keys: [
        keys.devices(partition), keys.users(partition), keys.attributes(partition), keys.pressure(partition),
      ]
    ) {
      for (user, record) in foreignUsers {
        $0.append(user)
        $0.append(record)
      }
    }
    _ = try await store.run(pipeline)
  }

  // MARK: Records

  /// Checks the data of a partition about its users, and the tokens of their devices.
  mutating func users(in partition: Int) async throws -> [StoreFinding] {
    var findings: [StoreFinding] = []
    var known: Set<StoreFinding> = []
    func add(_ more: [StoreFinding]) {
      for finding in more where known.insert(finding).inserted { findings.append(finding) }
    }
    var users = 0
    try await forEachField(of: keys.devices(partition)) { page in
      users += page.count
      var devices: [Device] = []
      for (user, record) in page {
        guard let user = user.string, place(of: user) == partition else { continue }
        devices += record.withBytes(DeviceRecord.all).map {
          Device(
            user: user, token: Registry.OwnedToken($0.token, $0.service), registeredAt: Int($0.registeredAt))
        }
      }
      add(try await check(page.compactMap(\.0.string), in: partition))
      add(try await tokens(of: devices, in: partition))
    }
    tally.users += users
    // The following keys may have users without devices, which the pass over devices did not find.
    try await forEachField(of: keys.attributes(partition)) { page in
      add(try await check(page.compactMap(\.0.string), in: partition))
    }
    try await forEachField(of: keys.pressure(partition)) { page in
      add(try await check(page.compactMap(\.0.string), in: partition))
    }
    try await forEachMember(of: keys.users(partition)) { page in add(try await check(page, in: partition)) }
    try await forEachField(of: keys.quarantine(partition)) { page in
      add(try await notes(page, in: partition))
    }
    return findings
  }

  private func check(_ users: [String], in partition: Int) async throws -> [StoreFinding] {
    let (devices, names) = (keys.devices(partition), keys.users(partition))
    let (attributes, quarantine) = (keys.attributes(partition), keys.quarantine(partition))
    let pressure = keys.pressure(partition)
    let mine = users.filter { place(of: $0) == partition || !misplaced.contains($0) }
    var pipeline = RedisPipeline()
    for page in mine.batches(of: Self.recordsPerBatch) {
      pipeline.script(
        StoreScripts.repairUsers,
        keys: [devices, names, attributes, quarantine, pressure, keys.retained(partition)]
      ) {
        $0.append(repairs ? 1 : 0)
        $0.append(Int(ReasonCode.other.rawValue))
        $0.append("found by store check")
        for user in page { $0.append(user) }
      }
    }
    guard !pipeline.isEmpty else { return [] }
    return try await store.run(pipeline).flatMap { reply in
      stride(from: 0, to: reply.count - 2, by: 3).compactMap { at -> StoreFinding? in
        let user = reply[at + 1].string ?? ""
        return switch reply[at].string {
        case "noDevices": finding(.userWithoutDevices, names, user)
        case "attributes": finding(.attributesWithoutDevices, attributes, user)
        case "pressure": finding(.capCountersWithoutDevices, pressure, user)
        case "notListed": finding(.userNotListed, names, user)
        case "unreadable": open(.unreadableRecord, devices, user)
        case "noNote":
          finding(.quarantinedWithoutReason, quarantine, Self.text(reply[at + 2].bytes ?? []), "user \(user)")
        default: nil
        }
      }
    }
  }

  /// Maximum number of users, or of entries of the quarantine list, in one call of a script. It is small, because one
  /// user may have a hundred devices.
  private static let recordsPerBatch = 100

  private func notes(_ page: [(RedisReply, RedisReply)], in partition: Int) async throws -> [StoreFinding] {
    let key = keys.quarantine(partition)
    var pipeline = RedisPipeline()
    for batch in page.batches(of: Self.recordsPerBatch) {
      pipeline.script(StoreScripts.repairQuarantine, keys: [keys.devices(partition), key]) {
        $0.append(repairs ? 1 : 0)
        for (token, note) in batch {
          $0.append(token)
          $0.append(DeviceNotice.all(in: note).first?.user ?? "")
          $0.append(note)
        }
      }
    }
    return try await store.run(pipeline).enumerated().flatMap { call, places in
      places.compactMap(\.integer).map { place in
        finding(.reasonWithoutDevice, key, Self.text(page[call * Self.recordsPerBatch + place].0.bytes ?? []))
      }
    }
  }
}
