public import PushCore
import Redis

/// A device that registers for a user.
public struct DeviceRegistration: Sendable {
  public var user: String
  public var device: DeviceRecord
  /// The user's attributes as a JSON object; empty leaves them as they are.
  public var attributes: [UInt8]

  /// Memberwise.
  public init(user: String, device: DeviceRecord, attributes: [UInt8] = []) {
    self.user = user
    self.device = device
    self.attributes = attributes
  }
}

/// A user with devices and what else is known.
public struct UserRecord: Sendable {
  public var user: String
  public var devices: [DeviceRecord]
  /// A JSON object; empty when there are none.
  public var attributes: [UInt8]

  /// Memberwise.
  public init(user: String, devices: [DeviceRecord] = [], attributes: [UInt8] = []) {
    self.user = user
    self.devices = devices
    self.attributes = attributes
  }
}

/// Who has which device. A token belongs to one user; the index of owners says whom, in the token's own partition.
///
/// Registering a token for another user takes four steps in three slots: (a) the owner index gets the new user and a
/// note that holds all that is needed to end the move; (b) the device leaves the old user's record; (c) it enters the new
/// one's; (d) the note goes. In this order a token never stands in two records, so no campaign sends to it twice.
extension CampaignStore {
  /// Registers devices.
  ///
  /// - Returns: for each whether it stands; false when a newer registration of its token for another user does.
  @discardableResult
  public func register(_ registrations: [DeviceRegistration]) async throws -> [Bool] {
    let answers = try await own(registrations)
    var moved: [(index: Int, old: String)] = []
    for (index, answer) in answers.enumerated() {
      if let old = answer, !old.isEmpty { moved.append((index, old)) }
    }
    let notes = moved.map { MoveNote(old: $0.old, registration: registrations[$0.index]) }
    try await leave(notes)
    let standing = registrations.indices.filter { answers[$0] != nil }.map { registrations[$0] }
    try await enter(standing)
    try await clear(notes)
    return answers.map { $0 != nil }
  }

  /// Removes tokens, whoever has them.
  ///
  /// - Parameters:
  ///   - tokens: which.
  ///   - instant: ms since the epoch; what registered later stays.
  /// - Returns: for each whether it was known and is gone.
  public func unregister(_ tokens: [DeviceToken], at instant: Int) async throws -> [Bool] {
    let owners = try await owners(of: tokens)
    var gone = tokens.map { _ in false }
    for (index, token) in tokens.enumerated() {
      guard let user = owners[index] else { continue }
      gone[index] = try await edit([DeviceEdit(user: user, token: token.bytes, action: "prune", instant: instant)]) > 0
    }
    return gone
  }

  /// What is known of a user; `nil` when nothing is.
  public func user(_ user: String) async throws -> UserRecord? {
    let partition = Partition.of(user: user, count: keys.partitions)
    var pipeline = RedisPipeline()
    pipeline.append("HGET", keys.devices(partition), user)
    pipeline.append("HGET", keys.attributes(partition), user)
    let replies = try await run(pipeline)
    guard !replies[0].isNull || !replies[1].isNull else { return nil }
    return UserRecord(
      user: user, devices: replies[0].withBytes(DeviceRecord.all), attributes: replies[1].bytes.map(Array.init) ?? [])
  }

  /// Walks over all users with devices, in no order. A user may come twice when records change meanwhile.
  public func forEachUser(_ body: ([UserRecord]) async throws -> Void) async throws {
    for partition in 0..<keys.partitions {
      var cursor = "0"
      repeat {
        var pipeline = RedisPipeline()
        pipeline.append("HSCAN", keys.devices(partition), cursor, "COUNT", Self.batch)
        let reply = try await run(pipeline)[0]
        cursor = reply[0].string ?? "0"
        let pairs = reply[1]
        guard !pairs.isEmpty else { continue }
        pipeline.removeAll()
        pipeline.command("HMGET") { arguments in
          arguments.append(keys.attributes(partition))
          for index in stride(from: 0, to: pairs.count - 1, by: 2) { arguments.append(pairs[index]) }
        }
        let attributes = try await run(pipeline)[0]
        try await body(
          stride(from: 0, to: pairs.count - 1, by: 2).map { index in
            UserRecord(
              user: pairs[index].string ?? "", devices: pairs[index + 1].withBytes(DeviceRecord.all),
              attributes: attributes[index / 2].bytes.map(Array.init) ?? [])
          })
      } while cursor != "0"
    }
  }

