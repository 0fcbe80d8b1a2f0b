public import PushCore
import Redis

/// Who has which device. A token belongs to one user; the index of owners says whom, in the token's own partition.
extension Registry {
  /// Removes tokens, whoever has them. A registration that happened before and arrives later changes nothing.
  ///
  /// - Parameters:
  ///   - tokens: which.
  ///   - service: that they are of.
  ///   - instant: ms since the epoch, at most Redis' clock; what registered later stays.
  /// - Returns: for each whether it was known and is gone.
  public func unregister(
    _ tokens: [DeviceToken], of service: any PushService, at instant: Int
  ) async throws -> [Bool] {
    try await unregister(tokens.map { TokenRemoval(token: OwnedToken($0.bytes, service.name), at: instant) })
      .map { $0 == .changed }
  }

  /// A statement that a token has no owner.
  struct TokenRemoval {
    var token: OwnedToken
    /// ms since the epoch.
    var at: Int
  }

  /// The effect of a statement.
  enum Effect {
    case changed
    /// Nothing changed: it was so already.
    case none
    /// The statement changed nothing, because a newer one applies.
    case superseded
  }

  /// Removes tokens, whoever has them. A token leaves its user's record first, so that the index of owners, which says
  /// whose it is, goes last: whoever repeats this finds it there.
  func unregister(_ removals: [TokenRemoval]) async throws -> [Effect] {
    var effects = removals.map { _ in Effect.none }
    var left = Array(removals.indices)
    var owners = try await self.owners(of: removals.map(\.token)).map { $0?.user }
    while !left.isEmpty {
      let edits = left.map {
        DeviceEdit(user: owners[$0] ?? "", token: removals[$0].token, action: .remove, instant: removals[$0].at)
      }
      let owned = left.indices.filter { owners[left[$0]] != nil }
      for (place, effect) in zip(owned, try await apply(owned.map { edits[$0] })) where effect == .changed {
        effects[left[place]] = .changed
      }
      let answers = try await unbind(edits, everybody: true)
      var again: [Int] = []
      for (index, answer) in zip(left, answers) {
        if answer?.kind == .bulk {
          // It moved meanwhile.
          owners[index] = answer?.string
          again.append(index)
        } else if answer?.integer == 2, effects[index] == .none {
          effects[index] = .superseded
        }
      }
      left = again
    }
    return effects
  }

  /// What is known of a user; `nil` when nothing is.
  public func user(_ user: String) async throws -> UserRecord? {
    let partition = Partition.of(user: user, count: keys.partitions)
    var pipeline = RedisPipeline()
    pipeline.append("HGET", keys.devices(partition), user)
    pipeline.append("HGET", keys.attributes(partition), user)
    let replies = try await run(pipeline)
    // What is retained of a user without devices is nothing that anybody can see.
    guard !replies[0].isNull else { return nil }
    return UserRecord(user: user, devices: replies[0].withBytes(DeviceRecord.all), stored: replies[1])
  }

