/// Requests to `messages:send` with the expected answers of the reference.
enum FCMRequestTable {
  /// A request with its expected answer.
  struct Row: Sendable {
    var name: String
    /// The JSON of `message`.
    var message: String
    var status = 200
    /// The expected `error.message`; empty for an acceptance.
    var says = ""
    /// The expected `error.details` without white space; `nil` for none.
    var details: String?

    init(_ name: String, _ message: String, _ status: Int = 200, _ says: String = "", details: String? = nil) {
      self.name = name
      self.message = message
      self.status = status
      self.says = says
      self.details = details
    }

    /// A rule of FCM that the message breaks: `BadRequest` with the field, then `FcmError`.
    static func invalid(_ name: String, _ message: String, _ says: String, field: String) -> Row {
      let text = says.replacing("\"", with: "\\\"")
      return Row(
        name, message, 400, says,
        details: "[\(violation(field, text)),\(argument)]")
    }

    /// A violation of names or types, without `FcmError`.
    static func type(_ name: String, _ message: String, _ says: String, field: String) -> Row {
      let text = says.replacing("\"", with: "\\\"")
      return Row(
        name, message, 400, says,
        details: "[\(violation(field, text))]")
    }

    private static func violation(_ field: String, _ text: String) -> String {
      "{\(badRequest),\"fieldViolations\":[{\"field\":\"\(field)\",\"description\":\"\(text)\"}]}"
    }

    static let badRequest = #""@type":"type.googleapis.com/google.rpc.BadRequest""#
    static func fcm(_ code: String) -> String {
      #"{"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":"\#(code)"}"#
    }
    static let argument = fcm("INVALID_ARGUMENT")
  }

  /// Returns a message to a token with more members.
  private static func to(_ members: String) -> String { "{\"token\":\"\(FCMScene.token)\",\(members)}" }
  /// Returns a message with an Android notification.
  private static func shown(_ members: String) -> String { to("\"android\":{\"notification\":{\(members)}}") }

  private static let tokenText = "The registration token is not a valid FCM registration token"
  private static let tokenDetails =
    "[\(Row.argument),{\(Row.badRequest),\"fieldViolations\":[{\"field\":\"message.token\",\"description\":"
    + "\"\(tokenText)\"}]}]"
  private static let notFound = "Requested entity was not found."
  private static let gone = "[\(Row.fcm("UNREGISTERED"))]"

