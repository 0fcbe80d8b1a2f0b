import PushCore
import Redis

/// The registration of tokens for users, and their move from one user to another.
///
/// A registration takes five steps in up to three slots:
///
/// - (a) The script writes the user into the owner index. It also writes a *note* with all data of the registration,
///   from which any worker can complete the registration (``RegistrationNote``).
/// - (b) The device is removed from the record of its former user.
/// - (c) The device is added to the record of its new user.
/// - (d) If a token of the partition was taken from a user since step (a), the index is read again. If a token of the
///   batch now belongs to another user, its device is removed from the record of step (c).
/// - (e) The note is removed.
///
/// Between these steps, a token may be in the records of two users. If the process dies, this lasts until
/// ``redoMoves(in:)`` finds the note.
///
/// Every step is one call of a script for many devices. Several batches may be in progress at the same time if each
/// step is done in the order of the batches. If two batches register the same token for different users, the later
/// batch must wait for the earlier one.
extension Registry {
  /// A batch after step (a). A *row* is the index of a registration in the batch.
  public struct BoundRegistrations: Sendable {
    let batch: RegistrationBatch
    /// The calls of `bind.lua`.
    var parts: [BoundPart] = []
    /// Whether these are logins of an app that allows one device for each user.
    var isExclusive = false
    /// Rows without effect, because a newer registration or removal of the token exists.
    var refused: [Int] = []
    /// Rows whose token belonged to another user.
    var moved: [(row: Int, old: String)] = []

    /// Rows of users who lose a token because of a later row of this batch.
    var rowsBeforeTheirUsersLose: Set<Int> {
      var last: [String: Int] = [:]
      for (row, old) in moved { last[old] = max(row, last[old] ?? 0) }
      return Set((0..<batch.count).filter { row in last[batch.user(of: row)].map { row < $0 } ?? false })
    }
  }

  struct BoundPart: Sendable {
    var part: RegistrationBatch.Part
    var note: [UInt8]
    /// Number of tokens of the partition that had ever been taken from users at step (a); -1 if step (d) is required in
    /// any case.
    var taken: Int
  }

  /// A batch after step (c).
  public struct EnteredRegistrations: Sendable {
    let bound: BoundRegistrations
    /// Rows that were not written, because the device was removed or the user was erased later.
    var void: [Int] = []
    /// Rows that changed nothing, because the user has a newer registration of the device.
    var older: [Int] = []
    /// Rows whose attributes must be merged with the stored ones.
    var unmerged: [Int] = []
    /// Devices that step (c) removed from their users, mostly because the users had too many devices. The owner index
    /// still has their tokens.
    var evicted: [DeviceEdit]
    /// The notes about these removed devices, which `upsert.lua` writes.
    var notes: [(partition: Int, name: [UInt8])] = []

    /// Adds the removed devices of another call.
    mutating func addLeft(_ other: EnteredRegistrations) {
      evicted += other.evicted
      notes += other.notes
    }
  }

  /// The result of registrations.
  public struct RegistrationOutcome: Sendable {
    /// For each registration, whether it is valid; false if its token is registered for another user.
    public var stands: [Bool]
    /// Number of devices that were removed, mostly because their users had too many devices. They may be devices of
    /// this batch.
    public var evicted: Int
    /// Number of registrations without effect, because a newer registration or removal exists.
    public var superseded = 0
  }

  /// Returns an empty batch for this store.
  public func registrationBatch() -> RegistrationBatch {
    RegistrationBatch(partitions: keys.partitions, services: services)
  }

  /// Registers devices.
  ///
  /// - Returns: whether each registration is valid; false if its token is registered for another user.
  @discardableResult
  public func register(_ registrations: [DeviceRegistration]) async throws -> [Bool] {
    try await enroll(registrations).stands
  }

  /// Registers devices, and returns the result.
  ///
  /// - Parameter exclusively: whether the user's other devices of the same app are removed, unless they are newer.
  func enroll(_ registrations: [DeviceRegistration], exclusively: Bool = false) async throws -> RegistrationOutcome {
    var batch = registrationBatch()
    batch.reserve(registrations.count)
    for registration in registrations { try batch.append(registration) }
    var bound = try await bind(batch)
    bound.isExclusive = exclusively
    return try await complete(enter(bound))
  }

