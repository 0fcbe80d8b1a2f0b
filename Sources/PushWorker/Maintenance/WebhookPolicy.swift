import CampaignStore
import PushCore
import PushTransport

/// Decides what a webhook receives, and when a delivery is retried. Pure: time is an argument.
enum WebhookPolicy {
  /// Time in ms between two checks for events. A webhook gets an event well within a second. The checks are cheap,
  /// because only one worker of the fleet makes them and Redis returns two small replies.
  static let interval = 250
  /// Time in ms between two checks for alarms that were raised or cleared.
  static let alarmInterval = 15_000
  /// Time in ms from the first attempt to the second. The time doubles with each further attempt.
  private static let shortest = 2000
  /// Maximum time in ms between attempts.
  private static let longest = 600_000

  /// Returns whether a webhook subscribes to a change.
  static func concerns(_ change: Change, _ webhook: Webhook) -> Bool {
    switch change.subject {
    case .campaign: webhook.kinds.contains(.campaigns)
    case .alarm: webhook.kinds.contains(.alarms)
    }
  }

  /// Returns whether an attempt is due.
  ///
  /// - Parameters:
  ///   - latest: The latest change.
  ///   - now: ms since the epoch.
  static func isDue(_ status: WebhookStatus, latest: String, now: Int) -> Bool {
    status.position != latest && status.retryAt <= now
  }

  /// Returns the state of a webhook after an attempt.
  ///
  /// - Parameters:
  ///   - status: The state before the attempt.
  ///   - change: The change that was delivered or skipped.
  ///   - error: The reason why it was not delivered; `nil` for success.
  ///   - now: ms since the epoch.
  static func after(_ status: WebhookStatus, _ change: Change, error: String?, now: Int) -> WebhookStatus {
    guard let error else { return WebhookStatus(name: status.name, position: change.id) }
    var next = status
    next.failures += 1
    next.retryAt = now + min(longest, shortest << min(16, next.failures - 1))
    next.error = error
    return next
  }

  /// Returns the JSON body of the request that delivers a change.
  ///
  /// - Parameter record: The present record of the campaign; `nil` if it no longer exists.
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
      json.object("campaign") { json in
        json.member("id", id)
        if let record {
          json.member("app", record.app)
          json.member("lane", record.lane.rawValue)
          json.member("targets", record.counters.targets)
          json.outcomes(record.counters.outcomes)
        }
      }
    case .alarm(let kind, let subject, let isRaised):
      json.member("kind", "alarm")
      json.member("state", isRaised ? "raised" : "cleared")
      json.object("alarm") { json in
        json.member("kind", kind)
        json.member("subject", subject)
        json.member("text", change.text)
      }
    }
    json.endObject()
    return json.take()
  }
}