  /// Who owns each token; `nil` for those nobody does.
  public func owners(of tokens: [DeviceToken]) async throws -> [String?] {
    var pipeline = RedisPipeline()
    for token in tokens { pipeline.append("HGET", keys.owner(partition(of: token.bytes)), token.bytes) }
    return try await run(pipeline).map { reply in
      reply.string.flatMap { text in text.firstIndex(of: ":").map { String(text[text.index(after: $0)...]) } }
    }
  }

  /// Ends the moves that a dead process left half-done in one partition of the owner index.
  ///
  /// Safe beside a live mover: every step can be repeated, and only a move that the index still confirms is redone.
  ///
  /// - Returns: the number of moves found.
  public func redoMoves(in partition: Int) async throws -> Int {
    var pipeline = RedisPipeline()
    pipeline.append("HSCAN", keys.moving(partition), 0, "COUNT", Self.batch)
    let pairs = try await run(pipeline)[0][1]
    let notes = stride(from: 0, to: pairs.count - 1, by: 2).compactMap {
      MoveNote(field: pairs[$0], value: pairs[$0 + 1])
    }
    guard !notes.isEmpty else { return 0 }
    try await leave(notes)
    let owners = try await owners(of: notes.compactMap { DeviceToken(bytes: $0.registration.device.token) })
    try await enter(zip(notes, owners).filter { $0.registration.user == $1 }.map { $0.0.registration })
    try await clear(notes)
    return notes.count
  }

  /// The partition that knows who owns a token; of its hex, as producers compute it.
  func partition(of token: [UInt8]) -> Int { Partition.of(user: Hex.encode(token), count: keys.partitions) }

  /// Step (a). For each: `nil` when a newer owner stands, else the user that had it, or nothing.
  private func own(_ registrations: [DeviceRegistration]) async throws -> [String?] {
    var answers: [String?] = registrations.map { _ in nil }
    try await perPartition(registrations.indices, of: { partition(of: registrations[$0].device.token) }) {
      partition, part, pipeline in
      pipeline.script(StoreScripts.own, keys: [keys.owner(partition), keys.moving(partition)]) { arguments in
        for index in part {
          let registration = registrations[index]
          arguments.append(registration.device.token)
          arguments.append("\(registration.device.registeredAt):\(registration.user)")
          arguments.append(MoveNote(old: "", registration: registration).value)
        }
      }
    } replies: { part, reply in
      for (index, answer) in zip(part, reply) { answers[index] = answer.string }
    }
    return answers
  }

  /// Step (b).
  private func leave(_ notes: [MoveNote]) async throws {
    try await perPartition(notes.indices, of: { Partition.of(user: notes[$0].old, count: keys.partitions) }) {
      partition, part, pipeline in
      pipeline.script(StoreScripts.drop, keys: [keys.devices(partition), keys.users(partition)]) { arguments in
        for index in part {
          let device = notes[index].registration.device
          arguments.append(notes[index].old)
          arguments.append(device.token)
          arguments.append("prune" as StaticString)
          arguments.append(device.registeredAt)
        }
      }
    }
  }

  /// Step (c), and all there is to do for a token that does not move.
  private func enter(_ registrations: [DeviceRegistration]) async throws {
    try await perPartition(
      registrations.indices, of: { Partition.of(user: registrations[$0].user, count: keys.partitions) }
    ) { partition, part, pipeline in
      pipeline.script(
        StoreScripts.store, keys: [keys.devices(partition), keys.users(partition), keys.attributes(partition)]
      ) { arguments in
        for index in part {
          let registration = registrations[index]
          var record: [UInt8] = []
          registration.device.write(to: &record)
          arguments.append(registration.user)
          arguments.append(registration.device.token)
          arguments.append(record)
          arguments.append(registration.attributes)
        }
      }
    }
  }

  /// Step (d).
  private func clear(_ notes: [MoveNote]) async throws {
    try await perPartition(notes.indices, of: { partition(of: notes[$0].registration.device.token) }) {
      partition, part, pipeline in
      pipeline.command("HDEL") { arguments in
        arguments.append(keys.moving(partition))
        for index in part { arguments.append(notes[index].field) }
      }
    }
  }

