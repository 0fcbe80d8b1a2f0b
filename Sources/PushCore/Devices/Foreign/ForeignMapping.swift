/// Meanings of the columns of a foreign export, by path. A path that ends with a dot includes everything below it.
struct ForeignMapping: Sendable {
  private let meanings: [String: ForeignMeaning]
  private let prefixes: [String]
  /// Whether the system has devices but no users. In that case, Carillon uses the token as the user's id.
  let lacksUsers: Bool

  init(_ meanings: [String: ForeignMeaning], nothing: String = "", lacksUsers: Bool = false) {
    let ignored = nothing.split(separator: " ").map { (String($0), ForeignMeaning.nothing) }
    self.meanings = meanings.merging(ignored) { meaning, _ in meaning }
    prefixes = self.meanings.keys.filter { $0.hasSuffix(".") }
    self.lacksUsers = lacksUsers
  }

  /// Returns the meaning of a column; `nil` if it is unknown.
  func meaning(of path: String) -> ForeignMeaning? {
    if let meaning = meanings[path] ?? meanings[path + "."] { return meaning }
    guard let prefix = prefixes.first(where: path.hasPrefix), let meaning = meanings[prefix] else { return nil }
    if case .attributes = meaning { return .attribute(String(path.dropFirst(prefix.count))) }
    return meaning
  }

  /// Returns whether a column contains tokens.
  func isToken(_ path: String) -> Bool {
    switch meaning(of: path) {
    case .column(.token, _), .anyToken, .tokens, .each: true
    default: false
    }
  }

  /// Returns whether a column contains ids of users.
  func hasUsers(in path: String) -> Bool { if case .column(.user, _)? = meaning(of: path) { true } else { false } }

  /// Columns that may contain tokens.
  var tokenColumns: [String] { meanings.keys.filter(isToken).sorted() }

  /// Returns whether members of a column have meanings of their own.
  func hasMembers(of path: String) -> Bool { meanings.keys.contains { $0.hasPrefix(path + ".") } }
}

// The tables use the names in the documentation of the systems. A column that is not in its table is reported as
// unknown and is not imported.

extension ForeignMapping {
  /// CSV file of `players/csv_export`, with any of its optional fields.
  static let onesignal = ForeignMapping(
    [
      "external_user_id": .column(.user),
      "id": .fallback(.user, .prefixed("onesignal:")),
      "identifier": .column(.token),
      "device_type": .device([
        "0": .apple, "9": .apple, "1": .android,
        "2": .leftOut("Amazon"), "3": .leftOut("Windows"), "4": .leftOut("Chrome"),
        "5": .leftOut("Chrome"), "6": .leftOut("Windows"), "7": .leftOut("Safari"), "8": .leftOut("Firefox"),
        "10": .leftOut("Alexa"), "11": .leftOut("e-mail"), "12": .leftOut("Edge"), "13": .leftOut("Huawei"),
        "14": .leftOut("SMS"), "17": .leftOut("Safari"),
      ]),
      "invalid_identifier": .device(
        ["t": .leftOut("unsubscribed"), "true": .leftOut("unsubscribed"), "1": .leftOut("unsubscribed")],
        otherwise: .taken),
      "notification_types": .device(
        ["-2": .leftOut("unsubscribed"), "0": .leftOut("unsubscribed")], otherwise: .taken),
      "language": .column(.locale), "timezone_id": .column(.timezone), "timezone": .fallback(.timezone, .offset),
      "game_version": .column(.appVersion), "device_os": .column(.osVersion),
      "last_active": .column(.lastSeen, .instant), "created_at": .column(.registeredAt, .instant),
      "tags": .attributes, "country": .attribute("country"),
    ],
    nothing: "session_count device_model ad_id playtime amount_spent badge_count location lat lon rooted ip web_auth "
      + "web_p256 sdk test_type")

  /// Lines of `users/export/segment`: one user on each line, with all devices.
  static let braze = ForeignMapping(
    [
      "external_id": .column(.user),
      "braze_id": .fallback(.user, .prefixed("braze:")),
      "push_tokens": .each(
        ForeignMapping(
          [
            "token": .column(.token),
            "platform": .device([
              "ios": .apple, "macos": .apple, "tvos": .apple, "visionos": .apple, "android": .android,
              "web": .leftOut("Web"), "kindle": .leftOut("Kindle"),
              "windows": .leftOut("Windows"), "huawei": .leftOut("Huawei"),
            ]),
          ], nothing: "app device_id notifications_enabled")),
      "push_subscribe": .device(["unsubscribed": .leftOut("unsubscribed")], otherwise: .taken),
      "uninstalled_at": .device([:], otherwise: .leftOut("uninstalled")),
      "language": .column(.locale), "time_zone": .column(.timezone),
      "country": .attribute("country"), "home_city": .attribute("home_city"), "gender": .attribute("gender"),
      "first_name": .attribute("first_name"), "last_name": .attribute("last_name"),
      "custom_attributes": .attributes,
    ],
    nothing: "apps attributed_ad attributed_adgroup attributed_campaign attributed_source campaigns_received "
      + "canvases_received cards_clicked created_at custom_events devices dob email email_subscribe last_coordinates "
      + "phone purchases random_bucket total_revenue user_aliases sms_subscribe purchases_count sessions")

