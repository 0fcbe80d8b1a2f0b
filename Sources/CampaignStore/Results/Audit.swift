import PushCore
import Redis

/// An action in the audit log, of a person on the command line or of the owner of an API token.
public struct AuditEntry: Sendable, Equatable {
  /// Key of the entry in the log.
  public var key: String
  /// Time of the action, in ms since the epoch by Redis' clock.
  public var at: Int
  /// Name of an API token, or `cli:USER@HOST`.
  public var actor: String
  /// Name of the action, such as `campaign.pause`.
  public var action: String
  /// Object of the action: a campaign's id or a segment's name, for example; never a device token or a payload.
  public var subject: String
  /// Details in a few words; empty for the usual case.
  public var detail: String

  init(_ entry: RedisReply) {
    key = entry[0].string ?? ""
    // The key of a stream entry consists of the time in ms and a sequence number.
    at = key.split(separator: "-").first.flatMap { Int($0) } ?? 0
    var fields: [String: String] = [:]
    let pairs = entry[1]
    for index in stride(from: 0, to: pairs.count - 1, by: 2) {
      fields[pairs[index].string ?? ""] = pairs[index + 1].string ?? ""
    }
    actor = fields["who"] ?? ""
    action = fields["action"] ?? ""
    subject = fields["subject"] ?? ""
    detail = fields["detail"] ?? ""
  }
}

/// The audit log. It is bounded: the oldest entries are removed.
extension Results {
  /// Approximate number of stored entries: some months of manual actions. They need 0.7 MB, or 7.3 MB if every text has
  /// the largest size (`MEMORY USAGE`, Redis 7.0).
  static let auditEntries = 10_000
  /// Largest size of a text in bytes.
  private static let auditText = 200

  /// Adds an action to the audit log.
  public func audit(_ actor: String, _ action: String, _ subject: String, detail: String = "") async throws {
    var pipeline = RedisPipeline()
    pipeline.command("XADD") { arguments in
      arguments.append(keys.audit)
      for word in ["MAXLEN", "~", String(Self.auditEntries), "*"] { arguments.append(word) }
      for (name, text) in [("who", actor), ("action", action), ("subject", subject), ("detail", detail)] {
        arguments.append(name)
        arguments.append(String(decoding: text.utf8.prefix(Self.auditText), as: UTF8.self))
      }
    }
    _ = try await run(pipeline)
  }

  /// Returns a page of the audit log, newest entries first.
  ///
  /// - Parameter cursor: cursor of the previous page; `nil` for the first page.
  public func auditLog(from cursor: String?, count: Int) async throws -> StorePage<AuditEntry> {
    try await store.newest(in: keys.audit, from: cursor, count: count, AuditEntry.init, key: \.key)
  }
}
