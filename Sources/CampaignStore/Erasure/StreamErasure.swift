import PushCore
import Redis

/// The erasure of a user from streams. An entry of a stream can't be changed, so it is removed.
extension Erasure {
  /// Number of entries of a stream in a page. An entry of the dead list has up to 64 kB.
  private static let erasedEntries = 100

  /// Removes the outcomes and prunes of a user from the event stream.
  func eraseFromEvents(_ user: String, _ tokens: [Registry.OwnedToken]) async throws {
    try await remove(from: keys.events) { fields in
      fields["json"].map { Self.names($0, user, self.tokenTest(tokens)) ? .remove : .keep } ?? .keep
    }
  }

  /// Erases a user from the dead list.
  ///
  /// The user's events are removed, and so are jobs that list no other user. Any other job that names the user becomes
  /// a new entry with the old time, without the user. An event that can't be read is removed if it may name the user. A
  /// job that can't be read, because it is cut or malformed, loses its text if it may name the user: only its reason
  /// and hint remain (``UnreadableText``).
  func eraseFromDeadList(_ user: String, _ tokens: [Registry.OwnedToken]) async throws {
    let (isToken, mayName) = (tokenTest(tokens), mentionTest(user, tokens))
    try await remove(from: keys.dead, replacing: StoreScripts.replaceDead) { fields in
      guard let job = fields["job"] else { return .keep }
      if fields["list"] != nil {
        return Self.names(job, user, isToken) || !Self.isReadableEvent(job) && mayName(job) ? .remove : .keep
      }
      if fields["user"].map({ $0.elementsEqual(user.utf8) }) ?? false { return .remove }
      var new = fields
      do {
        if let erased = try CampaignJob.erasing(user, from: job, isToken: isToken) {
          if erased.concernsNoOtherUser { return .remove }
          new["job"] = erased.job
          new["size"] = Array("\(erased.job.count)".utf8)
        }
      } catch {
        if mayName(job) {
          new["job"] = []
          // The entry has only the beginning of the job. The size of the original job shows this.
          new["size"] = fields["size"] ?? Array("\(job.count)".utf8)
        }
      }
      // The reason may quote the user even if the stored beginning of the job does not name the user.
      for name in ["reason", "hint"] {
        guard let text = fields[name].map({ String(decoding: $0, as: UTF8.self) }) else { continue }
        new[name] = Array(text.replacing(Excerpt.quoted(user), with: "an erased user").utf8)
      }
      return new == fields ? .keep : .replace(new)
    }
  }

  /// Returns a function that reports whether a text that can't be read may name a user or one of the tokens.
  func mentionTest(_ user: String, _ tokens: [Registry.OwnedToken]) -> @Sendable ([UInt8]) -> Bool {
    let texts = tokens.compactMap { token in
      DeviceToken(bytes: token.bytes).flatMap { services[token.service]?.text(of: $0) }
    }
    return { bytes in
      let text = UnreadableText(bytes)
      return text.mayContain(user) || texts.contains { text.mayContain(token: $0) }
    }
  }

  /// The decision about an entry of a stream.
  private enum EntryDecision: Sendable {
    case keep, remove
    case replace([String: [UInt8]])
  }

  private func remove(
    from stream: String, replacing script: RedisScript? = nil,
    _ decision: @escaping @Sendable ([String: [UInt8]]) -> EntryDecision
  ) async throws {
    var start = "-"
    while true {
      var pipeline = RedisPipeline()
      pipeline.append("XRANGE", stream, start, "+", "COUNT", Self.erasedEntries)
      let page = try await run(pipeline)[0]
      guard let last = page.last?[0].string else { return }
      pipeline.removeAll()
      let entries = page.map(Self.fields)
      let size = entries.reduce(0) { $0 + $1.values.reduce(0) { $0 + $1.count } }
      let decisions = await LargeJobThread.read(size) { entries.map(decision) }
      for (entry, decision) in zip(page, decisions) {
        guard let key = entry[0].string else { continue }
        switch decision {
        case .keep: break
        case .remove: pipeline.append("XDEL", stream, key)
        case .replace(var fields):
          guard let script else { continue }
          if fields["at"] == nil { fields["at"] = Array(key.prefix { $0 != "-" }.utf8) }
          pipeline.script(script, keys: [stream]) {
            $0.append(key)
            for (name, value) in fields {
              $0.append(name)
              $0.append(value)
            }
          }
        }
      }
      if !pipeline.isEmpty { _ = try await run(pipeline) }
      guard page.count == Self.erasedEntries else { return }
      // Redis 6.2 and later support an exclusive start.
      start = "(" + last
    }
  }

  private static func fields(of entry: RedisReply) -> [String: [UInt8]] {
    var fields: [String: [UInt8]] = [:]
    for index in stride(from: 0, to: entry[1].count - 1, by: 2) {
      fields[entry[1][index].string ?? ""] = entry[1][index + 1].bytes.map { Array($0) }
    }
    return fields
  }

  /// Returns whether an event has a user or a token where ``names(_:_:_:until:)`` looks for it.
  private static func isReadableEvent(_ event: [UInt8]) -> Bool {
    guard let value = try? JSONValue(parsing: event, maximumDepth: 16), case .object(let members) = value.kind else {
      return false
    }
    if let user = members.value("user") { return (try? UserID.read(user)) != nil }
    if case .string? = members.value("token")?.kind { return true }
    return false
  }

  /// Returns whether an event is about a user or one of the tokens.
  ///
  /// - Parameter instant: ms since the epoch; an event with a later time does not count. `nil` for any time.
  static func names(
    _ event: [UInt8], _ user: String, _ isToken: (String) -> Bool, until instant: Int? = nil
  ) -> Bool {
    guard let value = try? JSONValue(parsing: event, maximumDepth: 16), case .object(let members) = value.kind else {
      return false
    }
    if let instant, let text = members.value("at")?.numberOrText,
      let at = try? InstantText.read(text, "at", now: instant), at > instant
    {
      return false
    }
    if let known = members.value("user"), (try? UserID.read(known)) == user { return true }
    guard case .string(let token)? = members.value("token")?.kind else { return false }
    return isToken(token)
  }
}

extension JSONValue {
  /// The characters of a string or number; `nil` for any other value.
  fileprivate var numberOrText: String? {
    switch kind {
    case .string(let text), .number(let text): text
    default: nil
    }
  }
}
