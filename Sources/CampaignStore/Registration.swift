import PushCore
import Redis

/// How a token comes to a user, and from one user to another.
///
/// A registration takes five steps in up to three slots: (a) the owner index gets the user and a note that holds all that
/// is needed to go on; (b) the device leaves the record of the user that had it; (c) it enters the new one's; (d) the
/// index is read again, and where somebody else has taken the token meanwhile, the device leaves again; (e) the note
/// goes. So a token stands in two records for no longer than a registration lasts, and when its process dies, until
/// ``redoMoves(in:)`` has found the note.
extension CampaignStore {
  /// Registers devices.
  ///
  /// - Returns: for each whether it stands; false when another registration of its token for another user does.
  @discardableResult
  public func register(_ registrations: [DeviceRegistration]) async throws -> [Bool] {
    try await complete(registrations, bound: bind(registrations))
  }

  /// Steps (b) to (e).
  ///
  /// - Parameter answers: what step (a) said to each.
  func complete(_ registrations: [DeviceRegistration], bound answers: [String?]) async throws -> [Bool] {
    var notes: [MoveNote] = []
    var stands = registrations.map { _ in false }
    for (index, answer) in answers.enumerated() {
      guard let old = answer else { continue }
      stands[index] = true
      notes.append(MoveNote(old: old, registration: registrations[index]))
    }
    try await leaveOldUsers(notes.filter { !$0.old.isEmpty })
    try await enter(notes.map(\.registration))
    let owners = try await currentOwners(of: registrations)
    // What was refused leaves too: an earlier try may have got as far as the record.
    let lost = registrations.indices.filter { owners[$0]?.user != registrations[$0].user }
    for index in lost { stands[index] = false }
    try await leave(lost.map { (registrations[$0].user, registrations[$0].device) })
    try await clear(notes)
    // The token was unregistered meanwhile, and an older registration of it came in: the index is behind the record.
    let behind = registrations.indices.filter { index in
      owners[index].map { $0.user == registrations[index].user && $0.isOlder(than: registrations[index]) } ?? false
    }
    if !behind.isEmpty {
      for (index, result) in zip(behind, try await register(behind.map { registrations[$0] })) {
        stands[index] = result
      }
    }
    return stands
  }

  /// Ends the registrations that a dead process left half-done in one partition of the owner index.
  ///
  /// Safe beside a live one: every step can be repeated, and the index has the last word.
  ///
  /// - Returns: the number of registrations found.
  public func redoMoves(in partition: Int) async throws -> Int {
    var pipeline = RedisPipeline()
    pipeline.append("HSCAN", keys.moving(partition), 0, "COUNT", Self.batch)
    let pairs = try await run(pipeline)[0][1]
    let notes = stride(from: 0, to: pairs.count - 1, by: 2).compactMap {
      MoveNote(field: pairs[$0], value: pairs[$0 + 1])
    }
    guard !notes.isEmpty else { return 0 }
    let owners = try await currentOwners(of: notes.map(\.registration))
    try await leaveOldUsers(notes.filter { !$0.old.isEmpty })
    try await enter(
      zip(notes.map(\.registration), owners).filter { registration, owner in
        owner.map { $0.user == registration.user && !$0.isOlder(than: registration) } ?? false
      }.map(\.0))
    let after = try await currentOwners(of: notes.map(\.registration))
    try await leave(
      zip(notes, after).filter { $0.registration.user != $1?.user }.map {
        ($0.0.registration.user, $0.0.registration.device)
      }
    )
    try await clear(notes)
    return notes.count
  }

  private func currentOwners(of registrations: [DeviceRegistration]) async throws -> [TokenOwner?] {
    try await owners(of: registrations.map(\.device.owned))
  }

  /// Step (a). For each: `nil` when a newer owner stands, else the user that had it, or nothing.
  func bind(_ registrations: [DeviceRegistration]) async throws -> [String?] {
    var answers: [String?] = registrations.map { _ in nil }
    let records = try registrations.map { try $0.device.bytes }
    try await perPartition(registrations.indices, of: { try partition(of: registrations[$0].device.owned) }) {
      partition, part, pipeline in
      pipeline.script(StoreScripts.bind, keys: [keys.owner(partition), keys.moving(partition)]) { arguments in
        for index in part {
          let registration = registrations[index]
          arguments.append(registration.device.token)
          arguments.append("\(registration.device.registeredAt):\(registration.user)")
          arguments.append(records[index] + registration.attributes)
        }
      }
    } replies: { part, reply in
      for (index, answer) in zip(part, reply) { answers[index] = answer.string }
    }
    return answers
  }

