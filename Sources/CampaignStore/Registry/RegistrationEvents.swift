public import PushCore
import Redis

/// Applies events from producers about users and devices.
extension Registry {
  /// Retention time, in ms, of data that is needed only to compare the times of late events, such as the times of
  /// removals: 30 days.
  static let memory = 30 * 86_400_000

  /// Applies events. If two events are about the same data, the later one wins, in whatever order and however often
  /// they are applied. If both have the same time, the removal or the opt-out wins. The scripts compare the times when
  /// they write, so a suspended process can't undo newer data.
  ///
  /// A time ahead of Redis' clock is replaced by the time of that clock.
  ///
  /// - Parameters:
  ///   - events: at most a few thousand.
  ///   - apps: apps in which a user has only one device, the device of the last login.
  /// - Returns: the number of changes without effect, because a newer change of the same data exists. An event may
  ///   contain several changes.
  @discardableResult
  public func apply(_ events: [RegistrationEvent], lastDeviceOnly apps: Set<String> = []) async throws -> Int {
    guard !events.isEmpty else { return 0 }
    let now = try await store.time() / 1000
    var batch = EventBatch()
    var superseded = 0
    for event in events.map({ $0.cut(to: now) }).sorted(by: { $0.at < $1.at }) where !batch.add(event) {
      superseded += try await apply(batch.devices, lastDeviceOnly: apps)
      batch.devices = EventBatch.Devices()
      _ = batch.add(event)
    }
    superseded += try await apply(batch.devices, lastDeviceOnly: apps)
    for (list, statements) in batch.members {
      superseded += try await store.audiences.set(statements, in: list).superseded
    }
    return superseded + batch.superseded
  }

  private func apply(_ batch: EventBatch.Devices, lastDeviceOnly apps: Set<String>) async throws -> Int {
    var superseded = 0
    if !batch.registrations.isEmpty { superseded += try await enroll(batch.registrations).superseded }
    superseded += try await logIn(batch.logins, lastDeviceOnly: apps)
    superseded += try await effects(of: batch.logouts).count { $0 == .superseded }
    superseded += try await unregister(batch.removals).count { $0 == .superseded }
    superseded += try await state(batch.attributes)
    return try await superseded + set(batch.badges)
  }

  /// Sets badges of users.
  /// - Parameter badges: badges by user and app.
  private func set(_ badges: [String: [String: EventBatch.Badge]]) async throws -> Int {
    let all = badges.flatMap { user, apps in apps.map { (user: user, app: $0.key, badge: $0.value) } }
    var superseded = 0
    try await perPartition(all.indices, of: { Partition.of(user: all[$0].user, count: keys.partitions) }) {
      partition, part, pipeline in
      pipeline.script(
        StoreScripts.setBadges,
        keys: [keys.pressure(partition), keys.users(partition), keys.erased(partition), keys.retained(partition)]
      ) {
        for index in part {
          $0.append(all[index].user)
          $0.append(all[index].app)
          $0.append(all[index].badge.value)
          $0.append(all[index].badge.at)
        }
      }
    } replies: { _, reply in
      superseded += reply.integer ?? 0
    }
    return superseded
  }

  // MARK: Logins

  /// Registers the devices of logins for users. Data that a login does not have is copied from the stored record of the
  /// device.
  private func logIn(_ logins: [EventBatch.Login], lastDeviceOnly apps: Set<String>) async throws -> Int {
    guard !logins.isEmpty else { return 0 }
    let tokens = logins.map { OwnedToken($0.row.token.bytes, $0.row.service) }
    let owners = try await owners(of: tokens)
    let formerDevices = try await devices(of: owners.compactMap { $0?.user })
    var (registrations, exclusive): ([DeviceRegistration], [DeviceRegistration]) = ([], [])
    for (login, owner) in zip(logins, owners) {
      var registration = DeviceRegistration(login.row)
      if let known = owner.flatMap({ formerDevices[$0.user] })?.first(where: { $0.token == login.row.token.bytes }) {
        registration.device.fill(from: known)
      }
      if apps.contains(registration.device.app) {
        exclusive.append(registration)
      } else {
        registrations.append(registration)
      }
    }
    var superseded = 0
    if !registrations.isEmpty { superseded += try await enroll(registrations).superseded }
    if !exclusive.isEmpty {
      try await unbindOthers(than: exclusive)
      superseded += try await enroll(exclusive, exclusively: true).superseded
    }
    return superseded
  }

