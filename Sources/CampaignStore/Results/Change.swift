import PushCore
import Redis

/// Something that changed, for webhooks: a campaign's state, or an alarm.
public struct Change: Sendable, Equatable {
  /// What it is about.
  public enum Subject: Sendable, Equatable {
    case campaign(id: String, state: String)
    /// - Parameter isRaised: false when it has been cleared.
    case alarm(kind: String, subject: String, isRaised: Bool)
  }

  /// Names it for good; whoever is told twice knows it by that.
  public var id: String
  /// When it was, in ms since the epoch.
  public var at: Int
  public var subject: Subject
  /// Why a campaign changed, or what an alarm says; empty where nothing is to be said.
  public var text: String
  /// Whether a worker was the cause: a campaign that paused itself.
  public var isByWorker: Bool

  /// Memberwise.
  public init(id: String, at: Int, subject: Subject, text: String, isByWorker: Bool) {
    self.id = id
    self.at = at
    self.subject = subject
    self.text = text
    self.isByWorker = isByWorker
  }

  /// - Parameter entry: of the stream.
  /// - Returns: `nil` for what nothing of ours has written.
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

/// How far a webhook has been told.
public struct WebhookStanding: Sendable, Equatable {
  public var name: String
  /// The last change that it was told of.
  public var position: String
  /// Attempts in a row that failed to tell it of the next one.
  public var failures: Int
  /// When the next attempt is due, in ms since the epoch.
  public var retryAt: Int
  /// Why the last one failed; empty when none has.
  public var error: String
  /// Changes that it has not been told of, whether they are for it or not; 1,000 is the most that are kept.
  public var backlog = 0

  /// Memberwise.
  public init(name: String, position: String, failures: Int = 0, retryAt: Int = 0, error: String = "") {
    self.name = name
    self.position = position
    self.failures = failures
    self.retryAt = retryAt
    self.error = error
  }

  /// As it stands in Redis: `position failures retryAt error`.
  var text: String { "\(position) \(failures) \(retryAt) \(error.prefix(300))" }

  /// - Returns: `nil` for what is none.
  init?(name: String, text: String) {
    let words = text.split(separator: " ", maxSplits: 3, omittingEmptySubsequences: false)
    guard words.count == 4, let failures = Int(words[1]), let retryAt = Int(words[2]), words[0].contains("-") else {
      return nil
    }
    self.init(name: name, position: String(words[0]), failures: failures, retryAt: retryAt, error: String(words[3]))
  }
}

/// Telling others what changed.
extension Results {
  /// Changes that are read at once.
  private static let changesAtOnce = 50
  /// Alarms that are told of: more at a time is one trouble with many names.
  private static let mostAlarms = 200

  /// The changes behind a position, the oldest first, and where they end: as far as that they have been seen.
  public func changes(after position: String) async throws -> (changes: [Change], end: String?) {
    var pipeline = RedisPipeline()
    pipeline.append("XRANGE", keys.changes, "(\(position)", "+", "COUNT", Self.changesAtOnce)
    let entries = try await run(pipeline)[0]
    return (entries.compactMap(Change.init), entries.last?[0].string)
  }

  /// How far webhooks have been told, and the id of the latest change, `0-0` where there is none.
  ///
  /// One that is new is noted: it gets every change after the latest one that there is now.
  @discardableResult
  public func standings(of webhooks: [String]) async throws -> (standings: [WebhookStanding], latest: String) {
    guard !webhooks.isEmpty else { return ([], "0-0") }
    var pipeline = RedisPipeline()
    pipeline.append("XREVRANGE", keys.changes, "+", "-", "COUNT", 1)
    pipeline.command("HMGET") {
      $0.append(keys.webhooks)
      for name in webhooks { $0.append(name) }
    }
    let replies = try await run(pipeline)
    let latest = replies[0].first?[0].string ?? "0-0"
    var standings: [WebhookStanding] = []
    var new = RedisPipeline()
    for (name, reply) in zip(webhooks, replies[1]) {
      if let known = reply.string.flatMap({ WebhookStanding(name: name, text: $0) }) {
        standings.append(known)
        continue
      }
      let standing = WebhookStanding(name: name, position: latest)
      standings.append(standing)
      // Another worker may have noted it meanwhile, and may have delivered: only what can't be read is replaced.
      new.append(reply.string == nil ? "HSETNX" : "HSET", keys.webhooks, name, standing.text)
    }
    if !new.isEmpty { _ = try await run(new) }
    return (standings, latest)
  }

  /// Takes note of how far a webhook has been told.
  public func keep(_ standing: WebhookStanding) async throws {
    var pipeline = RedisPipeline()
    pipeline.append("HSET", keys.webhooks, standing.name, standing.text)
    _ = try await run(pipeline)
  }

  /// Takes note of the alarms that there are, and tells webhooks of those that were raised or cleared.
  ///
  /// - Returns: how many were.
  @discardableResult
  public func note(_ alarms: [FleetAlarm]) async throws -> Int {
    var pipeline = RedisPipeline()
    pipeline.script(StoreScripts.alarm, keys: [keys.alarms, keys.changes]) { arguments in
      for alarm in alarms.prefix(Self.mostAlarms) {
        arguments.append("\(alarm.kind.rawValue) \(alarm.subject)")
        arguments.append(alarm.text)
      }
    }
    return try await run(pipeline)[0].integer ?? 0
  }
}
