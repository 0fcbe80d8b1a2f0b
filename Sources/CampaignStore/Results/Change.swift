import PushCore
import Redis

/// A change for webhooks: a new state of a campaign, or an alarm.
public struct Change: Sendable, Equatable {
  /// The changed object.
  public enum Subject: Sendable, Equatable {
    case campaign(id: String, state: String)
    /// An alarm was raised or cleared.
    ///
    /// - Parameter isRaised: false if the alarm was cleared.
    case alarm(kind: String, subject: String, isRaised: Bool)
  }

  /// Permanent id of the change. A receiver uses the id to recognise a repeated delivery.
  public var id: String
  /// Time of the change, in ms since the epoch.
  public var at: Int
  public var subject: Subject
  /// Reason for the campaign's change, or text of the alarm; may be empty.
  public var text: String
  /// Whether a worker caused the change without an operator. For example, a campaign has paused itself.
  public var isByWorker: Bool

  /// Creates a change.
  public init(id: String, at: Int, subject: Subject, text: String, isByWorker: Bool) {
    self.id = id
    self.at = at
    self.subject = subject
    self.text = text
    self.isByWorker = isByWorker
  }

  /// Reads an entry of the stream.
  /// - Parameter entry: the entry.
  /// - Returns: `nil` for an entry that Carillon did not write.
  init?(_ entry: RedisReply) {
    guard entry.count == 2, let id = entry[0].string, let time = id.split(separator: "-").first.flatMap({ Int($0) })
    else { return nil }
    self.id = id
    at = time
    var fields: [String: String] = [:]
    let pairs = entry[1]
    for index in stride(from: 0, to: pairs.count - 1, by: 2) {
      fields[pairs[index].string ?? ""] = pairs[index + 1].string
    }
    guard let state = fields["state"] else { return nil }
    if let campaign = fields["campaign"] {
      subject = .campaign(id: campaign, state: state)
      text = fields["reason"] ?? ""
    } else if let name = fields["alarm"] {
      let words = name.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      subject = .alarm(kind: words[0], subject: words.count > 1 ? words[1] : "", isRaised: state == "raised")
      text = fields["text"] ?? ""
    } else {
      return nil
    }
    isByWorker = fields["by"] == "worker"
  }
}

/// Delivery status of a webhook.
public struct WebhookStatus: Sendable, Equatable {
  public var name: String
  /// The last change that was delivered.
  public var position: String
  /// Failed attempts in a row to deliver the next change.
  public var failures: Int
  /// When the next attempt is due, in ms since the epoch.
  public var retryAt: Int
  /// Error of the last failed attempt; empty if none has failed.
  public var error: String
  /// Number of changes after ``position``, including those that the webhook does not subscribe to. At most 1,000,
  /// because Redis stores no more changes.
  public var backlog = 0

  /// Creates a status.
  public init(name: String, position: String, failures: Int = 0, retryAt: Int = 0, error: String = "") {
    self.name = name
    self.position = position
    self.failures = failures
    self.retryAt = retryAt
    self.error = error
  }

  /// Stored text: `position failures retryAt error`.
  var text: String { "\(position) \(failures) \(retryAt) \(error.prefix(300))" }

  /// Reads the stored text.
  /// - Returns: `nil` if the text has another format.
  init?(name: String, text: String) {
    let words = text.split(separator: " ", maxSplits: 3, omittingEmptySubsequences: false)
    guard words.count == 4, let failures = Int(words[1]), let retryAt = Int(words[2]), words[0].contains("-") else {
      return nil
    }
    self.init(name: name, position: String(words[0]), failures: failures, retryAt: retryAt, error: String(words[3]))
  }
}

/// Changes for webhooks, and the delivery status of webhooks.
extension Results {
  /// Largest number of changes in a page.
  private static let changesPerBatch = 50
  /// Largest number of alarms that are reported. If more alarms are active, the same cause is behind most of them.
  private static let maximumAlarms = 200

  /// Returns the changes after a position, oldest first, and the position of the last read entry.
  public func changes(after position: String) async throws -> (changes: [Change], end: String?) {
    var pipeline = RedisPipeline()
    pipeline.append("XRANGE", keys.changes, "(\(position)", "+", "COUNT", Self.changesPerBatch)
    let entries = try await run(pipeline)[0]
    return (entries.compactMap(Change.init), entries.last?[0].string)
  }

  /// Returns the delivery status of webhooks, and the id of the latest change (`0-0` if there is none).
  ///
  /// A webhook without a status is new: the function stores a status for it. The webhook gets every change after the
  /// present latest one.
  @discardableResult
  public func statuses(of webhooks: [String]) async throws -> (statuses: [WebhookStatus], latest: String) {
    guard !webhooks.isEmpty else { return ([], "0-0") }
    var pipeline = RedisPipeline()
    pipeline.append("XREVRANGE", keys.changes, "+", "-", "COUNT", 1)
    pipeline.command("HMGET") {
      $0.append(keys.webhooks)
      for name in webhooks { $0.append(name) }
    }
    let replies = try await run(pipeline)
    let latest = replies[0].first?[0].string ?? "0-0"
    var statuses: [WebhookStatus] = []
    var new = RedisPipeline()
    for (name, reply) in zip(webhooks, replies[1]) {
      if let known = reply.string.flatMap({ WebhookStatus(name: name, text: $0) }) {
        statuses.append(known)
        continue
      }
      let status = WebhookStatus(name: name, position: latest)
      statuses.append(status)
      // Another worker may have stored a status in between, and may have delivered changes. Only an unreadable status
      // is therefore replaced.
      new.append(reply.string == nil ? "HSETNX" : "HSET", keys.webhooks, name, status.text)
    }
    if !new.isEmpty { _ = try await run(new) }
    return (statuses, latest)
  }

  /// Stores the delivery status of a webhook.
  public func save(_ status: WebhookStatus) async throws {
    var pipeline = RedisPipeline()
    pipeline.append("HSET", keys.webhooks, status.name, status.text)
    _ = try await run(pipeline)
  }

  /// Stores the active alarms, and adds a change for each alarm that was raised or cleared.
  ///
  /// - Returns: the number of these changes.
  @discardableResult
  public func record(_ alarms: [FleetAlarm]) async throws -> Int {
    var pipeline = RedisPipeline()
    pipeline.script(StoreScripts.alarm, keys: [keys.alarms, keys.changes]) { arguments in
      for alarm in alarms.prefix(Self.maximumAlarms) {
        arguments.append("\(alarm.kind.rawValue) \(alarm.subject)")
        arguments.append(alarm.text)
      }
    }
    return try await run(pipeline)[0].integer ?? 0
  }
}
