/// The allowed fields of a request to `messages:send` and their types, from Google's discovery document `fcm:v1`.
enum MessageSchema {
  /// The type of a field.
  indirect enum Kind: Sendable {
    case text
    case flag
    /// A 32-bit integer.
    case integer
    case number
    /// Seconds with the suffix `s`, such as `3.5s`.
    case duration
    /// A time as in RFC 3339.
    case timestamp
    /// One of these words; `type` is the enumeration's name in Google's errors.
    case choice(type: String, words: [String])
    /// A map from text to text.
    case textMap
    /// An object with any members.
    case anyObject
    case group([Field])
    case list(Kind)
  }

  /// A field with both spellings of its name.
  struct Field: Sendable {
    let name: String
    let camelName: String
    let kind: Kind

    init(_ name: String, _ kind: Kind) {
      self.name = name
      let words = name.split(separator: "_")
      camelName = words.dropFirst().reduce(String(words[0])) { $0 + $1.prefix(1).uppercased() + $1.dropFirst() }
      self.kind = kind
    }
  }

  private static let label = Field("fcm_options", .group([Field("analytics_label", .text)]))

  static let request: [Field] = [
    Field("message", .group(message)), Field("validate_only", .flag),
  ]

  static let message: [Field] = [
    Field("name", .text), Field("data", .textMap),
    Field("notification", .group([Field("title", .text), Field("body", .text), Field("image", .text)])),
    Field("android", .group(android)), Field("android_v2", .group(androidV2)), Field("webpush", .group(webpush)),
    Field("apns", .group(apns)), label, Field("fid", .text), Field("token", .text), Field("topic", .text),
    Field("condition", .text),
  ]

  /// Fields of both Android configurations.
  private static let androidBase: [Field] = [
    Field("collapse_key", .text), Field("ttl", .duration), Field("restricted_package_name", .text),
    Field("data", .textMap), label, Field("direct_boot_ok", .flag), Field("bandwidth_constrained_ok", .flag),
    Field("restricted_satellite_ok", .flag),
  ]

  private static let android: [Field] =
    androidBase + [
      Field(
        "priority",
        .choice(type: "type.googleapis.com/google.firebase.fcm.v1.AndroidMessagePriority", words: ["NORMAL", "HIGH"])),
      Field("notification", .group(androidNotification)),
    ]

  private static let androidV2: [Field] =
    androidBase + [
      Field(
        "remote_notification",
        .group([
          Field("notification", .group(androidNotification + [Field("id", .integer)])),
          Field("mutable_content", .flag), Field("use_as_v1_data_message", .flag),
        ])),
      Field("background_sync", .group([])),
    ]

  private static func choice(_ type: String, _ words: [String]) -> Kind {
    .choice(type: "type.googleapis.com/google.firebase.fcm.v1.AndroidNotification.\(type)", words: words)
  }

  private static let androidNotification: [Field] = [
    Field("title", .text), Field("body", .text), Field("icon", .text), Field("color", .text), Field("sound", .text),
    Field("tag", .text), Field("click_action", .text), Field("body_loc_key", .text),
    Field("body_loc_args", .list(.text)), Field("title_loc_key", .text), Field("title_loc_args", .list(.text)),
    Field("channel_id", .text), Field("ticker", .text), Field("sticky", .flag), Field("event_time", .timestamp),
    Field("local_only", .flag),
    Field(
      "notification_priority",
      choice(
        "NotificationPriority",
        ["PRIORITY_UNSPECIFIED", "PRIORITY_MIN", "PRIORITY_LOW", "PRIORITY_DEFAULT", "PRIORITY_HIGH", "PRIORITY_MAX"])),
    Field("default_sound", .flag), Field("default_vibrate_timings", .flag), Field("default_light_settings", .flag),
    Field("vibrate_timings", .list(.duration)),
    Field("visibility", choice("Visibility", ["VISIBILITY_UNSPECIFIED", "PRIVATE", "PUBLIC", "SECRET"])),
    Field("notification_count", .integer),
    Field(
      "light_settings",
      .group([
        Field(
          "color",
          .group([
            Field("red", .number), Field("green", .number), Field("blue", .number), Field("alpha", .number),
          ])),
        Field("light_on_duration", .duration), Field("light_off_duration", .duration),
      ])),
    Field("image", .text),
    Field("proxy", choice("Proxy", ["PROXY_UNSPECIFIED", "ALLOW", "DENY", "IF_PRIORITY_LOWERED"])),
    Field("bypass_proxy_notification", .flag),
  ]

  private static let webpush: [Field] = [
    Field("headers", .textMap), Field("data", .textMap), Field("notification", .anyObject),
    Field("fcm_options", .group([Field("link", .text), Field("analytics_label", .text)])),
  ]

  private static let apns: [Field] = [
    Field("headers", .textMap), Field("payload", .anyObject), Field("live_activity_token", .text),
    Field("fcm_options", .group([Field("analytics_label", .text), Field("image", .text)])),
  ]
}
