import PushCore
import Redis

/// Checks users whose devices, attributes or counters are stored under an old form of their id (``OldIdentifier``).
extension StoreCheck {
  /// The data of a partition under an old form of an id.
  private struct OldUser {
    var id: OldIdentifier
    var devices: [DeviceRecord]
    /// Whether the whole record of the user's devices could be read.
    var isReadable: Bool
    var attributes: RedisReply
    var pressure: RedisReply
    /// The stored notices of quarantined devices, by the position of the device.
    var notes: [Int: DeviceNotice] = [:]

    /// Whether the id is only listed, without any data.
    var isEmpty: Bool { devices.isEmpty && isReadable && attributes.isNull && pressure.isNull }

    /// The id in the present form.
    var user: String { id.present ?? "" }
  }

  /// Finds users under old forms of their ids, and moves their data to the present forms. The devices move by ordinary
  /// registrations.
  ///
  /// This check runs before tokens and their owners are compared, because it completes moves that a dead process has
  /// begun.
  mutating func renames(in partition: Int) async throws -> [StoreFinding] {
    var old: [OldIdentifier] = []
    try await forEachMember(of: keys.users(partition)) { old += OldIdentifier.all(in: $0) }
    // Also read the users without a device whose data is retained.
    try await forEachRanked(in: keys.retained(partition)) { old += OldIdentifier.all(in: $0) }
    var findings: [StoreFinding] = []
    for page in old.batches(of: Self.usersPerBatch) {
      findings += try await rename(Array(page), in: partition)
    }
    return findings
  }

  private func rename(_ ids: [OldIdentifier], in partition: Int) async throws -> [StoreFinding] {
    let key = keys.devices(partition)
    let users = try await read(ids, in: partition).filter { !$0.isEmpty }
    var findings = users.filter { $0.id.present == nil }.map {
      open(.unusableID, key, $0.id.stored, $0.id.problemOfUser)
    }
    let movable = users.filter { $0.id.present != nil }
    let isGone = repairs ? try await move(movable, in: partition) : movable.map { _ in true }
    for (user, isGone) in zip(movable, isGone) {
      findings.append((isGone ? finding : open)(.unnormalizedUser, key, user.id.stored, user.id.problemOfUser))
    }
    return findings
  }

  /// Number of users that are moved together: a user may have a hundred devices.
  private static let usersPerBatch = 100

  /// Moves users to the present forms of their ids.
  /// - Returns: for each user, true if no data remains under the old form.
  private func move(_ all: [OldUser], in partition: Int) async throws -> [Bool] {
    guard !all.isEmpty else { return [] }
    let isBusy = try await areErased(all.map(\.id))
    let places = all.indices.filter { place in
      !isBusy[place] && all[place].isReadable && all[place].devices.allSatisfy { store.services[$0.service] != nil }
    }
    let users = try await withNotes(places.map { all[$0] }, in: partition)
    // Remove the owner in the old form from the index first. Otherwise, if both registrations have the same time, the
    // index would keep the greater id.
    try await store.registry.unbind(edits(of: users, .prune))
    try await register(users)
    try await stateAttributes(of: users)
    try await unitePressure(of: users)
    // Running campaigns then withhold the targets that they have sealed for the old form.
    _ = try await store.registry.apply(edits(of: users, .prune))
    var answers = all.map { _ in false }
    for (place, isGone) in zip(places, try await removeRest(of: users, in: partition)) { answers[place] = isGone }
    return answers
  }

  private func read(_ page: [OldIdentifier], in partition: Int) async throws -> [OldUser] {
    var pipeline = RedisPipeline()
    for key in [keys.devices(partition), keys.attributes(partition), keys.pressure(partition)] {
      pipeline.command("HMGET") { arguments in
        arguments.append(key)
        for id in page { arguments.append(id.stored) }
      }
    }
    let replies = try await store.run(pipeline)
    return try page.indices.map { place in
      let devices = replies[0][place].withBytes(DeviceRecord.all)
      var bytes: [UInt8] = []
      for device in devices { try device.write(to: &bytes) }
      return OldUser(
        id: page[place], devices: devices, isReadable: bytes == replies[0][place].bytes.map(Array.init) ?? [],
        attributes: replies[1][place], pressure: replies[2][place])
    }
  }