  /// Endpoints of an export job, as JSON lines or CSV.
  static let pinpoint = ForeignMapping(
    [
      "User.UserId": .column(.user),
      "Id": .fallback(.user, .prefixed("pinpoint:")),
      "Address": .column(.token),
      "ChannelType": .device([
        "apns": .of(.production, nil, .apns), "apns_sandbox": .of(.sandbox, nil, .apns),
        "apns_voip": .of(.production, .voip, .apns), "apns_voip_sandbox": .of(.sandbox, .voip, .apns),
        "gcm": .android, "fcm": .android, "adm": .leftOut("Amazon"),
        "baidu": .leftOut("Baidu"), "email": .leftOut("e-mail"), "sms": .leftOut("SMS"), "voice": .leftOut("voice"),
        "custom": .leftOut("custom"), "in_app": .leftOut("in-app"),
      ]),
      "EndpointStatus": .device(["inactive": .leftOut("inactive")], otherwise: .taken),
      "OptOut": .device(["all": .leftOut("opted out")], otherwise: .taken),
      "EffectiveDate": .column(.lastSeen, .instant), "CreationDate": .column(.registeredAt, .instant),
      "Demographic.Locale": .column(.locale), "Demographic.Timezone": .column(.timezone),
      "Demographic.AppVersion": .column(.appVersion), "Demographic.PlatformVersion": .column(.osVersion),
      "Location.Country": .attribute("country"), "Location.City": .attribute("city"),
      "Attributes.": .attributes, "Metrics.": .attributes, "User.UserAttributes.": .attributes,
    ],
    nothing: "ApplicationId CohortId RequestId Demographic.Make Demographic.Model Demographic.ModelVersion "
      + "Demographic.Platform Location.Latitude Location.Longitude Location.PostalCode Location.Region")

  /// Documents that an app writes itself, because Firebase has no export of devices. The table has the names of
  /// Firebase's documentation, and other names that apps often use.
  static let firebase = ForeignMapping(
    [
      "uid": .column(.user), "userId": .column(.user), "user_id": .column(.user), "user": .column(.user),
      "apnsToken": .column(.token), "apns_token": .column(.token),
      "token": otherToken, "fcmToken": otherToken, "fcm_token": otherToken, "registration_token": otherToken,
      "registrationToken": otherToken,
      "platform": .device([
        "ios": .apple, "ipados": .apple, "macos": .apple, "android": .android, "web": .leftOut("Web"),
      ]),
      "locale": .column(.locale), "language": .column(.locale),
      "timezone": .column(.timezone), "timeZone": .column(.timezone),
      "appVersion": .column(.appVersion), "osVersion": .column(.osVersion),
      "timestamp": .column(.lastSeen, .instant), "updatedAt": .column(.lastSeen, .instant),
      "lastSeen": .column(.lastSeen, .instant), "createdAt": .column(.registeredAt, .instant),
    ],
    nothing: "status")

  private static let otherToken = ForeignMeaning.anyToken(
    otherwise: "an FCM token; only the app knows its APNs token")

  /// Requests to `/api/push`, one on each line, or the notifications in such requests. gorush itself stores no devices.
  static let gorush: ForeignMapping = {
    let notification: [String: ForeignMeaning] = [
      "tokens": .tokens,
      "platform": .device(["1": .apple, "2": .android, "3": .leftOut("Huawei")]),
      "development": .device(["true": .of(.sandbox)], otherwise: .taken),
      "production": .device(["true": .of(.production)], otherwise: .taken),
    ]
    let nothing =
      "notif_id to message title subtitle image priority content_available mutable_content sound data retry topic "
      + "api_key collapse_key delay_while_idle time_to_live restricted_package_name dry_run notification expiration "
      + "apns_id collapse_id push_type badge category thread-id thread_id interruption_level target-content-id alert "
      + "name volume condition huawei_data huawei_notification url-args content-state timestamp event dismissal-date"
    return ForeignMapping(
      notification.merging(
        ["notifications": .each(ForeignMapping(notification, nothing: nothing, lacksUsers: true))]) { own, _ in own },
      nothing: nothing, lacksUsers: true)
  }()
}
