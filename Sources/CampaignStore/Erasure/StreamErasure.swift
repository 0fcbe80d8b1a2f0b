import PushCore
import Redis

/// The erasure of a user from streams. An entry of a stream can't be changed, so it is removed.
extension CampaignStore {
  /// Entries of a stream that are read at once.
  private static let erasedEntries = 500

  /// Removes the outcomes and prunes of a user from the stream of events.
  func eraseFromEvents(_ user: String, _ tokens: [OwnedToken]) async throws {
    try await remove(from: keys.events) { fields in
      fields["json"].map { Self.names($0, user, self.texts(of: tokens)) } ?? false
    }
  }

  /// Removes the events of a user that could not be applied from the dead list.
  func eraseFromDeadList(_ user: String, _ tokens: [OwnedToken]) async throws {
    try await remove(from: keys.dead) { fields in
      guard fields["list"] != nil, let event = fields["job"] else { return false }
      return Self.names(event, user, self.texts(of: tokens))
    }
  }

  private func texts(of tokens: [OwnedToken]) -> [String] {
    tokens.compactMap { token in
      DeviceToken(bytes: token.bytes).flatMap { services[token.service]?.text(of: $0) }
    }
  }

  private func remove(from stream: String, where isOfUser: ([String: [UInt8]]) -> Bool) async throws {
    var start = "-"
    while true {
      var pipeline = RedisPipeline()
      pipeline.append("XRANGE", stream, start, "+", "COUNT", Self.erasedEntries)
      let page = try await run(pipeline)[0]
      guard let last = page.last?[0].string else { return }
      pipeline.removeAll()
      for entry in page {
        guard let key = entry[0].string else { continue }
        var fields: [String: [UInt8]] = [:]
        for index in stride(from: 0, to: entry[1].count - 1, by: 2) {
          fields[entry[1][index].string ?? ""] = entry[1][index + 1].bytes.map { Array($0) }
        }
        if isOfUser(fields) { pipeline.append("XDEL", stream, key) }
      }
      if !pipeline.isEmpty { _ = try await run(pipeline) }
      guard page.count == Self.erasedEntries else { return }
      // Redis 6.2 and later: an exclusive start.
      start = "(" + last
    }
  }

  /// Whether an event is about a user or one of the tokens.
  private static func names(_ event: [UInt8], _ user: String, _ tokens: [String]) -> Bool {
    guard let value = try? JSONValue(parsing: event, maximumDepth: 16), case .object(let members) = value.kind else {
      return false
    }
    if case .string(user)? = members.value("user")?.kind { return true }
    guard case .string(let token)? = members.value("token")?.kind else { return false }
    return tokens.contains(token.lowercased()) || tokens.contains(token)
  }
}
