import PushCore
import Redis

/// From each slice's outbox to the owner index and the feedback list, at least once.
extension CampaignStore {
  /// How many tokens the feedback list keeps; a backend that reads it daily is not expected to prune more in a day.
  static let feedbackLength = 1_000_000

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
      guard !entries.isEmpty else { return delivered }
      let edits = entries.compactMap { entry in entry.bytes.flatMap { OutboxEntry(Array($0)) } }
      _ = try await edit(edits.map(\.edit))
      let prunes = edits.filter { $0.edit.action == "prune" }
      pipeline.removeAll()
      if !prunes.isEmpty {
        pipeline.command("LPUSH") { arguments in
          arguments.append(keys.feedback)
          for prune in prunes { arguments.append(prune.feedback) }
        }
        pipeline.append("LTRIM", keys.feedback, 0, Self.feedbackLength - 1)
        _ = try await run(pipeline)
      }
      // Last: an entry that was delivered twice does no harm, one that was not delivered would.
      pipeline.removeAll()
      pipeline.append("LTRIM", keys.outbox(partition), entries.count, -1)
      _ = try await run(pipeline)
      delivered += entries.count
    }
  }
}

/// One entry of an outbox, as `commit.lua` writes it.
private struct OutboxEntry {
  var edit: CampaignStore.DeviceEdit
  /// What the backend gets to read.
  var feedback: [UInt8]

  init?(_ json: [UInt8]) {
    guard let value = try? JSONValue(parsing: json, maximumDepth: 2), case .object(let members) = value.kind else {
      return nil
    }
    var text: [String: String] = [:]
    var numbers: [String: Int] = [:]
    for member in members {
      switch member.value.kind {
      case .string(let string): text[member.name] = string
      case .number: numbers[member.name] = Self.integer(json[member.value.range])
      default: break
      }
    }
    guard let user = text["user"], let token = text["token"].flatMap({ DeviceToken(hex: $0) }),
      let action = text["action"], let instant = numbers["timestamp"], let at = numbers["at"]
    else { return nil }
    edit = CampaignStore.DeviceEdit(user: user, token: token.bytes, action: action, instant: instant)
    let quote = JSONText.quoted
    feedback = Array(
      """
      {"user":\(quote(user)),"token":"\(token.hex)","app":\(quote(text["app"] ?? "")),\
      "reason":\(quote(text["reason"] ?? "")),"at":"\(Timestamp.format(milliseconds: at))"}
      """.utf8)
  }

  /// cjson writes large integers with an exponent (`1.7632e+12`).
  private static func integer(_ text: ArraySlice<UInt8>) -> Int? {
    Double(String(decoding: text, as: UTF8.self)).flatMap { Int(exactly: $0.rounded()) }
  }
}