  /// Step (b). Not from a user whom the index names again: where nobody says when a device registered, only the index
  /// knows which registration was the last.
  private func leaveOldUsers(_ notes: [MoveNote]) async throws {
    guard !notes.isEmpty else { return }
    let owners = try await currentOwners(of: notes.map(\.registration))
    try await leave(zip(notes, owners).filter { $0.old != $1?.user }.map { ($0.0.old, $0.0.registration.device) })
  }

  /// Steps (b) and (d): a device that registered for its user later than the one given stays.
  private func leave(_ devices: [(user: String, device: DeviceRecord)]) async throws {
    _ = try await apply(
      devices.map {
        DeviceEdit(user: $0.user, token: $0.device.owned, action: .prune, instant: Int($0.device.registeredAt))
      })
  }

  /// Step (c).
  private func enter(_ registrations: [DeviceRegistration]) async throws {
    let records = try registrations.map { try $0.device.bytes }
    try await perPartition(
      registrations.indices, of: { Partition.of(user: registrations[$0].user, count: keys.partitions) }
    ) { partition, part, pipeline in
      pipeline.script(
        StoreScripts.upsert,
        keys: [
          keys.devices(partition), keys.users(partition), keys.attributes(partition), keys.quarantine(partition),
        ]
      ) { arguments in
        for index in part {
          let registration = registrations[index]
          arguments.append(registration.user)
          arguments.append(registration.device.token)
          arguments.append(records[index])
          arguments.append(registration.attributes)
        }
      }
    }
  }

  /// Step (e).
  private func clear(_ notes: [MoveNote]) async throws {
    try await perPartition(notes.indices, of: { try partition(of: notes[$0].registration.device.owned) }) {
      partition, part, pipeline in
      pipeline.command("HDEL") { arguments in
        arguments.append(keys.moving(partition))
        for index in part { arguments.append(notes[index].field) }
      }
    }
  }
}

extension DeviceRecord {
  /// As stored.
  fileprivate var bytes: [UInt8] {
    get throws(StoreError) {
      var bytes: [UInt8] = []
      try write(to: &bytes)
      return bytes
    }
  }

  fileprivate var owned: CampaignStore.OwnedToken { CampaignStore.OwnedToken(token, service) }
}

extension CampaignStore.TokenOwner {
  fileprivate func isOlder(than registration: DeviceRegistration) -> Bool {
    registeredAt < registration.device.registeredAt
  }
}

/// What is kept while a registration is under way: `bind.lua` writes it.
private struct MoveNote {
  /// Who had the token; empty for nobody else.
  var old: String
  var registration: DeviceRegistration

  init(old: String, registration: DeviceRegistration) {
    self.old = old
    self.registration = registration
  }

  /// u16 length of the old user, old user, u16 length of the new user, new user, u48 registeredAt, raw token.
  var field: [UInt8] {
    let at = stride(from: 40, through: 0, by: -8).map {
      UInt8(truncatingIfNeeded: registration.device.registeredAt >> UInt64($0))
    }
    return Self.prefixed(old) + Self.prefixed(registration.user) + at + registration.device.token
  }

  /// - Parameters:
  ///   - field: see ``field``.
  ///   - value: the device record, and behind it the user's attributes.
  init?(field: RedisReply, value: RedisReply) {
    let users = field.withBytes { bytes -> (old: String, new: String)? in
      guard let (old, rest) = Self.prefix(bytes[...]), let (new, _) = Self.prefix(rest) else { return nil }
      return (old, new)
    }
    let content = value.withBytes { bytes -> (DeviceRecord, [UInt8])? in
      guard let end = DeviceCursor(bytes).first(where: { _ in true })?.bytes.count,
        let device = DeviceRecord.all(in: UnsafeRawBufferPointer(rebasing: bytes[..<end])).first
      else { return nil }
      return (device, Array(bytes[end...]))
    }
    guard let users, let (device, attributes) = content else { return nil }
    self.init(
      old: users.old, registration: DeviceRegistration(user: users.new, device: device, attributes: attributes))
  }

  private static func prefixed(_ text: String) -> [UInt8] {
    // A user of whom Redis has more than a length can tell is none of ours: the note then names nobody.
    var bytes: [UInt8] = []
    bytes.append(length: text.utf8.count)
    return bytes + Array(text.utf8)
  }

  private static func prefix(_ bytes: Slice<UnsafeRawBufferPointer>) -> (String, Slice<UnsafeRawBufferPointer>)? {
    guard bytes.count >= 2 else { return nil }
    let start = bytes.startIndex + 2
    let end = start + (Int(bytes[start - 2]) << 8 | Int(bytes[start - 1]))
    return end <= bytes.endIndex ? (String(decoding: bytes[start..<end], as: UTF8.self), bytes[end...]) : nil
  }
}
