import PushCore
import Redis

/// The move of users with their devices, attributes and frequency cap counters.
extension RepartitionMove {
  private struct User {
    var name: [UInt8]
    /// The user's device records.
    var blob: [UInt8]
    var attributes: [UInt8] = []
    /// Badges and frequency cap counters; empty for none.
    var pressure: [UInt8] = []
  }

  /// Moves the users of a partition who belong to another one, with their devices, attributes, frequency cap counters
  /// and notices about quarantined devices.
  mutating func users(of partition: Int) async throws {
    try await forEachPage("HSCAN", keys.devices(partition)) { move, reply in
      var users: [User] = []
      for (name, blob) in Self.pairs(reply) where move.newPartition(ofUser: name) != partition {
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
      pipeline.append("HSETNX", keys.pressure(newPartition(ofUser: user.name)), user.name, user.pressure)
    }
    for (device, note) in zip(held, held.isEmpty ? [] : Array(replies[2])) where !note.isNull {
      pipeline.append("HSETNX", keys.quarantine(newPartition(ofUser: device.user)), device.token, note)
    }
    if !pipeline.isEmpty { _ = try await here.run(pipeline) }
  }

  /// Writes users to their new partitions. If a device is already there, the later registration wins.
  private func enter(_ users: [User]) async throws {
    // Each row is user, record of one device, attributes.
    var waiting: [Int: ArraySlice<([UInt8], [UInt8], [UInt8])>] = [:]
    for user in users {
      let rows = user.blob.withUnsafeBytes { blob in
        DeviceCursor(blob).map { (user.name, Array($0.bytes), user.attributes) }
      }
      waiting[newPartition(ofUser: user.name), default: []] += rows
    }
    // A script stops early if records are large. The next call gets the remaining rows.
    while !waiting.isEmpty {
      let parts = Array(waiting)
      var pipeline = RedisPipeline()
      for (partition, rows) in parts {
        pipeline.script(StoreScripts.upsert, keys: keys.ofRegistration(partition)) {
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

  /// Moves the data of users without a device, which is retained for late registrations.
  mutating func retained(of partition: Int) async throws {
    try await forEachPage("ZSCAN", keys.retained(partition)) { move, reply in
      let away = Self.pairs(reply).filter { move.newPartition(ofUser: $0.token) != partition }
      guard !away.isEmpty else { return }
      var pipeline = RedisPipeline()
      for (user, _) in away {
        pipeline.append("HGET", move.keys.attributes(partition), user)
        pipeline.append("HGET", move.keys.pressure(partition), user)
      }
      let known = try await move.here.run(pipeline)
      pipeline.removeAll()
      for (index, (user, since)) in away.enumerated() {
        let home = move.newPartition(ofUser: user)
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
}
