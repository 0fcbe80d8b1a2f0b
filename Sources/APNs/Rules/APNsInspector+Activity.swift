internal import PushCore
internal import ServiceTools

/// Rules for Live Activities, sent to a device or to a channel.
extension APNsInspector {
  mutating func checkActivity(_ aps: [JSONValue.Member]) {
    if aps.value("timestamp") == nil {
      report(
        .activityTimestamp, path("aps.timestamp"), "is missing: the system uses it to find the latest push",
        hint: "add the time of sending in seconds since 1970")
    }
    checkDates(aps)
    if aps.value("sound") != nil {
      report(.activitySound, path("aps.sound"), "is ignored outside aps.alert", hint: "move it into aps.alert")
    }
    checkActivityData(aps)
    guard case .string(let event)? = aps.value("event")?.kind else {
      if aps.value("event") == nil {
        report(.activityEvent, path("aps.event"), "is missing", hint: "use start, update or end")
      }
      return
    }
    switch event {
    case "start": checkStart(aps)
    case "update":
      if aps.value("content-state") == nil {
        report(
          .activityUpdate, path("aps.content-state"), "is missing: event update needs it",
          hint: "add a value that the app's ContentState can decode")
      }
    case "end":
      if aps.value("content-state") == nil {
        report(
          .activityEnd, path("aps.content-state"), "is missing: the activity keeps its last state",
          hint: "add the final state")
      }
    // `checkKeys` reports any other event.
    default: return
    }
    for key in ["input-push-token", "input-push-channel"] where event != "start" && aps.value(key) != nil {
      report(.activityInput, path("aps.\(key)"), "is ignored unless event is start", hint: "omit it")
    }
  }

  private mutating func checkStart(_ aps: [JSONValue.Member]) {
    if draft.destination == .channel {
      report(
        .broadcastStart, path("aps.event"), "a broadcast can't start activities",
        hint: "start each activity with a push to its device's push-to-start token, and set input-push-channel")
      return
    }
    for key in ["attributes-type", "attributes", "content-state", "alert"] where aps.value(key) == nil {
      report(.activityStart, path("aps.\(key)"), "is missing: event start needs it", hint: "add aps.\(key)")
    }
    if aps.value("input-push-token") != nil, aps.value("input-push-channel") != nil {
      report(
        .activityInput, path("aps.input-push-channel"), "an activity is updated by token or by channel, not by both",
        hint: "use either input-push-token or input-push-channel")
    }
  }

  /// Longest life of an activity in seconds: 8 hours active, and 4 more hours on the lock screen.
  private static let longestLife = 12 * 3600
  /// Longest time in seconds for which the system shows an ended activity.
  private static let longestShown = 4 * 3600

  private mutating func checkDates(_ aps: [JSONValue.Member]) {
    guard let sent = aps.instant("timestamp") else { return }
    if let stale = aps.instant("stale-date") {
      if stale <= sent {
        report(
          .activityDates, path("aps.stale-date"), "is not after timestamp: the activity would be stale on arrival",
          hint: "use a later time, or omit it")
      } else if stale - sent > Double(Self.longestLife) {
        report(
          .activityDates, path("aps.stale-date"),
          "is more than 12 hours after timestamp: an activity ends after 12 hours",
          hint: "omit it, or use the time until which the content is valid")
      }
    }
    guard let dismissal = aps.instant("dismissal-date") else { return }
    if case .string(let event)? = aps.value("event")?.kind, event == "start" || event == "update" {
      report(
        .activityDates, path("aps.dismissal-date"), "is ignored unless event is end",
        hint: "omit it, or set event to end")
    } else if dismissal - sent > Double(Self.longestShown) {
      report(
        .activityDates, path("aps.dismissal-date"), "is more than 4 hours after the end, the maximum",
        hint: "use 4h, which has the same effect")
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
      "together with attributes \(size) bytes, which is \(size - Self.maximumData) over \(Self.maximumData)",
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