  /// Removes the tokens of other devices that users lose because of these logins from the owner index. The script that
  /// writes a login removes these devices from the records afterwards. A repeated call therefore still finds the tokens
  /// in the records.
  private func unbindOthers(than logins: [DeviceRegistration]) async throws {
    let present = try await devices(of: logins.map(\.user))
    try await unbind(
      logins.flatMap { login in
        (present[login.user] ?? []).compactMap { device -> DeviceEdit? in
          guard device.token != login.device.token, device.app == login.device.app,
            device.registeredAt <= login.device.registeredAt
          else { return nil }
          return DeviceEdit(
            user: login.user, token: OwnedToken(device.token, device.service), action: .prune,
            instant: Int(device.registeredAt))
        }
      })
  }

  private func devices(of users: [String]) async throws -> [String: [DeviceRecord]] {
    var devices: [String: [DeviceRecord]] = [:]
    let users = Array(Set(users))
    try await perPartition(users.indices, of: { Partition.of(user: users[$0], count: keys.partitions) }) {
      partition, part, pipeline in
      pipeline.command("HMGET") { arguments in
        arguments.append(keys.devices(partition))
        for index in part { arguments.append(users[index]) }
      }
    } replies: { part, reply in
      for (index, record) in zip(part, reply) { devices[users[index]] = record.withBytes(DeviceRecord.all) }
    }
    return devices
  }

  // MARK: Attributes

  /// Merges changes of users' attributes with the stored attributes. If another caller has changed the attributes since
  /// they were read, they are read and merged again. The times are stored with the values.
  ///
  /// - Parameter statements: the changes by user.
  /// - Returns: the number of changes without effect, because a newer one exists.
  func state(_ statements: [String: [UserAttributes.Statement]]) async throws -> Int {
    var left = statements.filter { !$0.value.isEmpty }
    guard !left.isEmpty else { return 0 }
    let horizon = try await store.time() / 1000 - Self.memory
    var superseded = 0
    while !left.isEmpty {
      let users = Array(left.keys)
      var known: [String: [UInt8]] = [:]
      let partition = { (index: Int) in Partition.of(user: users[index], count: keys.partitions) }
      try await perPartition(users.indices, of: partition) { partition, part, pipeline in
        pipeline.command("HMGET") { arguments in
          arguments.append(keys.attributes(partition))
          for index in part { arguments.append(users[index]) }
        }
      } replies: { part, reply in
        for (index, json) in zip(part, reply) { known[users[index]] = json.bytes.map(Array.init) ?? [] }
      }
      var merged: [(user: String, attributes: UserAttributes, superseded: Int)] = []
      for user in users {
        var attributes = UserAttributes(stored: known[user] ?? [])
        let void = (left[user] ?? []).count { !attributes.apply($0) }
        if void == left[user]?.count {
          superseded += void
          left[user] = nil
        } else {
          merged.append((user, attributes, void))
        }
      }
      let statements = left
      try await perPartition(
        merged.indices, of: { Partition.of(user: merged[$0].user, count: keys.partitions) }
      ) { partition, part, pipeline in
        pipeline.script(
          StoreScripts.setAttributes,
          keys: [keys.attributes(partition), keys.users(partition), keys.erased(partition), keys.retained(partition)]
        ) {
          for index in part {
            let user = merged[index].user
            $0.append(user)
            $0.append(known[user] ?? [])
            $0.append(merged[index].attributes.stored(horizon: horizon))
            $0.append(statements[user]?.map(\.at).min() ?? 0)
          }
        }
      } replies: { part, reply in
        for (index, answer) in zip(part, reply) {
          let user = merged[index].user
          if answer.kind == .bulk {
            // Changes from before the erasure have no effect.
            let rest = left[user]?.filter { $0.at > answer.integer ?? 0 } ?? []
            superseded += (left[user]?.count ?? 0) - rest.count
            left[user] = rest.isEmpty ? nil : rest
          } else if answer.integer == 1 {
            superseded += merged[index].superseded
            left[user] = nil
          }
        }
      }
    }
    return superseded
  }
}

extension RegistrationEvent {
  /// Returns the event with a time of at most `now`, in ms since the epoch.
  fileprivate func cut(to now: Int) -> RegistrationEvent {
    at <= now ? self : RegistrationEvent(change, at: now)
  }
}

extension DeviceRecord {
  /// Copies missing data of this record from another record of the device.
  fileprivate mutating func fill(from known: DeviceRecord) {
    kind = known.kind
    lastSeen = max(lastSeen, known.lastSeen)
    for path in [\DeviceRecord.app, \.environment, \.locale, \.timezone, \.appVersion, \.osVersion]
    where self[keyPath: path].isEmpty {
      self[keyPath: path] = known[keyPath: path]
    }
    attributes.merge(known.attributes) { own, _ in own }
  }
}
