import PushCore
import Redis

/// Something that somebody did to the system, for whoever asks who did it.
public struct AuditEntry: Sendable, Equatable {
  /// What names it in the log.
  public var key: String
  /// ms since the epoch, by Redis' clock.
  public var at: Int
  /// The name of a token, or `cli:USER@HOST`.
  public var who: String
  /// Such as `campaign.pause`.
  public var action: String
  /// What it was done to: a campaign's id, a segment's name; never a token, never a payload.
  public var subject: String
  /// How, in a few words; empty for as usual.
  public var detail: String

  init(_ entry: RedisReply) {
    key = entry[0].string ?? ""
    // A stream's key is the time in ms and a number within that.
    at = key.split(separator: "-").first.flatMap { Int($0) } ?? 0
    var fields: [String: String] = [:]
    let pairs = entry[1]
    for index in stride(from: 0, to: pairs.count - 1, by: 2) {
      fields[pairs[index].string ?? ""] = pairs[index + 1].string ?? ""
    }
    who = fields["who"] ?? ""
    action = fields["action"] ?? ""
    subject = fields["subject"] ?? ""
    detail = fields["detail"] ?? ""
  }
}

/// Who did what. Bounded: the oldest entries leave.
extension Results {
  /// Entries that are kept, about: some months of what people do, and 0.7 MB (7.3 MB where every text is as long as it may
  /// be; `MEMORY USAGE`, Redis 7.0).
  static let auditEntries = 10_000
  /// Bytes of a text at most.
  private static let auditText = 200

  /// Takes note of what somebody did.
  public func audit(_ who: String, _ action: String, _ subject: String, detail: String = "") async throws {
    var pipeline = RedisPipeline()
    pipeline.command("XADD") { arguments in
      arguments.append(keys.audit)
      for word in ["MAXLEN", "~", String(Self.auditEntries), "*"] { arguments.append(word) }
      for (name, text) in [("who", who), ("action", action), ("subject", subject), ("detail", detail)] {
        arguments.append(name)
        arguments.append(String(decoding: text.utf8.prefix(Self.auditText), as: UTF8.self))
      }
    }
    _ = try await run(pipeline)
  }

  /// What was done, newest first.
  ///
  /// - Parameter cursor: of the page before; `nil` for the first.
  public func auditLog(from cursor: String?, count: Int) async throws -> StorePage<AuditEntry> {
    if let cursor, !Queue.isStreamKey(cursor) {
      throw StoreError(.invalid, "cursor: it is none of this list's", hint: "take next of the page before")
    }
    var pipeline = RedisPipeline()
    pipeline.append("XREVRANGE", keys.audit, cursor.map { "(" + $0 } ?? "+", "-", "COUNT", count)
    let entries = try await run(pipeline)[0].map(AuditEntry.init)
    return StorePage(elements: entries, next: entries.count == count ? entries.last?.key : nil)
  }
}
