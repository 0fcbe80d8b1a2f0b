import PushCore
import Redis

/// The move of segments and of the owner index.
extension RepartitionMove {
  /// Moves the times of membership changes of single users of a segment, and copies the time of the whole segment to
  /// all partitions.
  private mutating func times(of name: String, _ partition: Int) async throws {
    let key = keys.stated(partition, name)
    try await forEachPage("ZSCAN", key) { move, reply in
      let pairs = Self.pairs(reply)
      let whole = pairs.filter(\.token.isEmpty)
      try await move.enter(whole, (0..<move.destination.keys.partitions).map { move.keys.stated($0, name) })
      let away = pairs.filter { !$0.token.isEmpty && move.newPartition(ofUser: $0.token) != partition }
      for (home, pairs) in Dictionary(grouping: away, by: { move.newPartition(ofUser: $0.token) }) {
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
        let away = reply.compactMap { $0.bytes.map(Array.init) }.filter { move.newPartition(ofUser: $0) != partition }
        guard !away.isEmpty else { return }
        var pipeline = RedisPipeline()
        for (home, users) in Dictionary(grouping: away, by: move.newPartition) {
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

  /// Moves the entries of a partition's owner index that belong to another partition. An entry whose device does not
  /// exist does not move, because the push service of its token is unknown. Such an entry is invalid.
  mutating func owners(of partition: Int) async throws {
    try await forEachPage("HSCAN", keys.owner(partition)) { move, reply in
      let entries = Self.pairs(reply)
      let services = try await move.services(of: entries)
      var pipeline = RedisPipeline()
      var away: [(token: [UInt8], text: [UInt8])] = []
      for ((token, text), service) in zip(entries, services) {
        guard let service else { continue }
        let home = try move.destination.registry.partition(of: Registry.OwnedToken(token, service))
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

  /// Returns the push service of each token, from the device of its owner in the new partition; `nil` if the owner has
  /// no such device.
  private func services(of entries: [(token: [UInt8], text: [UInt8])]) async throws -> [String?] {
    // The value of the entry is `at:user`.
    let users = entries.map { $0.text.drop { $0 != UInt8(ascii: ":") }.dropFirst() }
    var services = [String?](repeating: nil, count: entries.count)
    try await here.registry.perPartition(entries.indices, of: { newPartition(ofUser: Array(users[$0])) }) {
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
}