  /// Returns whether an erasure of either form is in progress. Such an id must not change until the erasure is
  /// complete.
  private func areErased(_ page: [OldIdentifier]) async throws -> [Bool] {
    var pipeline = RedisPipeline()
    pipeline.command("HMGET") { arguments in
      arguments.append(keys.erasing)
      for id in page {
        arguments.append(id.stored)
        arguments.append(id.present ?? "")
      }
    }
    let reply = try await store.run(pipeline)[0]
    return page.indices.map { !reply[2 * $0].isNull || !reply[2 * $0 + 1].isNull }
  }

  private func withNotes(_ users: [OldUser], in partition: Int) async throws -> [OldUser] {
    var users = users
    for (place, user) in users.enumerated() {
      let quarantined = user.devices.indices.filter { user.devices[$0].isQuarantined }
      guard !quarantined.isEmpty else { continue }
      var pipeline = RedisPipeline()
      for device in quarantined { pipeline.append("HGET", keys.quarantine(partition), user.devices[device].token) }
      for (device, reply) in zip(quarantined, try await store.run(pipeline)) {
        users[place].notes[device] = DeviceNotice.all(in: reply).first
      }
    }
    return users
  }

  private func edits(of users: [OldUser], _ action: Registry.DeviceEdit.Action) -> [Registry.DeviceEdit] {
    users.flatMap { user in
      user.devices.map {
        Registry.DeviceEdit(
          user: user.id.stored, token: Registry.OwnedToken($0.token, $0.service), action: action,
          instant: Int($0.registeredAt))
      }
    }
  }

  /// Registers the devices for the present forms. A quarantined device gets a new notice, because the notice contains
  /// the user's id.
  private func register(_ users: [OldUser]) async throws {
    var registrations: [DeviceRegistration] = []
    var quarantines: [Registry.DeviceEdit] = []
    for user in users {
      for (place, device) in user.devices.enumerated() {
        var device = device
        if var note = user.notes[place] {
          note.user = user.user
          device.isQuarantined = false
          quarantines.append(
            Registry.DeviceEdit(
              user: user.user, token: Registry.OwnedToken(device.token, device.service), action: .quarantine,
              instant: Int(device.registeredAt), note: note.bytes))
        }
        registrations.append(DeviceRegistration(user: user.user, device: device))
      }
    }
    if !registrations.isEmpty { try await store.registry.register(registrations) }
    if !quarantines.isEmpty { _ = try await store.registry.apply(quarantines) }
  }

  private func stateAttributes(of users: [OldUser]) async throws {
    let stated = users.filter { !$0.attributes.isNull }
    guard !stated.isEmpty else { return }
    var statements: [String: [UserAttributes.Statement]] = [:]
    for user in stated {
      statements[user.user, default: []] +=
        UserAttributes(stored: user.attributes.bytes.map(Array.init) ?? [])
        .statements
    }
    _ = try await store.registry.state(statements)
  }

  private func unitePressure(of users: [OldUser]) async throws {
    let counted = users.filter { !$0.pressure.isNull }
    try await store.registry.perPartition(
      counted.indices, of: { Partition.of(user: counted[$0].user, count: keys.partitions) }
    ) { partition, part, pipeline in
      pipeline.script(
        StoreScripts.repairPressure,
        keys: [keys.pressure(partition), keys.users(partition), keys.erased(partition), keys.retained(partition)]
      ) {
        for index in part {
          $0.append(counted[index].user)
          $0.append(counted[index].pressure)
        }
      }
    }
  }

  private func removeRest(of users: [OldUser], in partition: Int) async throws -> [Bool] {
    guard !users.isEmpty else { return [] }
    var pipeline = RedisPipeline()
    pipeline.script(
      StoreScripts.repairName,
      keys: [keys.devices(partition), keys.attributes(partition), keys.pressure(partition), keys.retained(partition)]
    ) {
      for user in users {
        $0.append(user.id.stored)
        if user.attributes.isNull { $0.append("") } else { $0.append(user.attributes) }
        if user.pressure.isNull { $0.append("") } else { $0.append(user.pressure) }
      }
    }
    return try await store.run(pipeline)[0].map { $0.integer == 1 }
  }
}