  /// Walks over all users with devices, in no order. A user may come twice when records change meanwhile.
  public func forEachUser(_ body: ([UserRecord]) async throws -> Void) async throws {
    for partition in 0..<keys.partitions {
      var cursor = "0"
      repeat {
        var pipeline = RedisPipeline()
        pipeline.append("HSCAN", keys.devices(partition), cursor, "COUNT", CampaignStore.batch)
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
              stored: attributes[index / 2])
          })
      } while cursor != "0"
    }
  }

  /// Who owns each token; `nil` for those nobody does.
  ///
  /// - Parameters:
  ///   - tokens: which.
  ///   - service: that they are of.
  public func owners(of tokens: [DeviceToken], _ service: any PushService) async throws -> [String?] {
    try await owners(of: tokens.map { OwnedToken($0.bytes, service.name) }).map { $0?.user }
  }

  /// A token with the service that it is of.
  struct OwnedToken {
    var bytes: [UInt8]
    var service: String

    init(_ bytes: [UInt8], _ service: String) {
      self.bytes = bytes
      self.service = service
    }
  }

  /// An entry of the owner index.
  struct TokenOwner {
    var user: String
    /// ms since the epoch: of the registration that gave the token to the user.
    var registeredAt: UInt64

    init?(_ reply: RedisReply) {
      guard let text = reply.string, let colon = text.firstIndex(of: ":"), let at = UInt64(text[..<colon]) else {
        return nil
      }
      user = String(text[text.index(after: colon)...])
      registeredAt = at
    }
  }

  func owners(of tokens: [OwnedToken]) async throws -> [TokenOwner?] {
    var owners: [TokenOwner?] = tokens.map { _ in nil }
    try await perPartition(tokens.indices, of: { try partition(of: tokens[$0]) }) { partition, part, pipeline in
      pipeline.command("HMGET") { arguments in
        arguments.append(keys.owner(partition))
        for index in part { arguments.append(tokens[index].bytes) }
      }
    } replies: { part, reply in
      for (index, entry) in zip(part, reply) { owners[index] = TokenOwner(entry) }
    }
    return owners
  }

  /// The partition of a token: where its owner is known, and where the slice of a campaign to raw tokens has it.
  ///
  /// - Throws: ``StoreError`` `mismatch` when its service is not known here.
  func partition(of token: OwnedToken) throws -> Int {
    guard let service = services[token.service] else { throw StoreError.unknownService(token.service) }
    return Partition.of(token: token.bytes, of: service, count: keys.partitions)
  }

  /// A change to one device of one user.
  struct DeviceEdit {
    enum Action: String {
      /// Removes the device, and remembers that.
      case remove
      /// Removes the device. A registration that happened before may bring it back.
      case prune
      /// Removes the device of a user who is erased: nor is the user remembered.
      case erase
      case quarantine, release
    }

    var user: String
    var token: OwnedToken
    var action: Action
    /// ms since the epoch; a device that registered later stays as it is.
    var instant: Int
    /// For a quarantine: why and since when, see ``DeviceNotice``.
    var note: [UInt8] = []
  }

  /// Edits devices, and unbinds those that were removed.
  ///
  /// - Returns: for each whether the device was changed.
  func edit(_ edits: [DeviceEdit]) async throws -> [Bool] {
    try await effects(of: edits).map { $0 == .changed }
  }

  /// Edits devices, and unbinds those that were removed.
  func effects(of edits: [DeviceEdit]) async throws -> [Effect] {
    let effects = try await apply(edits)
    try await unbind(edits.filter { $0.action != .quarantine && $0.action != .release })
    return effects
  }

  /// Edits devices.
  func apply(_ edits: [DeviceEdit]) async throws -> [Effect] {
    var effects = edits.map { _ in Effect.none }
    try await perPartition(edits.indices, of: { Partition.of(user: edits[$0].user, count: keys.partitions) }) {
      partition, part, pipeline in
      pipeline.script(
        StoreScripts.edit,
        keys: [
          keys.devices(partition), keys.users(partition), keys.quarantine(partition), keys.attributes(partition),
          keys.pressure(partition), keys.removals(partition), keys.retained(partition), keys.departures(partition),
        ]
      ) { arguments in
        for index in part {
          arguments.append(edits[index].user)
          arguments.append(edits[index].token.bytes)
          arguments.append(edits[index].action.rawValue)
          arguments.append(edits[index].instant)
          arguments.append(edits[index].note)
        }
      }
    } replies: { part, reply in
      for (index, answer) in zip(part, reply) {
        effects[index] = answer.integer == 1 ? .changed : answer.integer == 2 ? .superseded : .none
      }
    }
    return effects
  }

  /// Removes tokens from the owner index.
  ///
  /// - Parameter everybody: whether nobody has them from then on.
  /// - Returns: for each what `unbind.lua` says.
  @discardableResult
  func unbind(_ edits: [DeviceEdit], everybody: Bool = false) async throws -> [RedisReply?] {
    var answers: [RedisReply?] = edits.map { _ in nil }
    try await perPartition(edits.indices, of: { try partition(of: edits[$0].token) }) { partition, part, pipeline in
      pipeline.script(
        StoreScripts.unbind, keys: [keys.owner(partition), keys.taken(partition), keys.removals(partition)]
      ) { arguments in
        for index in part {
          arguments.append(edits[index].token.bytes)
          arguments.append(edits[index].user)
          arguments.append(edits[index].instant)
          arguments.append(everybody ? 1 : 0)
        }
      }
    } replies: { part, reply in
      for (index, answer) in zip(part, reply) { answers[index] = answer }
    }
    return answers
  }

  /// Runs one command for each partition that items fall into, at most ``batch`` items a command, all in one pipeline.
  func perPartition(
    _ items: Range<Int>, of partition: (Int) throws -> Int,
    command: (Int, ArraySlice<Int>, inout RedisPipeline) -> Void,
    replies: (ArraySlice<Int>, RedisReply) -> Void = { _, _ in }
  ) async throws {
    guard !items.isEmpty else { return }
    var groups: [Int: [Int]] = [:]
    for item in items { groups[try partition(item), default: []].append(item) }
    var pipeline = RedisPipeline()
    var parts: [ArraySlice<Int>] = []
    for (partition, group) in groups {
      for start in stride(from: 0, to: group.count, by: CampaignStore.batch) {
        let part = group[start..<min(start + CampaignStore.batch, group.count)]
        command(partition, part, &pipeline)
        parts.append(part)
      }
    }
    for (part, reply) in zip(parts, try await run(pipeline)) { replies(part, reply) }
  }
}
