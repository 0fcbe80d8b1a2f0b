import PushCore
import Redis

/// Checks tokens and their owners: compares the owner index with the records of users.
extension StoreCheck {
  /// An entry of the owner index: a token with its owner, as it was read.
  private struct Entry {
    var token: [UInt8]
    var text: RedisReply
    var owner: Registry.TokenOwner
    /// Push service of the owner's device; `nil` if the owner does not have the device.
    var service: String?
  }

  /// Finds the notes of registrations that have not ended (``RegistrationNote``).
  func registrations(in partition: Int) async throws -> [StoreFinding] {
    let key = keys.moving(partition)
    let left = try await twice([true]) { _ in
      var pipeline = RedisPipeline()
      pipeline.append("HLEN", key)
      return try await store.run(pipeline)[0].integer == 0 ? [] : [true]
    }
    guard !left.isEmpty else { return [] }
    let first = try await notes(key)
    try await Task.sleep(for: pause)
    let old = try await notes(key).intersection(first)
    guard !old.isEmpty else { return [] }
    var rest = old
    while repairs, !rest.isEmpty {
      // Each call completes some notes, also notes of other processes. The remaining notes are therefore read again
      // only after as many calls as they may need.
      for _ in 0..<(rest.count / Registry.notesPerBatch + 1) { _ = try await store.registry.redoMoves(in: partition) }
      rest.formIntersection(try await notes(key))
    }
    return old.sorted { $0.lexicographicallyPrecedes($1) }.map { finding(.unfinishedRegistration, key, Self.text($0)) }
  }

  private func notes(_ key: String) async throws -> Set<[UInt8]> {
    var pipeline = RedisPipeline()
    pipeline.append("HKEYS", key)
    return Set(try await store.run(pipeline)[0].compactMap { $0.bytes.map(Array.init) })
  }

  /// Finds entries of the owner index whose device does not exist, or that belong to another partition.
  mutating func owners(in partition: Int) async throws -> [StoreFinding] {
    let key = keys.owner(partition)
    let pending = PendingTokens(of: partition, in: store)
    var findings: [StoreFinding] = []
    var tokens = 0
    try await forEachField(of: key) { page in
      tokens += page.count
      var entries: [Entry] = []
      for (token, text) in page {
        let bytes = token.bytes.map(Array.init) ?? []
        if let owner = Registry.TokenOwner(text) {
          entries.append(Entry(token: bytes, text: text, owner: owner))
        } else {
          findings.append(open(.unreadableOwner, key, Self.text(bytes)))
        }
      }
      findings += try await check(entries, in: partition, pending)
    }
    tally.tokens += tokens
    return findings
  }

  private func check(
    _ entries: [Entry], in partition: Int, _ pending: PendingTokens
  ) async throws -> [StoreFinding] {
    let found = try await twice(entries) { entries in
      let there = try await unchanged(entries, in: partition, pending)
      var entries = try await withServices(there)
      entries.removeAll { entry in
        entry.service.map { (try? place(of: entry.token, $0)) == partition || store.services[$0] == nil }
          ?? misplaced.contains(entry.owner.user)
      }
      return try await withoutUndelivered(entries)
    }
    guard !found.isEmpty else { return [] }
    let key = keys.owner(partition)
    if repairs { try await remove(found, in: partition, pending) }
    return found.map {
      finding(
        $0.service == nil ? .ownerWithoutDevice : .misplacedOwner, key, Self.text($0.token), "user \($0.owner.user)")
    }
  }

  private func place(of token: [UInt8], _ service: String) throws -> Int {
    try store.registry.partition(of: Registry.OwnedToken(token, service))
  }

