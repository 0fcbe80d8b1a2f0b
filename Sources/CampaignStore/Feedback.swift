import PushCore
import Redis

/// From each slice's outbox to the owner index and the feedback list, at least once.
extension CampaignStore {
  /// Empties one partition's outbox.
  ///
  /// - Returns: the number of entries that left it.
  @discardableResult
  public func deliverFeedback(from partition: Int) async throws -> Int {
    var delivered = 0
    while true {
      var pipeline = RedisPipeline()
      pipeline.append("LRANGE", keys.outbox(partition), 0, Self.batch - 1)
      let entries = try await run(pipeline)[0]
      guard let first = entries.first, let last = entries.last else { return delivered }
      try await deliver(entries.compactMap { entry in entry.bytes.flatMap { OutboxEntry(Array($0)) } }, partition)
      // Last: an entry that was delivered twice does no harm, one that was not delivered would.
      pipeline.removeAll()
      pipeline.script(StoreScripts.deliver, keys: [keys.outbox(partition)]) {
        $0.append(entries.count)
        $0.append(first)
        $0.append(last)
      }
      if try await run(pipeline)[0].integer == 1 { delivered += entries.count }
    }
  }

  private func deliver(_ entries: [OutboxEntry], _ partition: Int) async throws {
    _ = try await edit(entries.filter { !$0.isEdited }.map(\.edit))
    let edited = entries.filter(\.isEdited).map(\.edit)
    let registered = try await areRegistered(edited, partition)
    try await disown(zip(edited, registered).filter { !$1 }.map(\.0))
    let prunes = entries.filter { $0.edit.action == .prune }
    try await tellBackend(prunes.map(\.feedback))
  }

  /// Puts pruned tokens on the feedback list.
  func tellBackend(_ entries: [[UInt8]]) async throws {
    guard !entries.isEmpty else { return }
    var pipeline = RedisPipeline()
    pipeline.command("LPUSH") { arguments in
      arguments.append(keys.feedback)
      for entry in entries { arguments.append(entry) }
    }
    pipeline.append("LTRIM", keys.feedback, 0, feedbackLength - 1)
    _ = try await run(pipeline)
  }

  /// Whether devices that were pruned here have registered again since.
  private func areRegistered(_ edits: [DeviceEdit], _ partition: Int) async throws -> [Bool] {
    guard !edits.isEmpty else { return [] }
    var pipeline = RedisPipeline()
    pipeline.command("HMGET") { arguments in
      arguments.append(keys.devices(partition))
      for edit in edits { arguments.append(edit.user) }
    }
    return zip(edits, try await run(pipeline)[0]).map { edit, record in
      record.withBytes { DeviceCursor($0).contains { $0.token.elementsEqual(edit.token) } }
    }
  }
}

/// What the backend's own database is told of a pruned token.
enum FeedbackEntry {
  static func json(user: String, token: DeviceToken, app: String, reason: String, at: Int) -> [UInt8] {
    var json = JSONWriter()
    json.beginObject()
    json.member("user", user)
    json.member("token", token.hex)
    json.member("app", app)
    json.member("reason", reason)
    json.member("at", Timestamp.format(milliseconds: at))
    json.endObject()
    return json.take()
  }
}

/// One entry of an outbox, as `commit.lua` writes it.
private struct OutboxEntry {
  var edit: CampaignStore.DeviceEdit
  /// Whether the device has been edited already, in the script that wrote the entry; the owner index has not.
  var isEdited = false
  /// What the backend gets to read.
  var feedback: [UInt8]

  init?(_ json: [UInt8]) {
    guard let value = try? JSONValue(parsing: json, maximumDepth: 2), case .object(let members) = value.kind else {
      return nil
    }
    var text: [String: String] = [:]
    for member in members {
      switch member.value.kind {
      case .string(let string): text[member.name] = string
      case .bool(let flag) where member.name == "edited": isEdited = flag
      default: break
      }
    }
    guard let user = text["user"], let token = text["token"].flatMap({ DeviceToken(hex: $0) }),
      let action = text["action"].flatMap(CampaignStore.DeviceEdit.Action.init(rawValue:)),
      let instant = text["timestamp"].flatMap({ Int($0) }), let at = text["at"].flatMap({ Int($0) })
    else { return nil }
    edit = CampaignStore.DeviceEdit(user: user, token: token.bytes, action: action, instant: instant)
    if action == .quarantine {
      edit.note =
        QuarantinedDevice(
          user: user, token: token, app: text["app"] ?? "", reason: text["reason"] ?? "",
          campaign: text["campaign"] ?? "", at: at
        ).note
    }
    feedback = FeedbackEntry.json(
      user: user, token: token, app: text["app"] ?? "", reason: text["reason"] ?? "", at: at)
  }
}
