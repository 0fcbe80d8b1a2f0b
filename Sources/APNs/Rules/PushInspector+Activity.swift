internal import PushCore

/// Rules for Live Activities, sent to a device or to a channel.
extension PushInspector {
  mutating func checkActivity(_ aps: [JSONValue.Member]) {
    if aps.value("timestamp") == nil {
      report(
        .activityTimestamp, path("aps.timestamp"), "is missing: of two pushes the newer one counts",
        hint: "give the time of sending in seconds since 1970")
    }
    checkDates(aps)
    if aps.value("sound") != nil {
      report(.activitySound, path("aps.sound"), "is not read there", hint: "move it into aps.alert")
    }
    checkActivityData(aps)
    guard case .string(let event)? = aps.value("event")?.kind else {
      if aps.value("event") == nil {
        report(.activityEvent, path("aps.event"), "is missing", hint: "give start, update or end")
      }
      return
    }
    switch event {
    case "start": checkStart(aps)
    case "update":
      if aps.value("content-state") == nil {
        report(
          .activityUpdate, path("aps.content-state"), "is missing: there is nothing to update to",
          hint: "give what the app's ContentState decodes")
      }
    case "end":
      if aps.value("content-state") == nil {
        report(
          .activityEnd, path("aps.content-state"), "is missing: the last state stays as it is",
          hint: "give the final state")
      }
    // `checkKeys` reports any other event.
    default: return
    }
    for key in ["input-push-token", "input-push-channel"] where event != "start" && aps.value(key) != nil {
      report(.activityInput, path("aps.\(key)"), "is read with event start only", hint: "omit it")
    }
  }

  private mutating func checkStart(_ aps: [JSONValue.Member]) {
    if draft.destination == .channel {
      report(
        .broadcastStart, path("aps.event"), "a broadcast starts no activities",
        hint: "start each by its device's push-to-start token, with input-push-channel")
      return
    }
    for key in ["attributes-type", "attributes", "content-state", "alert"] where aps.value(key) == nil {
      report(.activityStart, path("aps.\(key)"), "is missing: a start needs it", hint: "add aps.\(key)")
    }
    if aps.value("input-push-token") != nil, aps.value("input-push-channel") != nil {
      report(
        .activityInput, path("aps.input-push-channel"), "an activity is updated by token or by channel, not by both",
        hint: "give one of input-push-token and input-push-channel")
    }
  }

  /// Longest life of an activity in seconds: 8 hours, and 4 more hours on the lock screen.
  private static let longestLife = 12 * 3600
  /// Longest time in seconds for which the system shows an ended activity.
  private static let longestShown = 4 * 3600

  private mutating func checkDates(_ aps: [JSONValue.Member]) {
    guard let sent = aps.instant("timestamp") else { return }
    if let stale = aps.instant("stale-date") {
      if stale <= sent {
        report(
          .activityDates, path("aps.stale-date"), "is not after its timestamp: what it says is stale when it comes",
          hint: "give a later time, or omit it")
      } else if stale - sent > Double(Self.longestLife) {
        report(
          .activityDates, path("aps.stale-date"),
          "is more than 12 hours after its timestamp: no activity lives so long",
          hint: "omit it, or give the time until which it is valid")
      }
    }
    guard let dismissal = aps.instant("dismissal-date") else { return }
    if case .string(let event)? = aps.value("event")?.kind, event == "start" || event == "update" {
      report(
        .activityDates, path("aps.dismissal-date"), "is read with event end only", hint: "omit it, or set event to end")
    } else if dismissal - sent > Double(Self.longestShown) {
      report(
        .activityDates, path("aps.dismissal-date"), "is more than 4 hours after the end: it is shown no longer",
        hint: "4h does the same")
    }
  }

  /// Largest size of an activity's static and dynamic data together, in bytes.
  private static let maximumData = 4096

  private mutating func checkActivityData(_ aps: [JSONValue.Member]) {
    // White space between tokens counts here although it is not sent, so the size may be slightly too large. The rule
    // is only a warning, so this does no harm.
    let size = ["attributes", "content-state"].reduce(0) { $0 + (aps.value($1)?.range.count ?? 0) }
    guard size > Self.maximumData else { return }
    report(
      .activityData, path("aps.content-state"),
      "with attributes \(size) bytes, which is \(size - Self.maximumData) over the \(Self.maximumData) of an activity",
      hint: "let the app fetch the rest")
  }
}

extension [JSONValue.Member] {
  /// Returns the value of a date; `nil` if it is missing or not a number.
  fileprivate func instant(_ name: String) -> Double? {
    guard case .number(let text)? = value(name)?.kind else { return nil }
    return Double(text)
  }
}
