internal import PushCore

/// Keys of a payload that Apple defines, with the types of their values. Sources: Apple, "Generating a remote
/// notification", ActivityKit's and WidgetKit's pages on push notifications, and the archived guide for removed keys.
enum APSKey {
  /// Required type of a value.
  enum Shape {
    case string, number, object, strings
    /// The number 1.
    case flag
    /// The boolean `true`.
    case yes
    /// A string, or a dictionary with its own table of keys.
    case alert, sound
    /// Seconds since 1970.
    case instant
  }

  /// The keys of `aps`.
  static let aps: [String: Shape] = [
    "alert": .alert, "badge": .number, "sound": .sound, "thread-id": .string, "category": .string,
    "content-available": .flag, "mutable-content": .flag, "target-content-id": .string, "interruption-level": .string,
    "relevance-score": .number, "filter-criteria": .string, "stale-date": .instant, "content-state": .object,
    "timestamp": .instant, "event": .string, "dismissal-date": .instant, "attributes-type": .string,
    "attributes": .object, "input-push-token": .flag, "input-push-channel": .string, "content-changed": .yes,
    "url-args": .strings,
  ]

  /// The keys of `alert` as a dictionary.
  static let alert: [String: Shape] = [
    "title": .string, "subtitle": .string, "body": .string, "launch-image": .string, "title-loc-key": .string,
    "subtitle-loc-key": .string, "loc-key": .string, "title-loc-args": .strings, "subtitle-loc-args": .strings,
    "loc-args": .strings, "action-loc-key": .string, "action": .string, "summary-arg": .string,
    "summary-arg-count": .number,
  ]

  /// The keys of `sound` as a dictionary.
  static let sound: [String: Shape] = ["critical": .flag, "name": .string, "volume": .number]

  /// Keys of the dictionary that can replace a string of a Live Activity's alert.
  static let localized: [String: Shape] = ["loc-key": .string, "loc-args": .strings]

  static let interruptionLevels = ["passive", "active", "time-sensitive", "critical"]
  static let events = ["start", "update", "end"]

  /// Keys that only Live Activities read.
  static let activityOnly: Set = [
    "stale-date", "content-state", "timestamp", "event", "dismissal-date", "attributes-type", "attributes",
    "input-push-token", "input-push-channel",
  ]

  /// Keys of `aps` that apps never use as names for their own data. Outside `aps`, such a key is a mistake.
  static let unmistakable: Set = [
    "thread-id", "content-available", "mutable-content", "target-content-id", "interruption-level", "relevance-score",
    "filter-criteria", "content-state", "dismissal-date", "content-changed",
  ]
  /// Keys of `aps` that apps also use for their own data.
  static let ambiguous: Set = ["alert", "badge", "sound"]

  /// Maximum number of edits in a typing error: `bagde` has one edit, `mutabel-contant` has two. A word that an app
  /// uses for its own data differs by more edits.
  private static let maximumEdits = 2

  /// Returns the known key that a misspelt key such as `content_available` means; `nil` for none.
  static func meant(by name: String, among keys: some Collection<String>) -> String? {
    let plain = letters(of: name)
    return keys.first { letters(of: $0) == plain } ?? Nearest.match(name, among: keys, within: maximumEdits)
  }

  /// Returns the key of `aps` that a name outside `aps` must mean; `nil` for a name that the app uses itself.
  static func misplaced(_ name: String) -> String? {
    let plain = letters(of: name)
    return unmistakable.first { letters(of: $0) == plain }
  }

  /// Returns a name without separators and case: `contentAvailable`, `content_available` and `content-available` are
  /// equal.
  private static func letters(of name: String) -> String { name.lowercased().filter { $0 != "-" && $0 != "_" } }

  /// Returns the version since which a key of `alert` is deprecated, and its replacement; `nil` if the key is not
  /// deprecated.
  static func deprecation(inAlert key: String, isWebsite: Bool) -> (since: String, instead: String)? {
    switch key {
    case "summary-arg", "summary-arg-count":
      ("deprecated since iOS 15 (read by iOS 12 to 14)", "leave it out: the system groups by thread-id")
    case "action-loc-key":
      (
        "not in Apple's documentation since 2018 (read up to iOS 9)",
        "name a category in aps.category, and register its actions in the app"
      )
    case "action" where !isWebsite:
      ("read by Safari 15 and before only", "name a category in aps.category, and register its actions in the app")
    default: nil
    }
  }
}