  /// A change to one device of one user.
  struct DeviceEdit {
    var user: String
    var token: [UInt8]
    /// `prune`, `quarantine` or `release`.
    var action: String
    /// ms since the epoch; a device that registered later stays as it is.
    var instant: Int
  }

  /// Edits devices, and lets the owner index follow those that were pruned.
  ///
  /// - Returns: the number of devices changed.
  func edit(_ edits: [DeviceEdit]) async throws -> Int {
    var changed = 0
    try await perPartition(edits.indices, of: { Partition.of(user: edits[$0].user, count: keys.partitions) }) {
      partition, part, pipeline in
      pipeline.script(StoreScripts.drop, keys: [keys.devices(partition), keys.users(partition)]) { arguments in
        for index in part {
          arguments.append(edits[index].user)
          arguments.append(edits[index].token)
          arguments.append(edits[index].action)
          arguments.append(edits[index].instant)
        }
      }
    } replies: { _, reply in
      changed += reply.integer ?? 0
    }
    try await disown(edits.filter { $0.action == "prune" })
    return changed
  }

  /// Forgets the owners of pruned tokens.
  func disown(_ edits: [DeviceEdit]) async throws {
    try await perPartition(edits.indices, of: { partition(of: edits[$0].token) }) { partition, part, pipeline in
      pipeline.script(StoreScripts.disown, keys: [keys.owner(partition)]) { arguments in
        for index in part {
          arguments.append(edits[index].token)
          arguments.append("\(edits[index].instant):\(edits[index].user)")
        }
      }
    }
  }

  /// Runs one command for each partition that items fall into, at most ``batch`` items a command, all in one pipeline.
  private func perPartition(
    _ items: Range<Int>, of partition: (Int) -> Int,
    command: (Int, ArraySlice<Int>, inout RedisPipeline) -> Void,
    replies: (ArraySlice<Int>, RedisReply) -> Void = { _, _ in }
  ) async throws {
    guard !items.isEmpty else { return }
    var groups: [Int: [Int]] = [:]
    for item in items { groups[partition(item), default: []].append(item) }
    var pipeline = RedisPipeline()
    var parts: [ArraySlice<Int>] = []
    for (partition, group) in groups {
      for start in stride(from: 0, to: group.count, by: Self.batch) {
        let part = group[start..<min(start + Self.batch, group.count)]
        command(partition, part, &pipeline)
        parts.append(part)
      }
    }
    for (part, reply) in zip(parts, try await run(pipeline)) { replies(part, reply) }
  }
}

/// What is kept while a token moves from one user to another: `own.lua` writes it, with the old user in its field.
private struct MoveNote {
  var old: String
  var registration: DeviceRegistration

  init(old: String, registration: DeviceRegistration) {
    self.old = old
    self.registration = registration
  }

  /// u16 length of the old user, old user, raw token.
  var field: [UInt8] { Self.prefixed(old) + registration.device.token }

  /// u16 length of the new user, new user, device record.
  var value: [UInt8] {
    var bytes = Self.prefixed(registration.user)
    registration.device.write(to: &bytes)
    return bytes
  }

  init?(field: RedisReply, value: RedisReply) {
    guard let old = field.withBytes(Self.prefix), let new = value.withBytes(Self.prefix) else { return nil }
    let devices = value.withBytes { bytes in
      DeviceRecord.all(in: UnsafeRawBufferPointer(rebasing: bytes[(2 + new.utf8.count)...]))
    }
    guard let device = devices.first else { return nil }
    self.init(old: old, registration: DeviceRegistration(user: new, device: device))
  }

  private static func prefixed(_ text: String) -> [UInt8] {
    [UInt8(text.utf8.count >> 8), UInt8(text.utf8.count & 255)] + Array(text.utf8)
  }

  private static func prefix(_ bytes: UnsafeRawBufferPointer) -> String? {
    guard bytes.count >= 2 else { return nil }
    let end = 2 + (Int(bytes[0]) << 8 | Int(bytes[1]))
    return end <= bytes.count ? String(decoding: bytes[2..<end], as: UTF8.self) : nil
  }
}
