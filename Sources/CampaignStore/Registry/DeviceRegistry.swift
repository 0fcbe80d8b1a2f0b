public import PushCore
import Redis

/// The devices of users. A token belongs to one user, its *owner*. The owner index in the token's partition has the
/// owner of each token.
extension Registry {
  /// Removes tokens from any user who has them. A registration from before the removal changes nothing, even if it
  /// arrives later.
  ///
  /// - Parameters:
  ///   - tokens: the tokens.
  ///   - service: push service of the tokens.
  ///   - instant: time of the removal in ms since the epoch, at most Redis' clock. Later registrations stay.
  /// - Returns: whether each token was registered and is now removed.
  public func unregister(
    _ tokens: [DeviceToken], of service: any PushService, at instant: Int
  ) async throws -> [Bool] {
    try await unregister(tokens.map { TokenRemoval(token: OwnedToken($0.bytes, service.name), at: instant) })
      .map { $0 == .changed }
  }

  /// A change in which a token loses its owner.
  struct TokenRemoval {
    var token: OwnedToken
    /// Time of the removal, in ms since the epoch.
    var at: Int
  }

  /// The effect of a change.
  enum Effect {
    case changed
    /// Nothing changed, because the data had the requested state already.
    case none
    /// Nothing changed, because a newer change of the same data exists.
    case superseded
  }

  /// Removes tokens from any user who has them. A token is removed from its user's record first and from the owner
  /// index last. A repeated call therefore still finds the token in the index.
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
      let answers = try await unbind(edits, fromAllUsers: true)
      var again: [Int] = []
      for (index, answer) in zip(left, answers) {
        if answer?.kind == .bulk {
          // The token has another owner now. The next pass of the loop removes it from this owner.
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

  /// Returns the record of a user; `nil` if the user has no device.
  public func user(_ user: String) async throws -> UserRecord? {
    let partition = Partition.of(user: user, count: keys.partitions)
    var pipeline = RedisPipeline()
    pipeline.append("HGET", keys.devices(partition), user)
    pipeline.append("HGET", keys.attributes(partition), user)
    let replies = try await run(pipeline)
    // Data of a user without devices is retained for late registrations, and is not shown.
    guard !replies[0].isNull else { return nil }
    return UserRecord(user: user, devices: replies[0].withBytes(DeviceRecord.all), stored: replies[1])
  }

  /// Calls `body` with all users with devices, in no order. A user may appear twice if records change during the call.
  public func forEachUser(_ body: ([UserRecord]) async throws -> Void) async throws {
    for partition in 0..<keys.partitions {
      try await store.forEachPage {
        $1.append("HSCAN", keys.devices(partition), $0, "COUNT", CampaignStore.batch)
      } _: { pairs in
        var pipeline = RedisPipeline()
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
        return true
      }
    }
  }

  /// Returns the owner of each token; `nil` for a token without an owner.
  ///
  /// - Parameters:
  ///   - tokens: the tokens.
  ///   - service: push service of the tokens.
  public func owners(of tokens: [DeviceToken], _ service: any PushService) async throws -> [String?] {
    try await owners(of: tokens.map { OwnedToken($0.bytes, service.name) }).map { $0?.user }
  }

  /// A token and its push service.
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
    /// Time of the registration that gave the token to the user, in ms since the epoch.
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

  /// Returns the partition of a token. This partition has the token's entry in the owner index, and the token's target
  /// in a campaign to *raw tokens*, which are tokens that a job lists without their users.
  ///
  /// - Throws: ``StoreError`` `mismatch` if the program does not know the service.
  func partition(of token: OwnedToken) throws -> Int {
    guard let service = services[token.service] else { throw StoreError.unknownService(token.service) }
    return Partition.of(token: token.bytes, of: service, count: keys.partitions)
  }

  /// A change to one device of one user.
  struct DeviceEdit {
    enum Action: String {
      /// Removes the device, and records the time of the removal.
      case remove
      /// Removes the device and does not record the time. An earlier registration that arrives later may restore the
      /// device.
      case prune
      /// Removes the device of an erased user, in the same way as ``prune``.
      case erase
      case quarantine, release
    }

    var user: String
    var token: OwnedToken
    var action: Action
    /// Time of the change, in ms since the epoch. A device that registered later stays as it is.
    var instant: Int
    /// For a quarantine: the stored form of the ``DeviceNotice`` with its head, which has the reason and the time.
    var note: [UInt8] = []
  }

  /// Edits devices, and removes the tokens of removed devices from the owner index.
  ///
  /// - Returns: whether each edit has changed its device.
  func edit(_ edits: [DeviceEdit]) async throws -> [Bool] {
    try await effects(of: edits).map { $0 == .changed }
  }

  /// Edits devices, and removes the tokens of removed devices from the owner index. Returns the effect of each edit.
  func effects(of edits: [DeviceEdit]) async throws -> [Effect] {
    let effects = try await apply(edits)
    try await unbind(edits.filter { $0.action != .quarantine && $0.action != .release })
    return effects
  }

  /// Edits devices, and does not change the owner index.
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
  /// - Parameter fromAllUsers: whether to remove the tokens from whichever user the index names; if false, only from
  ///   the users of the edits.
  /// - Returns: the reply of `unbind.lua` for each edit.
  @discardableResult
  func unbind(_ edits: [DeviceEdit], fromAllUsers: Bool = false) async throws -> [RedisReply?] {
    var answers: [RedisReply?] = edits.map { _ in nil }
    try await perPartition(edits.indices, of: { try partition(of: edits[$0].token) }) { partition, part, pipeline in
      pipeline.script(
        StoreScripts.unbind, keys: [keys.owner(partition), keys.taken(partition), keys.removals(partition)]
      ) { arguments in
        for index in part {
          arguments.append(edits[index].token.bytes)
          arguments.append(edits[index].user)
          arguments.append(edits[index].instant)
          arguments.append(fromAllUsers ? 1 : 0)
        }
      }
    } replies: { part, reply in
      for (index, answer) in zip(part, reply) { answers[index] = answer }
    }
    return answers
  }

  /// Runs commands for items, all in one pipeline. Each command has at most ``batch`` items of one partition.
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
      for part in group.batches() {
        command(partition, part, &pipeline)
        parts.append(part)
      }
    }
    for (part, reply) in zip(parts, try await run(pipeline)) { replies(part, reply) }
  }
}
