import PushCore
import Redis

/// From each slice's outbox to the owner index and the feedback list, at least once.
extension CampaignStore {
  /// Empties the outboxes of some partitions. A dozen at once cost half of what they do one by one: whose the tokens
  /// were is noted in their own partitions, and more of them have the same one.
  ///
  /// - Returns: the number of entries that left them.
  @discardableResult
  public func deliverFeedback(from partitions: some Collection<Int> & Sendable) async throws -> Int {
    var delivered = 0
    var waiting = Array(partitions)
    while !waiting.isEmpty {
      var pipeline = RedisPipeline()
      for partition in waiting { pipeline.append("LRANGE", keys.outbox(partition), 0, Self.batch - 1) }
      let pages = zip(waiting, try await run(pipeline)).filter { !$1.isEmpty }
      try await deliver(pages.flatMap { page in page.1.compactMap { $0.bytes.flatMap { OutboxEntry(Array($0)) } } })
      // Last: an entry that was delivered twice does no harm, one that was not delivered would.
      pipeline.removeAll()
      for (partition, entries) in pages {
        guard let first = entries.first, let last = entries.last else { continue }
        pipeline.script(StoreScripts.deliver, keys: [keys.outbox(partition)]) {
          $0.append(entries.count)
          $0.append(first)
          $0.append(last)
        }
      }
      let left = pipeline.isEmpty ? [] : try await run(pipeline)
      for (page, reply) in zip(pages, left) where reply.integer == 1 { delivered += page.1.count }
      waiting = pages.map(\.0)
    }
    return delivered
  }

  private func deliver(_ entries: [OutboxEntry]) async throws {
    _ = try await edit(entries.filter { !$0.isEdited }.map(\.edit))
    let edited = entries.filter(\.isEdited).map(\.edit)
    let registered = try await areRegistered(edited)
    try await disown(zip(edited, registered).filter { !$1 }.map(\.0))
    let prunes = entries.filter { $0.edit.action == .prune }
    try await tellBackend(prunes.map(\.feedback))
  }

  /// Puts pruned tokens on the feedback list.
  func tellBackend(_ entries: [[UInt8]]) async throws {
    guard !entries.isEmpty else { return }
    var pipeline = RedisPipeline()
    for start in stride(from: 0, to: entries.count, by: Self.batch) {
      pipeline.command("LPUSH") { arguments in
        arguments.append(keys.feedback)
        for entry in entries[start..<min(start + Self.batch, entries.count)] { arguments.append(entry) }
      }
    }
    pipeline.append("LTRIM", keys.feedback, 0, feedbackLength - 1)
    _ = try await run(pipeline)
  }

  /// Whether devices that were pruned here have registered again since.
  private func areRegistered(_ edits: [DeviceEdit]) async throws -> [Bool] {
    var registered = edits.map { _ in false }
    try await perPartition(edits.indices, of: { Partition.of(user: edits[$0].user, count: keys.partitions) }) {
      partition, part, pipeline in
      pipeline.command("HMGET") { arguments in
        arguments.append(keys.devices(partition))
        for index in part { arguments.append(edits[index].user) }
      }
    } replies: { part, records in
      for (index, record) in zip(part, records) {
        let token = edits[index].token
        registered[index] = record.withBytes { DeviceCursor($0).contains { $0.token.elementsEqual(token) } }
      }
    }
    return registered
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
