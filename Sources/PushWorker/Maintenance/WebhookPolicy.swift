import CampaignStore
import PushCore
import PushTransport

/// What a webhook is told, and when it is tried again. Pure: time is an argument.
enum WebhookPolicy {
  /// ms between looks whether there is anything to deliver: an event arrives well within a second, and one worker of a fleet
  /// asks Redis for two small replies.
  static let interval = 250
  /// ms between looks whether alarms were raised or cleared.
  static let alarmInterval = 15_000
  /// ms until the second attempt; doubles.
  private static let shortest = 2000
  /// ms between attempts at most.
  private static let longest = 600_000

  /// Whether a webhook wants to hear of a change.
  static func concerns(_ change: Change, _ webhook: Webhook) -> Bool {
    switch change.subject {
    case .campaign: webhook.kinds.contains(.campaigns)
    case .alarm: webhook.kinds.contains(.alarms)
    }
  }

  /// Whether an attempt is due.
  ///
  /// - Parameters:
  ///   - latest: the last change that there is.
  ///   - now: ms since the epoch.
  static func isDue(_ standing: WebhookStanding, latest: String, now: Int) -> Bool {
    standing.position != latest && standing.retryAt <= now
  }

  /// How it stands with a webhook after an attempt.
  ///
  /// - Parameters:
  ///   - standing: before.
  ///   - change: what it was told of, or passed over.
  ///   - error: why it was not taken; `nil` when it was.
  ///   - now: ms since the epoch.
  static func after(_ standing: WebhookStanding, _ change: Change, error: String?, now: Int) -> WebhookStanding {
    guard let error else { return WebhookStanding(name: standing.name, position: change.id) }
    var next = standing
    next.failures += 1
    next.retryAt = now + min(longest, shortest << min(16, next.failures - 1))
    next.error = error
    return next
  }

  /// The body of a request.
  ///
  /// - Parameter record: of the campaign, as it is now; `nil` where there is none any more.
  static func body(_ change: Change, namespace: String, _ record: CampaignRecord?) -> [UInt8] {
    var json = JSONWriter()
    json.beginObject()
    json.member("event", change.id)
    json.member("at", Timestamp.format(milliseconds: change.at))
    json.member("namespace", namespace)
    switch change.subject {
    case .campaign(let id, let state):
      json.member("kind", "campaign")
      json.member("state", state)
      json.member("reason", change.text.isEmpty ? nil : change.text)
      json.member("pausedItself", state == "paused" && change.isByWorker)
      json.name("campaign")
      json.beginObject()
      json.member("id", id)
      if let record {
        json.member("app", record.app)
        json.member("lane", record.lane.rawValue)
        json.member("targets", record.counters.targets)
        json.name("outcomes")
        json.beginObject()
        for outcome in Outcome.allCases {
          if let count = record.counters.outcomes[outcome] { json.member(outcome.name, count) }
        }
        json.endObject()
      }
      json.endObject()
    case .alarm(let kind, let subject, let isRaised):
      json.member("kind", "alarm")
      json.member("state", isRaised ? "raised" : "cleared")
      json.name("alarm")
      json.beginObject()
      json.member("kind", kind)
      json.member("subject", subject)
      json.member("text", change.text)
      json.endObject()
    }
    json.endObject()
    return json.take()
  }
}