  /// Runs step (a). A time later than Redis' clock is replaced by the time of that clock.
  public func bind(_ batch: RegistrationBatch) async throws -> BoundRegistrations {
    var bound = BoundRegistrations(batch: batch)
    guard !batch.isEmpty else { return bound }
    var batch = batch
    try batch.cut(to: UInt64(try await store.time() / 1000))
    bound = BoundRegistrations(batch: batch)
    if !batch.activities.isEmpty { try await addMembers(batch.activities, of: batch) }
    var pipeline = RedisPipeline(reserving: batch.bytes.count * 2 + batch.count * 32)
    for part in batch.parts(of: 0..<batch.count, by: \.tokenPartition) {
      let partition = part.partition
      let note = RegistrationNote.newName()
      pipeline.script(
        StoreScripts.bind,
        keys: [keys.owner(partition), keys.moving(partition), keys.taken(partition), keys.removals(partition)]
      ) { arguments in
        arguments.append(note)
        arguments.append(batch.note(of: part))
        batch.appendOwners(of: part, to: &arguments)
      }
      bound.parts.append(BoundPart(part: part, note: note, taken: -1))
    }
    for (index, reply) in try await run(pipeline).enumerated() {
      bound.parts[index].taken = reply.first?.integer ?? -1
      let rows = bound.parts[index].part.rows
      for place in stride(from: 1, to: reply.count - 1, by: 2) {
        guard let row = reply[place].integer, row < rows.count else { continue }
        if let old = reply[place + 1].string {
          bound.moved.append((rows[rows.startIndex + row], old))
        } else {
          bound.refused.append(rows[rows.startIndex + row])
        }
      }
    }
    return bound
  }

  /// Runs steps (b) and (c).
  public func enter(_ bound: BoundRegistrations) async throws -> EnteredRegistrations {
    let batch = bound.batch
    let refused = Set(bound.refused)
    // A login that is refused because it is outdated still removes the user's other devices.
    let alone =
      bound.isExclusive && !refused.isEmpty ? try await upsert(refused.sorted(), of: bound, writing: false) : nil
    guard !bound.moved.isEmpty else {
      var entered =
        try await refused.isEmpty
        ? upsert(0..<batch.count, of: bound)
        : upsert((0..<batch.count).filter { !refused.contains($0) }, of: bound)
      if let alone { entered.addLeft(alone) }
      return entered
    }
    // Write the rows of these users first, because later rows take devices from these users.
    let rows = bound.rowsBeforeTheirUsersLose
    let before = try await upsert(rows.filter { !refused.contains($0) }.sorted(), of: bound)
    try await leaveOldUsers(
      bound.moved.map { ($0.old, batch.owned($0.row), Int(batch.rows[$0.row].registeredAt)) })
    var entered = try await upsert((0..<batch.count).filter { !refused.contains($0) && !rows.contains($0) }, of: bound)
    entered.addLeft(before)
    if let alone { entered.addLeft(alone) }
    entered.void += before.void
    entered.older += before.older
    entered.unmerged += before.unmerged
    return entered
  }

  /// Runs steps (d) and (e).
  public func complete(_ entered: EnteredRegistrations) async throws -> RegistrationOutcome {
    let bound = entered.bound
    let batch = bound.batch
    var outcome = RegistrationOutcome(
      stands: Array(repeating: true, count: batch.count), evicted: entered.evicted.count)
    // For refused rows, the records are checked too, because an earlier attempt may have written these devices into
    // them.
    var doubted = Set(bound.refused)
    var left: [BoundPart] = []
    if !bound.parts.isEmpty {
      var pipeline = RedisPipeline(reserving: bound.parts.count * 192)
      for part in bound.parts {
        let partition = part.part.partition
        pipeline.script(StoreScripts.settle, keys: [keys.moving(partition), keys.taken(partition)]) {
          $0.append(part.note)
          $0.append(part.taken)
        }
      }
      for (part, reply) in zip(bound.parts, try await run(pipeline)) where reply.integer != 1 {
        left.append(part)
        doubted.formUnion(part.part.rows)
      }
    }
    if !doubted.isEmpty {
      let rows = doubted.sorted()
      for (row, stands) in zip(rows, try await checkOwners(of: rows, of: batch, notes: left)) {
        outcome.stands[row] = stands
      }
      for row in bound.refused { outcome.stands[row] = false }
    }
    for row in entered.void { outcome.stands[row] = false }
    try await forget(entered.evicted)
    try await clear(entered.notes)
    // Remove the tokens that step (a) has written for these rows. A login that removes such a device has removed its
    // token before, so the token must not stay in the index. This applies even while the device is still in a record.
    try await unbind(batch.removals(of: entered.void))
    outcome.superseded = Set(bound.refused).union(entered.void).union(entered.older).count
    // Merge the attributes of these rows by their times. They may be the user's latest attributes, even if the user has
    // lost the device.
    try await state(bound.refused + entered.unmerged, of: batch)
    return outcome
  }