  /// Returns the entries that have not changed and don't belong to a registration in progress.
  private func unchanged(
    _ entries: [Entry], in partition: Int, _ pending: PendingTokens
  ) async throws -> [Entry] {
    guard !entries.isEmpty else { return [] }
    var pipeline = RedisPipeline()
    pipeline.command("HMGET") {
      $0.append(keys.owner(partition))
      for entry in entries { $0.append(entry.token) }
    }
    // Read the notes, because each registration in progress has one.
    pipeline.append("HKEYS", keys.moving(partition))
    let replies = try await store.run(pipeline)
    try await pending.update(replies[1])
    return zip(entries, replies[0]).filter { entry, now in
      now.bytes == entry.text.bytes && !pending.contains(entry.token)
    }.map(\.0)
  }

  /// Returns the entries with the push services of their devices.
  private func withServices(_ entries: [Entry]) async throws -> [Entry] {
    var entries = entries
    let count = keys.partitions
    let users = entries.map(\.owner.user)
    try await store.registry.perPartition(entries.indices, of: { Partition.of(user: users[$0], count: count) }) {
      partition, part, pipeline in
      pipeline.command("HMGET") { arguments in
        arguments.append(keys.devices(partition))
        for index in part { arguments.append(users[index]) }
      }
    } replies: { part, records in
      for (index, record) in zip(part, records) {
        entries[index].service = record.withBytes { bytes in
          DeviceCursor(bytes).first { $0.token.elementsEqual(entries[index].token) }?.text(.service)
        }
      }
    }
    return entries
  }

  /// Returns the entries except those whose pruned device is in an outbox. The delivery of the outbox removes these
  /// entries.
  private func withoutUndelivered(_ entries: [Entry]) async throws -> [Entry] {
    let groups = Dictionary(grouping: entries) { Partition.of(user: $0.owner.user, count: keys.partitions) }
    var rest: [Entry] = []
    for (partition, group) in groups {
      let pruned = try await undelivered.tokens(in: partition)
      rest += group.filter { $0.service != nil || !pruned.contains($0.token) }
    }
    return rest
  }

  /// Removes entries; misplaced entries are first written to their own partition. A registration that arrives in
  /// between stays valid.
  private func remove(_ entries: [Entry], in partition: Int, _ pending: PendingTokens) async throws {
    var pipeline = RedisPipeline()
    for entry in entries {
      if let service = entry.service {
        pipeline.append("HSETNX", keys.owner(try place(of: entry.token, service)), entry.token, entry.text)
      }
    }
    pipeline.script(
      StoreScripts.repairOwners, keys: [keys.owner(partition), keys.moving(partition), keys.taken(partition)]
    ) {
      $0.append(pending.current.count)
      for name in pending.current { $0.append(name) }
      for entry in entries {
        $0.append(entry.token)
        $0.append(entry.text)
      }
    }
    _ = try await store.run(pipeline)
    // If a user registered the device between the check and the removal, the user now has the device but does not own
    // its token. Register these devices again.
    let back = try await withServices(entries.filter { $0.service == nil }).filter { $0.service != nil }
    try await bind(
      back.map {
        Device(
          user: $0.owner.user, token: Registry.OwnedToken($0.token, $0.service ?? ""),
          registeredAt: Int($0.owner.registeredAt))
      })
  }

  // MARK: Devices

  /// A device in its user's record.
  struct Device {
    var user: String
    var token: Registry.OwnedToken
    /// Time of the registration, in ms since the epoch.
    var registeredAt: Int
  }

  /// Finds devices of users of a partition whose token has no owner, or has another owner who also has the device.
  func tokens(of devices: [Device], in partition: Int) async throws -> [StoreFinding] {
    let known = devices.filter { store.services[$0.token.service] != nil }
    let found = try await twice(known) { devices in
      let owners = try await store.registry.owners(of: devices.map(\.token))
      return try await registered(zip(devices, owners).filter { device, owner in owner?.user != device.user }.map(\.0))
    }
    guard !found.isEmpty else { return [] }
    let owners = try await store.registry.owners(of: found.map(\.token))
    let ownerless = zip(found, owners).filter { $1 == nil }.map(\.0)
    let others = zip(found, owners).compactMap { device, owner in owner.map { (device, $0) } }
    // If the owner in the index does not have the device, the entry of the index is wrong. A registration removes the
    // device from one user before it adds it to the other, so the order of these reads matters.
    let theirs = try await store.results.areRegistered(others.map { edit($0.0, of: $0.1.user) })
    let doubled = try await registered(zip(others, theirs).filter(\.1).map(\.0.0))
    if repairs {
      try await bind(ownerless)
      try await leave(doubled)
    }
    let key = keys.devices(partition)
    return ownerless.map { finding(.deviceWithoutOwner, key, $0.user, Self.text($0.token.bytes)) }
      + doubled.map { finding(.deviceWithTwoOwners, key, $0.user, Self.text($0.token.bytes)) }
  }

