import FCM
import PushCore
import ServiceTools
import TestKit
import TestSupport
import Testing

/// A payload that breaks a rule, and a similar one that does not.
struct RulePair: Sendable, CustomTestStringConvertible {
  var rule: FCMRule
  var wrong: String
  var right: String
  /// Other members of the job with the wrong payload.
  var wrongJob: String
  /// Other members of the job with the right payload.
  var rightJob: String
  /// Place of the finding; `nil` to check only the rule.
  var path: String?

  init(
    _ rule: FCMRule, _ wrong: String, _ right: String, at path: String? = nil, job: String = "", rightJob: String? = nil
  ) {
    (self.rule, self.wrong, self.right, self.path) = (rule, wrong, right, path)
    (wrongJob, self.rightJob) = (job, rightJob ?? job)
  }

  /// A pair of messages with a notification and other members.
  static func more(_ rule: FCMRule, _ wrong: String, _ right: String, at path: String? = nil) -> RulePair {
    RulePair(
      rule, #"{"notification":{"title":"T"},\#(wrong)}"#, #"{"notification":{"title":"T"},\#(right)}"#, at: path)
  }

  /// A pair of messages with these settings for Android.
  static func android(_ rule: FCMRule, _ wrong: String, _ right: String, at path: String? = nil) -> RulePair {
    more(rule, #""android":{\#(wrong)}"#, #""android":{\#(right)}"#, at: path.map { "fcm.message.android." + $0 })
  }

  /// A pair of messages with these notifications for Android.
  static func shown(_ rule: FCMRule, _ wrong: String, _ right: String, at path: String? = nil) -> RulePair {
    android(
      rule, #""notification":{\#(wrong)}"#, #""notification":{\#(right)}"#, at: path.map { "notification." + $0 })
  }

  var testDescription: String { "\(rule.rawValue) \(wrong.prefix(80)) \(wrongJob)" }
}

struct FCMRuleTests {
  private static let hello = #"{"notification":{"title":"T"}}"#
  private static let data = #"{"data":{"k":"v"}}"#
  private static let background = #","fcm.pushType":"background""#
  private static let light = #""color":{"red":1,"green":0.5},"light_on_duration":"1s","light_off_duration":"2.5s""#
  private static func text(_ length: Int) -> String { String(repeating: "x", count: length) }

  static let pairs: [RulePair] = [
    RulePair(
      .expirationPast, hello, hello, at: "expiration", job: #","expiration":"2026-01-01T00:00:00Z""#,
      rightJob: #","expiration":"2027-01-01T00:00:00Z""#),
    RulePair(
      .expirationLong, hello, hello, at: "expiration", job: #","expiration":"29d""#, rightJob: #","expiration":"28d""#),
    RulePair(
      .backgroundPriority, data, data, at: "urgency", job: background + #","urgency":"high""#, rightJob: background),

    RulePair(.wrongForm, #"{"aps":{"alert":"T"}}"#, hello, at: "fcm.message.aps"),
    RulePair(.wrongForm, #"{"message":{"token":"t","notification":{}}}"#, hello, at: "fcm.message.message"),
    RulePair(.wrongForm, #"{"registration_ids":["t"]}"#, hello, at: "fcm.message.registration_ids"),
    RulePair(.wrongForm, #"{"to":"t","notification":{"title":"T"}}"#, hello, at: "fcm.message.to"),
    .more(.targetInside, #""token":"t""#, #""data":{}"#, at: "fcm.message.token"),
    .more(.targetInside, #""fid":"t""#, #""data":{"fid":"t"}"#, at: "fcm.message.fid"),
    .more(.targetInside, #""topic":"t""#, #""data":{"topic":"t"}"#, at: "fcm.message.topic"),
    .more(.targetInside, #""condition":"t""#, #""data":{}"#, at: "fcm.message.condition"),
    .more(.outputOnly, #""name":"n""#, #""data":{"name":"n"}"#, at: "fcm.message.name"),
    RulePair(
      .androidTwice, #"{"android":{},"android_v2":{"remote_notification":{}}}"#,
      #"{"android_v2":{"remote_notification":{}}}"#, at: "fcm.message.android_v2"),
    RulePair(
      .androidKind, #"{"android_v2":{"remote_notification":{},"background_sync":{}}}"#,
      #"{"android_v2":{"remote_notification":{"notification":{"id":3}}}}"#, at: "fcm.message.android_v2"),
    RulePair(
      .androidKind, #"{"android_v2":{},"data":{}}"#, #"{"android_v2":{"background_sync":{}},"data":{}}"#,
      job: background),
    RulePair(.alertEmpty, data, hello, at: "fcm.message"),
    RulePair(.alertEmpty, "{}", data, rightJob: background),
    RulePair(.alertEmpty, #"{"notification":{"title":"","body":""}}"#, hello, at: "fcm.message.notification"),
    RulePair(.alertEmpty, #"{"notification":{"title":" ","body":"\u200b"}}"#, hello, at: "fcm.message.notification"),
    RulePair(
      .alertEmpty, #"{"android":{"notification":{"sound":"default"}}}"#,
      #"{"android":{"notification":{"titleLocKey":"k"}}}"#),
    RulePair(.backgroundEmpty, "{}", #"{"data":{}}"#, at: "fcm.message", job: background),
    RulePair(
      .backgroundEmpty, #"{"android":{}}"#, #"{"android":{}}"#, job: background,
      rightJob: background + #","uniqueKey":"push""#),
    RulePair(.backgroundVisible, hello, data, at: "fcm.message.notification", job: background),
    RulePair(.backgroundVisible, #"{"android":{"notification":{"title":"T"}}}"#, data, job: background),
    RulePair(
      .payloadSize, #"{"data":{"k":"\#(text(4096))"}}"#, #"{"data":{"k":"\#(text(4095))"},"webpush":{"data":{}}}"#,
      at: "fcm.message", job: background),
    RulePair(
      .payloadSize, #"{"notification":{"title":"\#(text(4065))"}}"#, #"{"notification":{"title":"\#(text(4064))"}}"#,
      at: "fcm.message"),
    RulePair(
      .payloadSize, #"{"notification":{"title":"{{a|\#(text(4065))}}"}}"#,
      #"{"notification":{"title":"{{a|\#(text(4065))}}"}}"#, job: "",
      rightJob: #","trim":"fcm.message.notification.title""#),
    RulePair(
      .payloadRoom, #"{"notification":{"title":"{{a}}\#(text(4000))"}}"#, #"{"notification":{"title":"{{a}}"}}"#,
      at: "fcm.message"),
    .android(.collapseIgnored, #""collapse_key":"k""#, #""notification":{"tag":"t"}"#, at: "collapse_key"),

    .more(.unknownField, #""notifications":{}"#, #""data":{}"#, at: "fcm.message.notifications"),
    .android(.unknownField, #""time_to_live":"1s""#, #""restrictedPackageName":"p""#, at: "time_to_live"),
    .shown(.unknownField, #""channel":"c""#, #""channelId":"c""#, at: "channel"),
    .more(.unknownField, #""apns":{"aps":{}}"#, #""apns":{"payload":{"aps":{}}}"#, at: "fcm.message.apns.aps"),
    .more(.unknownField, #""webpush":{"link":"https://a"}"#, #""webpush":{"notification":{"actions":[]}}"#),
    .more(.unknownField, #""fcm_options":{"label":"l"}"#, #""fcm_options":{}"#),
    RulePair(
      .unknownField, #"{"android_v2":{"priority":"HIGH","remote_notification":{}}}"#,
      #"{"android_v2":{"remote_notification":{"mutable_content":true}}}"#, at: "fcm.message.android_v2.priority"),
    RulePair(.wrongType, #"{"notification":"T"}"#, hello, at: "fcm.message.notification"),
    RulePair(.wrongType, #"{"notification":{"title":1}}"#, hello, at: "fcm.message.notification.title"),
    .shown(.wrongType, #""sticky":"true""#, #""sticky":true"#, at: "sticky"),
    .shown(.wrongType, #""notification_count":1.5"#, #""notification_count":2147483647"#, at: "notification_count"),
    .shown(.wrongType, #""vibrate_timings":"1s""#, #""vibrate_timings":["1s","0.5s"]"#, at: "vibrate_timings"),
    .more(.wrongType, #""apns":{"headers":{"apns-priority":5}}"#, #""apns":{"headers":{"apns-priority":"5"}}"#),
    .android(.unknownValue, #""priority":"high!""#, #""priority":"high""#, at: "priority"),
    .shown(.unknownValue, #""visibility":"public""#, #""visibility":"PUBLIC""#, at: "visibility"),
    .shown(.unknownValue, #""notification_priority":"MAX""#, #""notification_priority":"PRIORITY_MAX""#),
    .shown(.unknownValue, #""proxy":"NO""#, #""proxy":"DENY""#),
    .shown(
      .unknownValue, #""light_settings":{"color":{"red":2},"light_on_duration":"1s","light_off_duration":"1s"}"#,
      #""light_settings":{\#(light)}"#, at: "light_settings.color.red"),
    .more(.dataValue, #""data":{"n":42}"#, #""data":{"n":"42"}"#, at: "fcm.message.data.n"),
    .more(.dataValue, #""data":{"n":{"a":"b"}}"#, #""data":{"n":"{\"a\":\"b\"}"}"#),
    .android(.dataValue, #""data":{"n":true}"#, #""data":{"n":"true"}"#, at: "data.n"),
    .more(.dataKey, #""data":{"from":"f"}"#, #""data":{"sender":"f"}"#, at: "fcm.message.data.from"),
    RulePair(
      .dataKey, hello, hello, at: "uniqueKey", job: #","uniqueKey":"from""#, rightJob: #","uniqueKey":"push""#),
    RulePair(
      .dataKey, hello, hello, at: "campaignKey", job: #","campaignKey":"gcm.x""#, rightJob: #","campaignKey":"c""#),
    .more(.dataKey, #""data":{"message_type":"f"}"#, #""data":{"type":"f"}"#),
    .more(.dataKey, #""data":{"google.x":"f"}"#, #""data":{"my.google":"f"}"#),
    .android(.dataKey, #""data":{"gcm.notification.x":"f"}"#, #""data":{"x":"f"}"#),
    .android(.lifetime, #""ttl":"3600""#, #""ttl":"3600s""#, at: "ttl"),
    .android(.lifetime, #""ttl":"2419201s""#, #""ttl":"2419200s""#),
    .android(.lifetime, #""ttl":"-1s""#, #""ttl":"0s""#),
    .android(.wrongType, #""ttl":3600"#, #""ttl":"3.5s""#, at: "ttl"),
    .shown(.duration, #""vibrate_timings":["1"]"#, #""vibrate_timings":["1s"]"#, at: "vibrate_timings[0]"),
    .shown(.color, ##""color":"#ff880""##, ##""color":"#ff8800""##, at: "color"),
    .shown(.color, #""color":"red""#, ##""color":"#FF0000""##),
    .shown(.time, #""event_time":"tomorrow""#, #""event_time":"2026-12-01T09:00:00.123456789Z""#, at: "event_time"),
    .shown(.lightSettings, #""light_settings":{"color":{}}"#, #""light_settings":{\#(light)}"#, at: "light_settings"),
    .shown(
      .localizationArguments, #""body_loc_args":["a"]"#, #""body_loc_key":"k","body_loc_args":["a"]"#,
      at: "body_loc_args"),
    .more(
      .analyticsLabel, #""fcm_options":{"analytics_label":"a b"}"#, #""fcm_options":{"analytics_label":"a-b_c.d~e%"}"#,
      at: "fcm.message.fcm_options.analytics_label"),
    .android(
      .analyticsLabel, #""fcm_options":{"analytics_label":"\#(text(51))"}"#,
      #""fcm_options":{"analytics_label":"\#(text(50))"}"#),
    RulePair(
      .image, #"{"notification":{"image":"a.png"}}"#, #"{"notification":{"image":"https://a/b.png"}}"#,
      at: "fcm.message.notification.image"),
    .more(.null, #""data":null"#, #""data":{}"#, at: "fcm.message.data"),

    .more(
      .otherPlatform, #""apns":{"payload":{"aps":{"sound":"default"}}}"#, #""data":{"apns":"x"}"#,
      at: "fcm.message.apns"),
    .more(.otherPlatform, #""webpush":{"data":{"k":"v"}}"#, #""android":{}"#, at: "fcm.message.webpush"),
    RulePair(
      .appleData, #"{"data":{},"apns":{"payload":{"aps":{"content-available":1}}}}"#,
      #"{"data":{},"apns":{"headers":{"apns-priority":"5"},"payload":{"aps":{"content-available":1}}}}"#,
      at: "fcm.message.apns.headers", job: background),
    .more(
      .appleSize, #""apns":{"payload":{"aps":{"alert":"\#(text(4080))"}}}"#,
      #""apns":{"payload":{"aps":{"alert":"\#(text(4000))"}}}"#, at: "fcm.message.apns.payload"),
    .more(.webLifetime, #""webpush":{"headers":{"TTL":"1s"}}"#, #""webpush":{"headers":{"TTL":"60"}}"#),
    .more(
      .webLink, #""webpush":{"fcm_options":{"link":"http://a"}}"#, #""webpush":{"fcm_options":{"link":"https://a"}}"#),
  ]

  /// 2026-11-01.
  private static let now = 1_793_491_200

  private static func findings(_ payload: String, _ job: String) throws -> [Finding] {
    let id = #""id":"a","app":"news","audience":{"users":["ada"]}"#
    let own = job.contains(background) ? #","pushType":"background""# : ""
    let more = job.replacing(background, with: "")
    return try CampaignJob.examine(
      Array(#"{\#(id),"fcm":{"message":\#(payload)\#(own)}\#(more)}"#.utf8),
      .known(["news": [FCMService(project: "demo")]]), now: now
    ).findings
  }

  @Test(arguments: pairs)
  func ruleFindsTheWrongPushAndNotTheRightOne(pair: RulePair) throws {
    let found = try Self.findings(pair.wrong, pair.wrongJob)
    let hits = found.filter { $0.rule.id == pair.rule.rawValue }
    expect(!hits.isEmpty, "\(found)")
    if let path = pair.path { expect(hits.map(\.path).contains(path)) }
    let right = try Self.findings(pair.right, pair.rightJob)
    expect(!right.contains { $0.rule.id == pair.rule.rawValue }, "\(right)")
    expect(!right.contains { $0.rule.severity == .error }, "\(right)")
  }

  /// `lint` reports these rules, see ``lintFindsRepeatsAndJobErrors()``.
  private static let ofLint: Set<FCMRule> = [.duplicateKey, .job, .variantSame]

  @Test func tableHasARowForEachRule() {
    expect(Set(Self.pairs.map(\.rule)).union(Self.ofLint), is: Set(FCMRule.allCases))
    for rule in FCMRule.allCases { expect(!rule.summary.isEmpty && !rule.source.isEmpty) }
  }

  @Test func lintFindsRepeatsAndJobErrors() throws {
    func found(_ text: String) throws -> [String] {
      try FCMTools().lint(
        Array(text.utf8), resolved: nil, as: nil, app: nil, apps: .any([FCMService()]), now: nil
      ).findings.map(\.rule.id)
    }
    expect(try found(#"{"data":{"a":"1","a":"2"}}"#), is: ["duplicate-key"])
    expect(
      try found(#"{"id":"a","app":"n","audience":{},"fcm":{"message":{"notification":{"title":"T"}}}}"#), is: ["job"])
    expect(
      try found(
        #"{"id":"a","app":"n","audience":{"users":["u"]},"fcm":{"message":{"notification":{"title":"T"}}},"#
          + #""variants":[{"name":"x"},{"name":"y"}]}"#), is: ["variant-same"])
    expect(try found(#"{"fcm":{"message":{"data":{"a":1}}}}"#), is: ["data-value"])
    expect(try found(Self.hello), is: [])
  }

  /// `message` has an error, so the push can't be rendered. `fcm.message` alone has no notification text, but that must
  /// not be reported as a second error.
  @Test(arguments: [
    (#""message":{"body":"B","data":{"u":"1"}},"uniqueKey":"u""#, "uniqueKey"),
    (#""message":{"body":"B","link":"no URL"}"#, "message.link"), (#""message":{"body":"B"},"trim":"x""#, "trim"),
  ])
  func errorOfTheMessageHasNoFalseSecondOne(fields: String, place: String) throws {
    let job =
      #"{"id":"a","app":"n","audience":{"users":["u"]},"fcm":{"message":{"android":{"notification":{"tag":"t"}}}},"#
      + fields + "}"
    let lint = try FCMTools().lint(
      Array(job.utf8), resolved: nil, as: nil, app: nil, apps: .any([FCMService()]), now: nil)
    expect(lint.findings.map(\.path), is: [place], "\(lint.findings)")
  }

  @Test(arguments: [("{}", "add a title or body"), (#"{"data":{"k":"v"}}"#, "set fcm.pushType to background")])
  func emptyAlertGetsTheRemedyThatHelps(payload: String, hint: String) throws {
    let finding = try #require(try Self.findings(payload, "").first { $0.rule.id == "alert-empty" })
    expect(finding.hint?.contains(hint), is: true)
  }

  @Test func lintReportsAllMovedFields() throws {
    let fields = #""payload":{},"pushType":"alert","variants":[{"name":"a","payload":{}},{"name":"b"}]"#
    let job = #"{"id":"a","app":"n","audience":{"users":["u"]},\#(fields)}"#
    let lint = try FCMTools().lint(
      Array(job.utf8), resolved: nil, as: nil, app: nil, apps: .any([FCMService()]), now: nil)
    expect(lint.findings.map(\.path), is: ["payload", "pushType", "variants[0].payload"])
  }

  /// A shortened text fills the space up to the limit. Its size is not that of an empty text.
  @Test(arguments: [(10, 42), (5000, 4096)])
  func sizeOfATextThatMayBeShortenedIsThatOfThePush(length: Int, bytes: Int) throws {
    let job =
      #"{"id":"a","app":"n","audience":{"users":["u"]},"message":{"body":"\#(Self.text(length))"},"#
      + #""trim":"message.body"}"#
    let lint = try FCMTools().lint(
      Array(job.utf8), resolved: nil, as: nil, app: nil, apps: .any([FCMService()]), now: nil)
    expect(lint.sizes.map(\.bytes) == [bytes] && lint.findings.isEmpty, "\(lint)")
  }

  @Test func lintInfersThePushTypeAndMeasuresTheMessage() throws {
    let lint = try FCMTools().lint(
      Array(#"{"data":{"key":"value"}}"#.utf8), resolved: nil, as: nil, app: nil, apps: .any([FCMService()]), now: nil)
    expect(lint.pushType == "background" && lint.isInferred)
    expect(lint.sizes, is: [.init(name: "background", bytes: 8, limit: 4096)])
  }

  /// A rule that refuses a message would be useless if the composer sent it, and the other way round.
  @Test func ruleAndComposerAgreeOnTheSize() throws {
    for length in 4060...4070 {
      let payload = #"{"notification":{"title":"\#(Self.text(length))"}}"#
      let isRefused = try Self.findings(payload, "").contains { $0.rule.id == FCMRule.payloadSize.rawValue }
      let service = FCMService(project: "demo")
      let campaign = Campaign(id: "a", app: "news", audience: .users([]), payload: Array(payload.utf8))
      let composer = service.composer(for: campaign, expiration: nil)
      var batch = composer.batch(isUnproven: false, capacity: 1, now: 0)
      let fits = batch.append(Array("c:token".utf8)[...], tag: 0, by: composer)
      expect(fits != isRefused)
    }
  }
}