  /// Merges the attributes of rows with the stored attributes of their users.
  private func state(_ rows: [Int], of batch: RegistrationBatch) async throws {
    var statements: [String: [UserAttributes.Statement]] = [:]
    for row in rows.sorted() where batch.rows[row].end > batch.rows[row].attributes {
      if batch.rows[row].registeredAt == 0, batch.hasLaterAttributes(than: row) { continue }
      statements[batch.user(of: row), default: []].append(
        .init(
          change: .replacement(Array(batch.bytes[batch.rows[row].attributes..<batch.rows[row].end])),
          at: Int(batch.rows[row].registeredAt)))
    }
    _ = try await state(statements)
  }

  /// Runs step (d) for rows that may have lost their tokens, and then step (e).
  ///
  /// - Returns: whether each row is valid.
  private func checkOwners(of rows: [Int], of batch: RegistrationBatch, notes: [BoundPart]) async throws -> [Bool] {
    let owners = try await owners(of: rows.map { batch.owned($0) })
    let users = rows.map { batch.user(of: $0) }
    var stands = rows.indices.map { owners[$0]?.user == users[$0] }
    try await leave(
      rows.indices.filter { !stands[$0] }.map {
        (users[$0], batch.owned(rows[$0]), Int(batch.rows[rows[$0]].registeredAt))
      })
    try await clear(notes.map { ($0.part.partition, $0.note) })
    // The record may be newer than the index: the token was unregistered in the meantime, and then an older
    // registration of the token arrived. Register such devices again.
    let behind = rows.indices.filter { index in
      stands[index] && owners[index].map { $0.registeredAt < batch.rows[rows[index]].registeredAt } ?? false
    }
    if !behind.isEmpty {
      let again = behind.compactMap { batch.registration(rows[$0]) }
      for (index, result) in zip(behind, try await register(again)) { stands[index] = result }
    }
    return stands
  }

  /// Completes the registrations that a dead process left unfinished and that have a note in this partition.
  ///
  /// This is safe while a live process registers devices: every step can be repeated, and the owner index decides which
  /// registration is valid.
  ///
  /// - Returns: the number of unfinished registrations that were found.
  public func redoMoves(in partition: Int) async throws -> Int {
    var pipeline = RedisPipeline()
    pipeline.append("HSCAN", keys.moving(partition), 0, "COUNT", Self.notesPerBatch)
    let pairs = try await run(pipeline)[0][1]
    let notes = stride(from: 0, to: pairs.count - 1, by: 2).map {
      RegistrationNote(name: pairs[$0].bytes.map(Array.init) ?? [], value: pairs[$0 + 1])
    }
    // Devices that were removed from their users; the index still has their tokens.
    let left = notes.flatMap(\.left).map { user, device in
      DeviceEdit(user: user, token: device.owned, action: .prune, instant: Int(device.registeredAt))
    }
    try await forget(left)
    let begun = notes.flatMap(\.begun)
    if !begun.isEmpty {
      let tokens = begun.map(\.registration.device.owned)
      let owners = try await owners(of: tokens)
      try await leaveOldUsers(
        begun.filter { !$0.old.isEmpty }.map {
          ($0.old, $0.registration.device.owned, Int($0.registration.device.registeredAt))
        })
      var batch = registrationBatch()
      for (registration, owner) in zip(begun.map(\.registration), owners) {
        guard let owner, owner.user == registration.user, owner.registeredAt >= registration.device.registeredAt else {
          continue
        }
        try batch.append(registration)
      }
      let entered = try await upsert(0..<batch.count, of: BoundRegistrations(batch: batch))
      let after = try await self.owners(of: tokens)
      try await leave(
        zip(begun.map(\.registration), after).filter { $0.user != $1?.user }.map { registration, _ in
          (registration.user, registration.device.owned, Int(registration.device.registeredAt))
        })
      try await forget(entered.evicted)
      try await clear(entered.notes)
      try await unbind(batch.removals(of: entered.void))
      try await state(entered.unmerged, of: batch)
    }
    try await clear(notes.map { (partition, $0.name) })
    return begun.count + left.count
  }

  /// Largest number of notes that one call of ``redoMoves(in:)`` reads. Each note has up to 96 registrations.
  static let notesPerBatch = 8

  /// Runs step (b), but leaves a device with its former user if this user owns the token again. If registrations have
  /// no times, only the owner index shows which registration is the latest.
  private func leaveOldUsers(_ devices: [(old: String, token: OwnedToken, instant: Int)]) async throws {
    guard !devices.isEmpty else { return }
    let owners = try await owners(of: devices.map(\.token))
    // The time of the removal is recorded, so that a suspended process can't write the device again.
    _ = try await apply(
      zip(devices, owners).filter { $0.old != $1?.user }.map {
        DeviceEdit(user: $0.0.old, token: $0.0.token, action: .remove, instant: $0.0.instant)
      })
  }