  private func edit(_ device: Device, of user: String) -> Registry.DeviceEdit {
    Registry.DeviceEdit(user: user, token: device.token, action: .prune, instant: device.registeredAt)
  }

  private func registered(_ devices: [Device]) async throws -> [Device] {
    zip(devices, try await store.results.areRegistered(devices.map { edit($0, of: $0.user) })).filter(\.1).map(\.0)
  }

  /// Makes users the owners of tokens without an owner. If a user has lost the device in between, the function removes
  /// the new entry again.
  private func bind(_ devices: [Device]) async throws {
    guard !devices.isEmpty else { return }
    var pipeline = RedisPipeline()
    for device in devices {
      let partition = try store.registry.partition(of: device.token)
      pipeline.append(
        "HSETNX", keys.owner(partition), device.token.bytes, "\(device.registeredAt):\(device.user)")
    }
    _ = try await store.run(pipeline)
    let edits = devices.map { edit($0, of: $0.user) }
    try await store.registry.unbind(zip(edits, store.results.areRegistered(edits)).filter { !$1 }.map(\.0))
  }

  /// Removes devices from users if the index names another owner. If a user has become the owner again in between, the
  /// device is registered again.
  private func leave(_ devices: [Device]) async throws {
    guard !devices.isEmpty else { return }
    let users = try await store.repair.registrations(of: devices.map { ($0.user, $0.token.bytes) })
    _ = try await store.registry.apply(devices.map { edit($0, of: $0.user) })
    let owners = try await store.registry.owners(of: devices.map(\.token))
    let again = zip(zip(devices, owners), users).filter { $0.0.0.user == $0.0.1?.user }.compactMap(\.1)
    _ = try await store.registry.register(again)
  }
}

extension Repair {
  /// Returns the tokens of pruned devices that the owner index may still have.
  func undelivered(in partition: Int) async throws -> Set<[UInt8]> {
    var tokens: Set<[UInt8]> = []
    // A delivery removes entries from the front of the list, so this loop counts positions from the end.
    var last = -1
    while true {
      var pipeline = RedisPipeline()
      pipeline.append("LRANGE", keys.outbox(partition), last - Results.entriesPerBatch + 1, last)
      let page = try await run(pipeline)[0]
      guard !page.isEmpty else { return tokens }
      for notice in page.flatMap(DeviceNotice.all) { tokens.insert(notice.token) }
      last -= page.count
    }
  }

  /// Returns devices of users as new registrations; `nil` for a device that does not exist.
  func registrations(of devices: [(user: String, token: [UInt8])]) async throws -> [DeviceRegistration?] {
    var pipeline = RedisPipeline()
    for device in devices {
      let partition = Partition.of(user: device.user, count: keys.partitions)
      pipeline.append("HGET", keys.devices(partition), device.user)
      pipeline.append("HGET", keys.attributes(partition), device.user)
    }
    guard !pipeline.isEmpty else { return [] }
    let replies = try await run(pipeline)
    return devices.enumerated().map { index, device in
      replies[2 * index].withBytes(DeviceRecord.all).first { $0.token == device.token }.map {
        DeviceRegistration(
          user: device.user, device: $0, attributes: replies[2 * index + 1].bytes.map(Array.init) ?? [])
      }
    }
  }
}