  static let targets: [Row] = [
    Row("token", "{\"token\":\"\(FCMScene.token)\"}"),
    Row("installation id", "{\"fid\":\"\(FCMScene.fid)\"}"),
    Row("installation id as token", "{\"token\":\"\(FCMScene.fid)\"}"),
    Row("topic", #"{"topic":"news-1_a.b~c%d"}"#),
    Row("condition", #"{"condition":"'a' in topics && ('b' in topics || !('c' in topics))"}"#),
    .invalid("no target", "{}", "Recipient of the message is not set.", field: "message"),
    .invalid("null target", #"{"token":null}"#, "Recipient of the message is not set.", field: "message"),
    .invalid("empty token", #"{"token":""}"#, "Recipient of the message is not set.", field: "message"),
    .type(
      "two targets", #"{"token":"a","topic":"b"}"#,
      "Invalid value at 'message' (oneof), oneof field 'target' is already set. Cannot set 'topic'", field: "message"),
    .invalid("topic with a blank", #"{"topic":"a b"}"#, "Topic name contains invalid characters.", field: "message"),
    Row(
      "condition of six topics",
      #"{"condition":"'a' in topics || 'b' in topics || 'c' in topics || 'd' in topics"#
        + #" || 'e' in topics || 'f' in topics"}"#, 400, "Request contains an invalid argument."),
    Row("broken condition", #"{"condition":"'a' in topics &&"}"#, 400, "Request contains an invalid argument."),
    Row("token with a blank", #"{"token":"a b"}"#, 400, tokenText, details: tokenDetails),
    Row("malformed token", #"{"token":"malformed"}"#, 400, tokenText, details: tokenDetails),
    Row("malformed installation id", #"{"fid":"a b"}"#, 404, notFound, details: gone),
    Row("unregistered", #"{"token":"unregistered"}"#, 404, notFound, details: gone),
    Row(
      "token of another project", #"{"token":"foreign"}"#, 403, "SenderId mismatch",
      details: "[\(Row.fcm("SENDER_ID_MISMATCH"))]"),
    Row(
      "token that is marked as another project's", #"{"token":"otherProject"}"#, 403, "SenderId mismatch",
      details: "[\(Row.fcm("SENDER_ID_MISMATCH"))]"),
    Row(
      "iOS device without a key", #"{"token":"thirdPartyAuth"}"#, 401, "Auth error from APNS or Web Push Service",
      details: "[\(Row.fcm("THIRD_PARTY_AUTH_ERROR"))]"),
    .invalid(
      "wrong package", #"{"token":"packaged","android":{"restricted_package_name":"org.other"}}"#,
      "The registration token does not match the restricted package name.",
      field: "message.android.restricted_package_name"),
    Row("right package", #"{"token":"packaged","android":{"restrictedPackageName":"org.app"}}"#),
  ]

  static let fields: [Row] = [
    Row(
      "all of Android",
      to(
        #"""
        "data":{"k":"v"},"notification":{"title":"t","body":"b","image":"https://example.com/i.png"},
        "fcm_options":{"analytics_label":"campaign-1"},
        "android":{"collapse_key":"k","priority":"HIGH","ttl":"3.5s","data":{"a":"b"},"direct_boot_ok":true,
        "notification":{"title":"t","color":"#00ffAA","tag":"t","body_loc_key":"k","body_loc_args":["1"],"sticky":false,
        "event_time":"2026-01-31T12:00:00.123456789Z","notification_priority":"PRIORITY_HIGH","visibility":"PUBLIC",
        "vibrate_timings":["0.5s","1s"],"notification_count":3,"proxy":"DENY",
        "light_settings":{"color":{"red":0.5,"green":0,"blue":1,"alpha":1},"light_on_duration":"1s",
        "light_off_duration":"2s"}}}
        """#)),
    Row("camel case", to(#""android":{"collapseKey":"k","directBootOk":true,"notification":{"clickAction":"x"}}"#)),
    Row("priority in lower case", to(#""android":{"priority":"high"}"#)),
    Row("android_v2", to(#""android_v2":{"remote_notification":{"notification":{"title":"t","id":7}}}"#)),
    Row(
      "apns and webpush",
      to(
        #"""
        "apns":{"headers":{"apns-priority":"5"},"payload":{"aps":{"alert":"x"},"own":[1]}},
        "webpush":{"headers":{"TTL":"60"},"notification":{"title":"x","actions":[]},
        "fcm_options":{"link":"https://example.com"}}
        """#)),
    Row("null members", to(#""android":null,"data":null"#)),
    .type(
      "unknown field", #"{"toen":"a"}"#,
      #"Invalid JSON payload received. Unknown name "toen" at 'message': Cannot find field."#, field: "message"),
    .type(
      "unknown field of Android", to(#""android":{"notification":{"colour":"x"}}"#),
      #"Invalid JSON payload received. Unknown name "colour" at 'message.android.notification': Cannot find field."#,
      field: "message.android.notification"),
    .type(
      "number as data", to(#""data":{"a":12}"#), "Invalid value at 'message.data[0].value' (TYPE_STRING), 12",
      field: "message.data[0].value"),
    .type(
      "text as flag", to(#""android":{"direct_boot_ok":"yes"}"#),
      #"Invalid value at 'message.android.direct_boot_ok' (TYPE_BOOL), "yes""#,
      field: "message.android.direct_boot_ok"),
    .type(
      "object as text", #"{"token":{}}"#,
      "Invalid value at 'message.token' (TYPE_STRING), Starting an object on a scalar field", field: "message.token"),
    .type(
      "list as text", to(#""notification":{"title":["a"]}"#),
      #"Invalid JSON payload received. Unknown name "title" at 'message.notification': Proto field is not repeating, "#
        + "cannot start list.", field: "message.notification.title"),
    .type(
      "unknown priority", to(#""android":{"priority":"URGENT"}"#),
      "Invalid value at 'message.android.priority' "
        + #"(type.googleapis.com/google.firebase.fcm.v1.AndroidMessagePriority), "URGENT""#,
      field: "message.android.priority"),
    .type(
      "TTL without s", to(#""android":{"ttl":"3600"}"#),
      #"Invalid value at 'message.android.ttl' (type.googleapis.com/google.protobuf.Duration), "3600""#,
      field: "message.android.ttl"),
    .type(
      "count with a fraction", shown(#""notification_count":1.5"#),
      "Invalid value at 'message.android.notification.notification_count' (TYPE_INT32), 1.5",
      field: "message.android.notification.notification_count"),
    .type(
      "event time without a zone", shown(#""event_time":"2026-01-31T12:00:00""#),
      "Invalid value at 'message.android.notification.event_time' (type.googleapis.com/google.protobuf.Timestamp), "
        + #""2026-01-31T12:00:00""#, field: "message.android.notification.event_time"),
  ]

  static let rules: [Row] = [
    Row("TTL of 28 days", to(#""android":{"ttl":"2419200s"}"#)),
    Row("TTL of zero", to(#""android":{"ttl":"0s"}"#)),
    .invalid(
      "TTL above 28 days", to(#""android":{"ttl":"2419201s"}"#), "TTL must be between 0 and 2419200 seconds.",
      field: "message.android.ttl"),
    .invalid(
      "negative TTL", to(#""android":{"ttl":"-1s"}"#), "TTL must be between 0 and 2419200 seconds.",
      field: "message.android.ttl"),
    .invalid(
      "android and android_v2", to(#""android":{},"android_v2":{"background_sync":{}}"#),
      "Only one of android and android_v2 can be set.", field: "message.android_v2"),
    .invalid(
      "android_v2 without a kind", to(#""android_v2":{}"#),
      "Exactly one of remote_notification and background_sync must be set.", field: "message.android_v2"),
    .invalid("reserved data key", to(#""data":{"from":"x"}"#), "Invalid data payload key: from", field: "message.data"),
    .invalid(
      "reserved prefix", to(#""android":{"data":{"google.x":"y"}}"#), "Invalid data payload key: google.x",
      field: "message.android.data"),
    .invalid(
      "colour without #", shown(#""color":"00ff00""#), "Invalid notification color: must be in the form #rrggbb.",
      field: "message.android.notification.color"),
    .invalid(
      "arguments without a key", shown(#""title_loc_args":["a"]"#), "title_loc_args needs title_loc_key.",
      field: "message.android.notification.title_loc_args"),
    .invalid(
      "light without durations", shown(#""light_settings":{"color":{"red":1}}"#),
      "light_settings needs light_on_duration.", field: "message.android.notification.light_settings.light_on_duration"),
    .invalid(
      "label with a blank", to(#""fcm_options":{"analytics_label":"a b"}"#), "Invalid analytics label: a b",
      field: "message.fcm_options.analytics_label"),
    .invalid(
      "web TTL", to(#""webpush":{"headers":{"TTL":"1s"}}"#), "TTL must be a non-negative integer.",
      field: "message.webpush.headers.TTL"),
    .invalid(
      "web link", to(#""webpush":{"fcm_options":{"link":"http://example.com"}}"#), "The link must be an HTTPS URL.",
      field: "message.webpush.fcm_options.link"),
    Row("4,096 bytes", to("\"data\":{\"k\":\"\(String(repeating: "x", count: 4095))\"}")),
    Row(
      "4,097 bytes", to("\"data\":{\"k\":\"\(String(repeating: "x", count: 4096))\"}"), 400,
      "Message is too large. The maximum is 4K (4096 bytes).", details: "[{\(Row.badRequest)},\(Row.argument)]"),
    // The names of a notification's fields do not count.
    Row(
      "notification of 4,096 bytes",
      to("\"notification\":{\"title\":\"t\",\"body\":\"\(String(repeating: "x", count: 4095))\"}")),
    Row(
      "notification of 4,097 bytes",
      to("\"notification\":{\"title\":\"t\",\"body\":\"\(String(repeating: "x", count: 4096))\"}"),
      400, "Message is too large. The maximum is 4K (4096 bytes).", details: "[{\(Row.badRequest)},\(Row.argument)]"),
    // Android's own data replaces the message's (reference 4.3).
    Row(
      "large data that is replaced",
      to("\"data\":{\"k\":\"\(String(repeating: "x", count: 5000))\"},\"android\":{\"data\":{\"k\":\"v\"}}")),
  ]
}
