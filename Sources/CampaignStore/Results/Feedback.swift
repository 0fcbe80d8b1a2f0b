import PushCore
import Redis

/// Feedback: applies the notices of pruned devices (``DeviceNotice``). The *outbox* of a partition has notices that
/// must be applied to the owner index, which may be in another partition, and to the feedback list. A notice is
/// delivered at least once.
extension Results {
  /// Number of entries of an outbox that are read together. Each entry has the notices of one commit
  /// (``SliceLedger/commit(_:_:)``): a few devices, rarely some hundreds.
  static let entriesPerBatch = 32

  /// Empties the outboxes of some partitions. The notices go to the partitions of their tokens. A dozen partitions
  /// together cost half as much as one by one, because then more notices go to the same partition.
  ///
  /// - Returns: the number of delivered notices.
  @discardableResult
  public func deliverFeedback(from partitions: some Collection<Int> & Sendable) async throws -> Int {
    var delivered = 0
    var waiting = Array(partitions)
    while !waiting.isEmpty {
      var pipeline = RedisPipeline()
      for partition in waiting { pipeline.append("LRANGE", keys.outbox(partition), 0, Self.entriesPerBatch - 1) }
      let pages = zip(waiting, try await run(pipeline)).filter { !$1.isEmpty }
      let notices = pages.map { page in page.1.flatMap(DeviceNotice.all) }
      try await deliver(notices.flatMap { $0 })
      // Remove the entries last: delivering an entry twice does no harm, but losing an entry would.
      pipeline.removeAll()
      for (partition, entries) in pages {
        guard let first = entries.first, let last = entries.last else { continue }
        pipeline.script(StoreScripts.trim, keys: [keys.outbox(partition)]) {
          $0.append(entries.count)
          $0.append(first)
          $0.append(last)
        }
      }
      let left = pipeline.isEmpty ? [] : try await run(pipeline)
      for (notices, reply) in zip(notices, left) where reply.integer == 1 { delivered += notices.count }
      waiting = pages.map(\.0)
    }
    return delivered
  }

  private func deliver(_ notices: [DeviceNotice]) async throws {
    _ = try await store.registry.edit(notices.filter { $0.action != .pruned }.map(\.edit))
    let prunes = notices.filter { $0.action != .quarantine }
    let registered = zip(prunes, try await areRegistered(prunes.map(\.edit)))
    try await store.registry.unbind(registered.filter { $0.action == .pruned && !$1 }.map(\.0.edit))
    // If a raw token is registered since the answer, its device was not pruned, so it gets no entry. All other devices
    // were pruned: now, by the commit, or by an earlier delivery of this notice.
    try await appendFeedback(
      registered.filter { $0.action == .pruned || !$1 }.map(\.0).map {
        feedback(
          user: $0.user, token: $0.owned, app: $0.head.app, reason: $0.reasonText(of: services[$0.head.service]),
          at: Int($0.head.at))
      })
  }

  /// Returns the feedback entry of a pruned token.
  func feedback(user: String, token: Registry.OwnedToken, app: String, reason: String, at: Int) -> [UInt8] {
    let text = DeviceToken(bytes: token.bytes).flatMap { services[token.service]?.text(of: $0) }
    var json = JSONWriter()
    json.beginObject()
    json.member("user", user)
    json.member("token", text ?? "")
    json.member("app", app)
    json.member("reason", reason)
    json.member("at", Timestamp.format(milliseconds: at))
    json.endObject()
    return json.take()
  }

  /// Adds pruned tokens to the feedback list.
  func appendFeedback(_ entries: [[UInt8]]) async throws {
    guard !entries.isEmpty else { return }
    var pipeline = RedisPipeline()
    for page in entries.batches() {
      pipeline.command("LPUSH") { arguments in
        arguments.append(keys.feedback)
        for entry in page { arguments.append(entry) }
      }
    }
    pipeline.append("LTRIM", keys.feedback, 0, store.feedbackLength - 1)
    if store.streamLength > 0 { for entry in entries { append("prune", entry, to: &pipeline) } }
    _ = try await run(pipeline)
  }

  /// Returns whether the user of each edit has a device with the token of the edit. For the edit of a prune, such a
  /// device has registered again.
  func areRegistered(_ edits: [Registry.DeviceEdit]) async throws -> [Bool] {
    var registered = edits.map { _ in false }
    try await store.registry.perPartition(
      edits.indices, of: { Partition.of(user: edits[$0].user, count: keys.partitions) }
    ) {
      partition, part, pipeline in
      pipeline.command("HMGET") { arguments in
        arguments.append(keys.devices(partition))
        for index in part { arguments.append(edits[index].user) }
      }
    } replies: { part, records in
      for (index, record) in zip(part, records) {
        let token = edits[index].token.bytes
        registered[index] = record.withBytes { DeviceCursor($0).contains { $0.token.elementsEqual(token) } }
      }
    }
    return registered
  }
}

extension DeviceNotice {
  fileprivate var owned: Registry.OwnedToken { Registry.OwnedToken(token, head.service) }

  /// The change of the device that the notice requests.
  fileprivate var edit: Registry.DeviceEdit {
    var edit = Registry.DeviceEdit(
      user: user, token: owned, action: action == .quarantine ? .quarantine : .prune, instant: Int(instant))
    if action == .quarantine {
      var note = self
      note.token = []
      edit.note = note.bytes
    }
    return edit
  }

  /// Returns the reason as text; empty if there is none.
  func reasonText(of service: (any PushService)?) -> String {
    reason == .other ? unknownReason : service?.reasonName(of: reason) ?? ""
  }
}
