/// Combinations that sections 3.4, 4.2 to 4.5, 6 and 7 of the reference call invalid, one for each row.
enum CombinationTable {
  static let rows: [CombinationRow] =
    headers + sizes + types + strangers + topics + certificates + payloads + activities + broadcasts

  private static let hello = #"{"aps":{"alert":"a"}}"#
  private static let silent = #"{"aps":{"content-available":1}}"#
  private static let changed = #"{"aps":{"content-changed":true}}"#
  private static let update = #"{"aps":{"timestamp":1,"event":"update","content-state":{}}}"#

  /// Returns a payload of `size` bytes.
  private static func filled(_ size: Int, _ aps: String = #""alert":"a""#) -> String {
    let empty = #"{"aps":{\#(aps)},"k":""}"#
    return empty.dropLast(2) + String(repeating: "x", count: size - empty.utf8.count) + #""}"#
  }

  // MARK: 4.2 and 4.3

  private static let headers: [CombinationRow] = [
    .init(
      "4.2", "A", "priority other than 10, 5, 1", .refused, "job", at: "apns.priority", hello, own: #","priority":3"#),
    .init("4.2", "A", "an unknown push type", .refused, "job", at: "apns.pushType", hello, as: "alerts"),
    .init(
      "4.2", "A", "a collapse id of 65 bytes", .refused, "collapse-size", at: "collapseId", hello,
      #","collapseId":"\#(String(repeating: "c", count: 65))""#),
    .init(
      "4.2", "A", "a collapse id of 33 characters and 66 bytes", .refused, "collapse-size", at: "collapseId", hello,
      #","collapseId":"\#(String(repeating: "é", count: 33))""#),
    .init(
      "4.2", "A", "a collapse id with a line break", .refused, "job", at: "collapseId", hello, #","collapseId":"a\nb""#),
    .init(
      "4.2", "O", "a header block of 8,000 bytes (from the channel id)", .refused, "job", at: "audience.channel",
      update,
      as: "liveactivity", audience: #"{"channel":"\#(String(repeating: "YWJj", count: 2000))"}"#),
    .init(
      "4.2", "A", "an expiration that is a number other than 0", .refused, "job", at: "expiration", hello,
      #","expiration":300"#),
    .init(
      "4.2", "A", "an expiration that is neither a time nor a duration", .refused, "job", at: "expiration", hello,
      #","expiration":"tomorrow""#),
    .init(
      "4.2", "A", "an expiration before the start", .refused, "job", at: "expiration", hello,
      #","expiration":"2030-01-01T00:00:00Z","sendAt":"2030-01-01T00:00:00Z""#),
    .init(
      "8.4", "A", "an expiration beyond 30 days", .warned, "expiration-long", at: "expiration", hello,
      #","expiration":"31d""#),
    .init(
      "4.2", "A18, A", "priority 10 and only content-available", .refused, "alert-silent", at: "apns.payload.aps",
      silent,
      own: #","priority":10"#),
  ]

  private static let sizes: [CombinationRow] = [
    .init("4.3", "A", "4097 bytes for alert", .refused, "payload-size", at: "apns.payload", filled(4097)),
    .init(
      "4.3", "A", "4097 bytes for background", .refused, "payload-size", at: "apns.payload",
      filled(4097, #""content-available":1"#), as: "background"),
    .init("4.3", "A", "5121 bytes for voip", .refused, "payload-size", at: "apns.payload", filled(5121), as: "voip"),
    .init(
      "4.3", "I", "4097 bytes for pushtotalk", .refused, "payload-size", at: "apns.payload", filled(4097),
      as: "pushtotalk"),
    .init(
      "4.3", "A", "4097 bytes for a Live Activity of a device", .refused, "payload-size", at: "apns.payload",
      filled(4097, #""timestamp":1,"event":"update","content-state":{}"#), as: "liveactivity"),
    CombinationRow(
      "4.3", "A", "5121 bytes for a broadcast", .refused, "payload-size", at: "apns.payload",
      filled(5121, #""timestamp":1,"event":"update","content-state":{}"#), as: "liveactivity"
    ).broadcast(),
    .init("4.3", "A", "a payload that is not an object", .refused, "job", at: "apns.payload", "[]"),
  ]

  // MARK: 4.4 and 4.5

  private static let types: [CombinationRow] = [
    .init(
      "4.5", "A", "background with priority 10", .refused, "background-priority", at: "apns.priority", silent,
      as: "background",
      own: #","priority":10"#),
    .init(
      "4.5", "A", "background with alert", .refused, "background-visible", at: "apns.payload.aps.alert",
      #"{"aps":{"content-available":1,"alert":"a"}}"#, as: "background"),
    .init(
      "4.5", "A", "background with badge", .refused, "background-visible", at: "apns.payload.aps.badge",
      #"{"aps":{"content-available":1,"badge":1}}"#, as: "background"),
    .init(
      "4.5", "A", "background with sound", .refused, "background-visible", at: "apns.payload.aps.sound",
      #"{"aps":{"content-available":1,"sound":"a"}}"#, as: "background"),
    .init(
      "4.4", "A", "background without content-available", .refused, "background-silent", at: "apns.payload.aps",
      #"{"aps":{}}"#,
      as: "background"),
    .init(
      "4.5", "O, never delivered", "alert with only content-available, whatever the priority", .refused, "alert-silent",
      at: "apns.payload.aps", silent, own: #","priority":5"#),
    .init(
      "4.4", "A", "controls without content-changed", .refused, "content-changed", at: "apns.payload.aps",
      #"{"aps":{}}"#,
      as: "controls"),
    .init(
      "4.4", "A", "widgets with content-changed 1 instead of true", .refused, "aps-type",
      at: "apns.payload.aps.content-changed",
      #"{"aps":{"content-changed":1}}"#, as: "widgets"),
    .init(
      "4.4", "A", "mdm with aps", .refused, "management-payload", at: "apns.payload.aps", #"{"mdm":"m","aps":{}}"#,
      as: "mdm"
    ),
    .init("4.4", "A", "mdm without its magic", .refused, "management-payload", at: "apns.payload", "{}", as: "mdm"),
    .init(
      "4.4", "O", "mdm with a topic that is not from an MDM certificate", .warned, "management-topic",
      at: "apns.pushType",
      #"{"mdm":"m"}"#, as: "mdm"),
    .init(
      "4.4", "A", "voip that APNs stores for hours", .warned, "delivery-habit", at: "expiration", "{}", as: "voip",
      #","expiration":"4h""#),
    .init(
      "4.4", "A", "pushtotalk that APNs stores", .warned, "delivery-habit", at: "expiration", "{}", as: "pushtotalk",
      #","expiration":"4h""#),
    .init(
      "4.4", "A", "pushtotalk with priority 5", .warned, "delivery-habit", at: "apns.priority", "{}", as: "pushtotalk",
      own: #","priority":5"#),
    .init(
      "4.4", "A", "liveactivity with priority 1", .warned, "activity-priority", at: "apns.priority", update,
      as: "liveactivity", own: #","priority":1"#),
  ]

  private static let strangers: [CombinationRow] =
    ["activity", "talk", "files", "locations", "controls", "widgets"].map { app -> CombinationRow in
      .init(
        "4.5", "A", "alert to the topic of another type (\(app))", .refused, "topic-suffix", at: "apns.pushType",
        app: app)
    }

  private static let topics: [CombinationRow] =
    [
      .init(
        "4.5", "A", "voip to the topic of pushtotalk", .refused, "topic-suffix", at: "apns.pushType", app: "talk", "{}",
        as: "voip"),
      .init(
        "4.5", "A", "liveactivity to the topic of widgets", .refused, "topic-suffix", at: "apns.pushType",
        app: "widgets",
        update,
        as: "liveactivity"),
      .init(
        "4.5", "DTS, O", "alert to a topic in .voip (a bundle id may end like this)", .warned, "topic-looks-suffixed",
        at: "apns.pushType", app: "calls"),
      .init("4.4", "A", "a pass, and voip", .refused, "topic-type", at: "apns.pushType", app: "card", "{}", as: "voip"),
      .init(
        "4.3", "A", "a pass, and a payload other than {}", .refused, "wallet-payload", at: "apns.payload", app: "card"),
      .init(
        "6.7", "A18", "a website, and background", .refused, "topic-type", at: "apns.pushType", app: "site", silent,
        as: "background"),
      .init(
        "6.7", "A18", "a website without url-args", .refused, "website-payload", at: "apns.payload.aps.url-args",
        app: "site",
        #"{"aps":{"alert":{"title":"t","body":"b"}}}"#),
      .init(
        "6.7", "A18", "a website without title", .refused, "website-payload", at: "apns.payload.aps.alert", app: "site",
        #"{"aps":{"alert":{"body":"b"},"url-args":[]}}"#),
    ]

  private static let tokenOnly: [CombinationRow] =
    [("location", "{}"), ("liveactivity", update), ("controls", changed), ("widgets", changed)].map {
      type, payload -> CombinationRow in
      .init(
        "4.5", "A", "\(type) with a certificate", .refused, "token-only", at: "apns.pushType", app: "certified",
        payload,
        as: type)
    }

  private static let unlisted: [CombinationRow] =
    ["voip", "complication", "fileprovider", "pushtotalk"].map { type -> CombinationRow in
      .init(
        "3.4", "A", "\(type) with a certificate that doesn't list its topic", .refused, "certificate-topic",
        at: "apns.pushType",
        app: "certified", "{}", as: type)
    }

  private static let certificates: [CombinationRow] =
    tokenOnly + unlisted + [
      CombinationRow(
        "7.4", "A", "a broadcast with a certificate for other topics", .refused, "certificate-topic",
        at: "apns.pushType", app: "foreign", update, as: "liveactivity"
      ).broadcast()
    ]

  // MARK: 6

  private static func aps(_ key: String, _ value: String, _ rule: String = "aps-type") -> CombinationRow {
    .init(
      "6.1", "A", "aps.\(key): \(value)", .refused, rule, at: "apns.payload.aps.\(key)",
      #"{"aps":{"\#(key)":\#(value)}}"#)
  }

  private static let payloads: [CombinationRow] = [
    .init("6", "A", "aps that is not an object", .refused, "aps-type", at: "apns.payload.aps", #"{"aps":"a"}"#),
    aps("alert", "7"), aps("badge", "\"1\""), aps("badge", "-1", "aps-range"), aps("sound", "true"),
    aps("thread-id", "1"), aps("category", "[]"), aps("content-available", "\"1\""), aps("mutable-content", "2"),
    aps("target-content-id", "1"), aps("interruption-level", "\"urgent\"", "aps-range"),
    aps("relevance-score", "2", "aps-range"), aps("filter-criteria", "{}"),
    .init(
      "6.2", "A", "aps.alert.title: 1", .refused, "aps-type", at: "apns.payload.aps.alert.title",
      #"{"aps":{"alert":{"title":1}}}"#),
    .init(
      "6.2", "A", "aps.alert.loc-args with a number", .refused, "aps-type", at: "apns.payload.aps.alert.loc-args[0]",
      #"{"aps":{"alert":{"loc-key":"k","loc-args":[1]}}}"#),
    .init(
      "6.3", "A", "aps.sound.volume: 1.1", .refused, "aps-range", at: "apns.payload.aps.sound.volume",
      #"{"aps":{"sound":{"volume":1.1}}}"#),
    .init(
      "6", "A, ignored", "a custom key inside aps", .warned, "aps-custom", at: "apns.payload.aps.mine",
      #"{"aps":{"alert":"a","mine":1}}"#),
    .init(
      "6.2", "M", "summary-arg", .warned, "deprecated", at: "apns.payload.aps.alert.summary-arg",
      #"{"aps":{"alert":{"body":"a","summary-arg":"s"}}}"#),
    .init(
      "6.1", "A", "a key of Live Activities in an alert", .warned, "key-of-other-type", at: "apns.payload.aps.event",
      #"{"aps":{"alert":"a","event":"update"}}"#),
    .init(
      "6.1", "A", "url-args with an app", .warned, "key-of-other-type", at: "apns.payload.aps.url-args",
      #"{"aps":{"alert":"a","url-args":[]}}"#),
  ]

  // MARK: 7

  private static func activity(
    _ combination: String, _ verdict: CombinationRow.Verdict, _ rule: String, at key: String,
    _ members: String, certainty: String = "A"
  ) -> CombinationRow {
    .init(
      "7.1", certainty, combination, verdict, rule, at: "apns.payload.aps.\(key)", "{\"aps\":{\(members)}}",
      as: "liveactivity")
  }

  private static let activities: [CombinationRow] = [
    .init(
      "7.1", "A", "liveactivity without timestamp in a campaign with a start of its own for each device", .refused,
      "activity-timestamp", at: "apns.payload.aps.timestamp", #"{"aps":{"event":"update","content-state":{}}}"#,
      as: "liveactivity", #","localTime":true,"sendAt":"2030-01-01T09:00:00""#),
    activity(
      "liveactivity without event", .refused, "activity-event", at: "event", #""timestamp":1,"content-state":{}"#),
    activity(
      "liveactivity with an unknown event", .refused, "aps-range", at: "event",
      #""timestamp":1,"event":"stop","content-state":{}"#),
    activity(
      "start without attributes-type", .refused, "activity-start", at: "attributes-type",
      #""timestamp":1,"event":"start","attributes":{},"content-state":{},"alert":"a""#),
    activity(
      "start without attributes", .refused, "activity-start", at: "attributes",
      #""timestamp":1,"event":"start","attributes-type":"A","content-state":{},"alert":"a""#),
    activity(
      "start without content-state", .refused, "activity-start", at: "content-state",
      #""timestamp":1,"event":"start","attributes-type":"A","attributes":{},"alert":"a""#),
    activity(
      "start without alert", .refused, "activity-start", at: "alert",
      #""timestamp":1,"event":"start","attributes-type":"A","attributes":{},"content-state":{}"#),
    activity(
      "update without content-state", .refused, "activity-update", at: "content-state",
      #""timestamp":1,"event":"update""#),
    activity(
      "a time in milliseconds", .refused, "activity-seconds", at: "timestamp",
      #""timestamp":1700000000000,"event":"update","content-state":{}"#, certainty: "A, plainly can't work"),
    activity(
      "end without content-state", .warned, "activity-end", at: "content-state",
      #""timestamp":1,"event":"end""#),
    activity(
      "sound outside alert", .warned, "activity-sound", at: "sound",
      #""timestamp":1,"event":"update","content-state":{},"sound":"a""#),
    activity(
      "a dismissal date more than 4 hours after the end", .warned, "activity-dates", at: "dismissal-date",
      #""event":"end","content-state":{},"dismissal-date":"5h""#),
    activity(
      "an invalid stale date", .refused, "job", at: "stale-date",
      #""event":"update","content-state":{},"stale-date":"soon""#),
  ]

  private static let broadcastJobs: [CombinationRow] =
    [
      .init("7.2", "A", "alert", .refused, "broadcast-type", at: "apns.pushType"),
      .init(
        "7.1", "A", "start", .refused, "broadcast-start", at: "apns.payload.aps.event",
        #"{"aps":{"timestamp":1,"event":"start","attributes-type":"A","attributes":{},"content-state":{},"alert":"a"}}"#,
        as: "liveactivity"),
      .init(
        "7.2", "A", "a collapse id", .refused, "broadcast-collapse", at: "collapseId", update, as: "liveactivity",
        #","collapseId":"c""#),
      .init(
        "4.5", "A", "the suffix of another type in the path", .refused, "topic-suffix", at: "apns.pushType",
        app: "widgets",
        update,
        as: "liveactivity"),
      .init(
        "4.5", "A, if the channel keeps none", "an expiration other than 0", .warned, "broadcast-storage",
        at: "expiration", update, as: "liveactivity", #","expiration":"4h""#),
    ]

  private static let broadcasts: [CombinationRow] =
    broadcastJobs.map { row -> CombinationRow in
      var row = row.broadcast()
      row.combination = "a broadcast with " + row.combination
      return row
    } + [
      CombinationRow(
        "7.4", "A", "a channel id that is not Base64", .refused, "job", at: "audience.channel", update,
        as: "liveactivity"
      ).broadcast("a b")
    ]
}