  /// Runs step (d). If a device registered for its user after `instant`, it stays.
  private func leave(_ devices: [(user: String, token: OwnedToken, instant: Int)]) async throws {
    _ = try await apply(
      devices.map { DeviceEdit(user: $0.user, token: $0.token, action: .prune, instant: $0.instant) })
  }

  /// Runs step (c).
  ///
  /// - Parameter writing: whether the devices are written. If false, only the other devices of their users are removed.
  private func upsert(
    _ rows: some Collection<Int>, of bound: BoundRegistrations, writing: Bool = true
  ) async throws -> EnteredRegistrations {
    let batch = bound.batch
    var entered = EnteredRegistrations(bound: bound, evicted: [])
    var parts = batch.parts(of: rows, by: \.userPartition)
    // A script stops early if the records are large. The next call then gets the remaining rows.
    while !parts.isEmpty {
      var pipeline = RedisPipeline(reserving: batch.bytes.count + batch.count * 32)
      let names = parts.map { _ in RegistrationNote.newName() }
      for (part, name) in zip(parts, names) {
        let partition = part.partition
        pipeline.script(StoreScripts.upsert, keys: keys.ofRegistration(partition)) { arguments in
          arguments.append(store.devicesPerUser)
          arguments.append(!writing ? 2 : bound.isExclusive ? 1 : 0)
          arguments.append(name)
          batch.appendDevices(of: part.rows, to: &arguments)
        }
      }
      var rest: [RegistrationBatch.Part] = []
      for ((part, name), reply) in zip(zip(parts, names), try await run(pipeline)) {
        guard reply.count == 5 else { continue }
        let row = { (place: RedisReply) in place.integer.map { part.rows[part.rows.startIndex + $0] } }
        entered.void += reply[1].compactMap(row)
        entered.older += reply[2].compactMap(row)
        entered.unmerged += reply[3].compactMap(row)
        let left = reply[4]
        if left.count > 0 { entered.notes.append((part.partition, name)) }
        for place in stride(from: 0, to: left.count - 1, by: 2) {
          guard let device = left[place + 1].withBytes(DeviceRecord.all).first else { continue }
          entered.evicted.append(
            DeviceEdit(
              user: left[place].string ?? "", token: device.owned, action: .prune, instant: Int(device.registeredAt)))
        }
        let done = max(1, reply.first?.integer ?? part.rows.count)
        if done < part.rows.count { rest.append(.init(partition: part.partition, rows: part.rows.dropFirst(done))) }
      }
      parts = rest
    }
    return entered
  }

  /// Removes the tokens of removed devices from the index. If a device has been registered again, its token stays.
  private func forget(_ devices: [DeviceEdit]) async throws {
    guard !devices.isEmpty else { return }
    try await unbind(zip(devices, store.results.areRegistered(devices)).filter { !$1 }.map(\.0))
  }

  /// Runs step (e).
  private func clear(_ notes: [(partition: Int, name: [UInt8])]) async throws {
    guard !notes.isEmpty else { return }
    var pipeline = RedisPipeline()
    for (partition, name) in notes { pipeline.append("HDEL", keys.moving(partition), name) }
    _ = try await run(pipeline)
  }
}

extension RegistrationBatch {
  /// Returns whether a later row has attributes of the same user. If rows have no time, the attributes of the last row
  /// win.
  fileprivate func hasLaterAttributes(than row: Int) -> Bool {
    let user = user(of: row)
    return rows.indices[(row + 1)...].contains { rows[$0].end > rows[$0].attributes && self.user(of: $0) == user }
  }

  /// Returns edits that remove the tokens of rows from the owner index.
  fileprivate func removals(of rows: [Int]) -> [Registry.DeviceEdit] {
    rows.map {
      Registry.DeviceEdit(
        user: user(of: $0), token: owned($0), action: .prune, instant: Int(self.rows[$0].registeredAt))
    }
  }

  fileprivate func owned(_ index: Int) -> Registry.OwnedToken {
    let row = rows[index]
    return bytes.withUnsafeBytes { bytes in
      let record = DeviceCursor(UnsafeRawBufferPointer(rebasing: bytes[row.record..<row.attributes]))
      return Registry.OwnedToken(Array(token(of: index)), record.first { _ in true }?.text(.service) ?? "")
    }
  }
}

extension DeviceRecord {
  fileprivate var owned: Registry.OwnedToken { Registry.OwnedToken(token, service) }
}
