public import PushCore
import Redis

/// What producers say of users and devices.
extension CampaignStore {
  /// Applies events in their order, as far as that matters: what one says of a user or a device comes behind what an
  /// earlier one said of it. Applying them again changes nothing, unless something newer has come between.
  ///
  /// One by one they could leave less: a user who loses the last device and gets another with the same call may keep the
  /// attributes, and a device that leaves by another's login and is logged in itself what was known of it.
  ///
  /// - Parameters:
  ///   - events: some thousand at most.
  ///   - apps: those of which a user has one device only, the one where a login was last.
  public func apply(_ events: [RegistrationEvent], lastDeviceOnly apps: Set<String> = []) async throws {
    var wave = EventWave()
    for event in events where !wave.add(event) {
      try await apply(wave.devices, lastDeviceOnly: apps)
      wave.devices = EventWave.Devices()
      _ = wave.add(event)
    }
    try await apply(wave.devices, lastDeviceOnly: apps)
    try await change(wave.members)
  }

  /// - Parameter members: segment to user to whether they are in it.
  private func change(_ members: [String: [String: Bool]]) async throws {
    var pipeline = RedisPipeline()
    let joined = members.filter { $0.value.contains { $0.value } }.map(\.key)
    if !joined.isEmpty {
      pipeline.command("SADD") { arguments in
        arguments.append(keys.segments)
        for segment in joined { arguments.append(segment) }
      }
    }
    for (segment, users) in members {
      for isMember in [true, false] {
        forEachGroup(of: users.filter { $0.value == isMember }.map(\.key)) { partition, group in
          pipeline.command(isMember ? "SADD" : "SREM") { arguments in
            arguments.append(keys.segment(partition, segment))
            for user in group { arguments.append(user) }
          }
        }
      }
    }
    if !pipeline.isEmpty { _ = try await run(pipeline) }
  }

  private func apply(_ wave: EventWave.Devices, lastDeviceOnly apps: Set<String>) async throws {
    try await registerAll(wave.registrations)
    try await logIn(wave.logins, lastDeviceOnly: apps)
    if !wave.removals.isEmpty {
      let owners = try await owners(of: wave.removals.map(\.token))
      let edits = zip(wave.removals, owners).compactMap { removal, owner -> DeviceEdit? in
        guard let user = owner?.user, removal.user ?? user == user else { return nil }
        return DeviceEdit(user: user, token: removal.token, action: .prune, instant: removal.at)
      }
      _ = try await edit(edits)
    }
    try await change(wave.attributes)
    try await set(wave.badges)
  }

  /// - Parameter badges: by user and app.
  private func set(_ badges: [String: [String: Int]]) async throws {
    guard !badges.isEmpty else { return }
    let all = badges.flatMap { user, apps in apps.map { (user: user, app: $0.key, value: $0.value) } }
    try await perPartition(all.indices, of: { Partition.of(user: all[$0].user, count: keys.partitions) }) {
      partition, part, pipeline in
      pipeline.script(StoreScripts.setBadges, keys: [keys.pressure(partition), keys.users(partition)]) {
        for index in part {
          $0.append(all[index].user)
          $0.append(all[index].app)
          $0.append(all[index].value)
        }
      }
    }
  }

  /// What the store has no room for, such as too many attributes, was refused when the event was read.
  private func registerAll(_ registrations: [DeviceRegistration]) async throws {
    guard !registrations.isEmpty else { return }
    try await register(registrations)
  }

  // MARK: Logins

  /// Gives devices to users, with what is known of them.
  private func logIn(_ logins: [EventWave.Login], lastDeviceOnly apps: Set<String>) async throws {
    guard !logins.isEmpty else { return }
    let tokens = logins.map { OwnedToken($0.row.token.bytes, $0.row.service) }
    let owners = try await owners(of: tokens)
    let formerDevices = try await devices(of: owners.compactMap { $0?.user })
    var registrations: [DeviceRegistration] = []
    for (login, owner) in zip(logins, owners) {
      var registration = DeviceRegistration(login.row)
      if let known = owner.flatMap({ formerDevices[$0.user] })?.first(where: { $0.token == login.row.token.bytes }) {
        registration.device.fill(from: known)
      }
      registrations.append(registration)
    }
    try await registerAll(registrations)
    let exclusive = registrations.filter { apps.contains($0.device.app) }
    guard !exclusive.isEmpty else { return }
    let present = try await devices(of: exclusive.map(\.user))
    _ = try await edit(
      exclusive.flatMap { login in
        (present[login.user] ?? []).compactMap { device -> DeviceEdit? in
          guard device.token != login.device.token, device.app == login.device.app else { return nil }
          return DeviceEdit(
            user: login.user, token: OwnedToken(device.token, device.service), action: .prune,
            instant: Int(login.device.registeredAt))
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

  private func change(_ changes: [String: [String: String?]]) async throws {
    var left = changes
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
      let changes = left
      try await perPartition(users.indices, of: partition) { partition, part, pipeline in
        pipeline.script(StoreScripts.setAttributes, keys: [keys.attributes(partition), keys.users(partition)]) {
          for index in part {
            let user = users[index]
            let was = known[user] ?? []
            $0.append(user)
            $0.append(was)
            $0.append(Self.attributes(was, changed: changes[user] ?? [:]))
          }
        }
      } replies: { part, reply in
        for (index, answer) in zip(part, reply) where answer.integer == 1 { left[users[index]] = nil }
      }
    }
  }

  /// Attributes as the store keeps them, after a change; nothing for none. Of values that nobody changes not a byte does;
  /// where there are too many, some of these leave.
  static func attributes(_ json: [UInt8], changed changes: [String: String?]) -> [UInt8] {
    var known: [(name: String, value: [UInt8])] = []
    if let root = try? JSONValue(parsing: json, maximumDepth: CampaignJob.maximumNesting),
      case .object(let members) = root.kind
    {
      known = members.filter { changes[$0.name] == nil }.map { ($0.name, Array(json[$0.value.range])) }
    }
    var members: [(name: String, value: [UInt8])] = []
    for (name, text) in changes {
      guard let text else { continue }
      var value = JSONWriter()
      value.value(text)
      members.append((name, value.take()))
    }
    members += known.prefix(max(0, DeviceRowDraft.maximumAttributes - members.count))
    guard !members.isEmpty else { return [] }
    var writer = JSONWriter()
    writer.beginObject()
    for member in members.sorted(by: { $0.name < $1.name }) {
      writer.name(member.name)
      writer.raw(member.value)
    }
    writer.endObject()
    return writer.take()
  }
}

extension DeviceRecord {
  /// Takes over what another record of the device knows and this one does not say.
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
