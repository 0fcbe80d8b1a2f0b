/// Type of a field of FCM's message.
///
/// Source: the discovery document of `fcm:v1` and Firebase, REST resource projects.messages.
indirect enum FieldType: Sendable {
  case string, bool, int32
  /// Number from 0 to 1.
  case share
  /// Seconds with the suffix `s`, such as `3.5s`.
  case duration
  /// Duration from 0 to 28 days.
  case lifetime
  /// Time in the form of RFC 3339.
  case time
  /// `#rrggbb`.
  case color
  case label
  /// URL of a picture.
  case image
  /// URL that begins with https.
  case link
  /// One of these words.
  case choice([String])
  case list(FieldType)
  /// Object with any names, and strings as values.
  case strings
  /// The data of a message: like ``strings``, but some names are reserved.
  case data
  /// Object with any members.
  case any
  case object(MessageSchema)
}

/// Fields of one object of FCM's message, with the names in snake_case.
struct MessageSchema: Sendable {
  let fields: [String: FieldType]

  /// The message without its target.
  static let message = MessageSchema(fields: [
    "data": .data, "notification": .object(notification), "android": .object(android),
    "android_v2": .object(androidV2), "webpush": .object(webpush), "apns": .object(apns),
    "fcm_options": .object(options),
  ])

  private static let options = MessageSchema(fields: ["analytics_label": .label])

  private static let notification = MessageSchema(fields: ["title": .string, "body": .string, "image": .image])

  private static let shared: [String: FieldType] = [
    "collapse_key": .string, "ttl": .lifetime, "restricted_package_name": .string, "data": .data,
    "fcm_options": .object(options), "direct_boot_ok": .bool, "bandwidth_constrained_ok": .bool,
    "restricted_satellite_ok": .bool,
  ]

  private static let android = MessageSchema(
    fields: shared.merging([
      // Google's documentation and SDKs also use lower case, which FCM accepts.
      "priority": .choice(["NORMAL", "HIGH", "normal", "high"]),
      "notification": .object(MessageSchema(fields: androidNotification)),
    ]) { $1 })

  private static let androidV2 = MessageSchema(
    fields: shared.merging([
      "remote_notification": .object(
        MessageSchema(fields: [
          "notification": .object(MessageSchema(fields: androidNotification.merging(["id": .int32]) { $1 })),
          "mutable_content": .bool, "use_as_v1_data_message": .bool,
        ])),
      "background_sync": .object(MessageSchema(fields: [:])),
    ]) { $1 })

  private static let androidNotification: [String: FieldType] = [
    "title": .string, "body": .string, "icon": .string, "color": .color, "sound": .string, "tag": .string,
    "click_action": .string, "body_loc_key": .string, "body_loc_args": .list(.string), "title_loc_key": .string,
    "title_loc_args": .list(.string), "channel_id": .string, "ticker": .string, "sticky": .bool, "event_time": .time,
    "local_only": .bool,
    "notification_priority": .choice(
      ["PRIORITY_UNSPECIFIED", "PRIORITY_MIN", "PRIORITY_LOW", "PRIORITY_DEFAULT", "PRIORITY_HIGH", "PRIORITY_MAX"]),
    "default_sound": .bool, "default_vibrate_timings": .bool, "default_light_settings": .bool,
    "vibrate_timings": .list(.duration),
    "visibility": .choice(["VISIBILITY_UNSPECIFIED", "PRIVATE", "PUBLIC", "SECRET"]),
    "notification_count": .int32,
    "light_settings": .object(
      MessageSchema(fields: [
        "color": .object(MessageSchema(fields: ["red": .share, "green": .share, "blue": .share, "alpha": .share])),
        "light_on_duration": .duration, "light_off_duration": .duration,
      ])),
    "image": .image, "proxy": .choice(["PROXY_UNSPECIFIED", "ALLOW", "DENY", "IF_PRIORITY_LOWERED"]),
    "bypass_proxy_notification": .bool,
  ]

  private static let webpush = MessageSchema(fields: [
    "headers": .strings, "data": .strings, "notification": .any,
    "fcm_options": .object(MessageSchema(fields: ["link": .link, "analytics_label": .label])),
  ])

  private static let apns = MessageSchema(fields: [
    "headers": .strings, "payload": .any, "live_activity_token": .string,
    "fcm_options": .object(MessageSchema(fields: ["analytics_label": .label, "image": .image])),
  ])

  /// Returns the field with a name in either spelling, and its name in snake_case; `nil` for an unknown name.
  func field(_ name: String) -> (name: String, type: FieldType)? {
    if let type = fields[name] { return (name, type) }
    guard let field = fields.first(where: { FieldName.camelCase($0.key) == name }) else { return nil }
    return (field.key, field.value)
  }
}
