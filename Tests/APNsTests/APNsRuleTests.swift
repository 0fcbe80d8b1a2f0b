import APNs
import PushCore
import ServiceTools
import TestKit
import TestSupport
import Testing

/// Returns the rules that a job for this app breaks, errors and warnings.
private func broken(
  _ changes: [String: String], app: AppTraits = AppTraits(topic: "com.example.news"), now: Int? = nil
) throws -> [APNsRule] {
  try CampaignJob.examine(Array(job(changes).utf8), .known(["news": [APNsService(app)]]), now: now).findings
    .compactMap { APNsRule(rawValue: $0.rule.id) }
}

/// A push that breaks a rule: the rule, the changes to a valid job, and the app.
struct BrokenPush: Sendable, CustomTestStringConvertible {
  var rule: APNsRule
  var changes: [String: String]
  var app = AppTraits(topic: "com.example.news")

  init(_ rule: APNsRule, _ payload: String, as type: PushType = .alert, _ more: [String: String] = [:]) {
    self.rule = rule
    changes = more.merging(["payload": payload, "pushType": "\"\(type.rawValue)\""]) { $1 }
  }

  func with(_ app: AppTraits) -> BrokenPush {
    var other = self
    other.app = app
    return other
  }

  var testDescription: String { "\(rule.rawValue) \(changes)" }
}

private let hello = #"{"aps":{"alert":"hi"}}"#
private let activity = #"{"aps":{"timestamp":1700000000,"event":"update","content-state":{"n":1}}}"#
private let long = String(repeating: "x", count: 5200)

@Suite("Rules for pushes")
struct APNsRuleTests {
  // MARK: Refused combinations

  /// Combinations of sections 4.2, 4.5, 6.1 to 6.4 and 6.6 of the reference.
  static let refused: [BrokenPush] = [
    BrokenPush(.backgroundPriority, #"{"aps":{"content-available":1}}"#, as: .background, ["priority": "10"]),
    BrokenPush(.backgroundVisible, #"{"aps":{"content-available":1,"alert":"hi"}}"#, as: .background),
    BrokenPush(.backgroundVisible, #"{"aps":{"content-available":1,"badge":0}}"#, as: .background),
    BrokenPush(.backgroundVisible, #"{"aps":{"content-available":1,"sound":"x"}}"#, as: .background),
    BrokenPush(.backgroundSilent, #"{"aps":{}}"#, as: .background),
    BrokenPush(.backgroundSilent, #"{"k":1}"#, as: .background),
    BrokenPush(.backgroundSilent, #"{"aps":{"content-available":0}}"#, as: .background),
    BrokenPush(.alertSilent, #"{"aps":{"content-available":1}}"#),
    BrokenPush(.alertSilent, #"{"aps":{"content-available":1,"category":"c"},"k":1}"#, ["priority": "5"]),
    BrokenPush(.contentChanged, #"{"aps":{}}"#, as: .widgets),
    BrokenPush(.contentChanged, #"{}"#, as: .controls),
    BrokenPush(.apsType, #"{"aps":{"content-changed":1}}"#, as: .controls),
    BrokenPush(.managementPayload, #"{"aps":{"alert":"hi"}}"#, as: .mdm),
    BrokenPush(.managementPayload, #"{"mdm":"magic","aps":{}}"#, as: .mdm),
    BrokenPush(.managementPayload, #"{"mdm":7}"#, as: .mdm),
    BrokenPush(.activityEvent, #"{"aps":{"timestamp":1,"content-state":{}}}"#, as: .liveactivity),
    BrokenPush(
      .activityTimestamp, #"{"aps":{"event":"update","content-state":{}}}"#, as: .liveactivity,
      ["localTime": "true", "sendAt": "\"2026-12-01T09:00:00\""]),
    BrokenPush(.apsRange, #"{"aps":{"timestamp":1,"event":"stop","content-state":{}}}"#, as: .liveactivity),
    BrokenPush(.activityUpdate, #"{"aps":{"timestamp":1,"event":"update"}}"#, as: .liveactivity),
    BrokenPush(
      .activityStart,
      #"{"aps":{"timestamp":1,"event":"start","attributes-type":"A","attributes":{},"content-state":{}}}"#,
      as: .liveactivity),
    BrokenPush(
      .activityStart, #"{"aps":{"timestamp":1,"event":"start","attributes":{},"content-state":{},"alert":"a"}}"#,
      as: .liveactivity),
    BrokenPush(
      .activitySeconds, #"{"aps":{"timestamp":1700000000000,"event":"update","content-state":{}}}"#, as: .liveactivity),
    BrokenPush(.payloadSize, #"{"aps":{"alert":"\#(long)"}}"#, as: .voip),
    BrokenPush(.collapseSize, hello, ["collapseId": "\"\(String(repeating: "é", count: 33))\""]),
    BrokenPush(.apsType, #"{"aps":"hi"}"#),
    BrokenPush(.tokenOnly, "{}", as: .location).with(certificate()),
    BrokenPush(.tokenOnly, activity, as: .liveactivity).with(certificate()),
    BrokenPush(.tokenOnly, #"{"aps":{"content-changed":true}}"#, as: .widgets).with(certificate()),
    BrokenPush(.tokenOnly, #"{"aps":{"content-changed":true}}"#, as: .controls).with(certificate()),
    BrokenPush(.certificateTopic, "{}", as: .voip).with(certificate("com.example.news")),
    BrokenPush(.topicSuffix, hello).with(AppTraits(topic: "com.example.news.push-type.liveactivity")),
    BrokenPush(.topicSuffix, "{}", as: .voip).with(AppTraits(topic: "com.example.news.voip-ptt")),
    BrokenPush(.topicSuffix, activity, as: .liveactivity)
      .with(AppTraits(topic: "com.example.news", isTopicExact: true)),
    BrokenPush(.topicType, "{}", as: .voip).with(AppTraits(topic: "pass.com.example.card")),
    BrokenPush(.topicType, #"{"aps":{"content-available":1}}"#, as: .background)
      .with(AppTraits(topic: "web.com.example")),
    BrokenPush(.walletPayload, hello).with(AppTraits(topic: "pass.com.example.card")),
    BrokenPush(.websitePayload, hello).with(AppTraits(topic: "web.com.example")),
    BrokenPush(.websitePayload, #"{"aps":{"alert":{"title":"t","body":"b"}}}"#)
      .with(AppTraits(topic: "web.com.example")),
    BrokenPush(.websitePayload, #"{"aps":{"alert":{"title":"t"},"url-args":[]}}"#)
      .with(AppTraits(topic: "web.com.example")),
  ]

  private static func certificate(_ topics: String...) -> AppTraits {
    AppTraits(topic: "com.example.news", authentication: .certificate(topics: Set(topics)))
  }

  /// Pushes that show nothing or the wrong content on a device.
  static let unmeant: [BrokenPush] =
    [
      #"{"aps":{}}"#, #"{"k":1}"#, #"{"aps":{"alert":""}}"#, #"{"aps":{"alert":{"title":""}}}"#,
      #"{"aps":{"alert":null}}"#, #"{"aps":{"alert":" \n"}}"#, #"{"aps":{"alert":{"title":"\u200b","body":"\u00a0"}}}"#,
      #"{"aps":{"mutable-content":1,"category":"c"}}"#, #"{"alert":"a"}"#,
    ].map { BrokenPush(.alertEmpty, $0) }
    + [
      #"{"aps":{"alert":"a","bagde":1}}"#, #"{"aps":{"alert":"a","title":"t"}}"#, #"{"aps":{"alert":{"titel":"t"}}}"#,
      #"{"aps":{"alert":{"body":"a","badge":1}}}"#, #"{"aps":{"alert":"a","content_available":1}}"#,
      #"{"aps":{"alert":"a","mutable_content":1}}"#, #"{"aps":{"alert":"a","mutableContent":1}}"#,
      #"{"aps":{"alert":"a","Sound":"default"}}"#, #"{"aps":{"alert":{"body":"a","title_loc_key":"k"}}}"#,
    ].map { BrokenPush(.apsUnknown, $0) }
    + [
      #"{"aps":{"alert":"a"},"content_available":1}"#, #"{"aps":{"alert":"a"},"mutable_content":1}"#,
      #"{"aps":{"alert":"a"},"content-available":1}"#, #"{"aps":{"alert":"a"},"contentAvailable":true}"#,
      #"{"aps":{"alert":"a"},"thread_id":"t"}"#, #"{"APS":{"alert":"a"}}"#,
      #"{"Aps":{"alert":"a"},"aps":{"alert":"a"}}"#,
    ].map { BrokenPush(.apsOutside, $0) }
    + [
      BrokenPush(.apsUnknown, #"{"aps":{"content-available":1,"content_available":1}}"#, as: .background),
      BrokenPush(.apsOutside, #"{"aps":{"content-available":1},"content_available":1}"#, as: .background),
      BrokenPush(
        .apsUnknown, #"{"aps":{"timestamp":1700000000,"event":"update","content-state":{},"content_state":{}}}"#,
        as: .liveactivity),
    ]

  @Test("a push that shows nothing, or has a misspelt key, is refused", arguments: unmeant)
  func refusesWhatCannotBeMeant(_ push: BrokenPush) throws { try refusesBadCombinations(push) }

  @Test(
    "a message names the right spelling",
    arguments: [
      (#"{"aps":{"alert":"a","content_available":1}}"#, "apns.payload.aps.content_available", "content-available"),
      (#"{"aps":{"alert":"a"},"mutable_content":1}"#, "apns.payload.mutable_content", "aps.mutable-content"),
      (#"{"aps":{"alert":"a","title":"t"}}"#, "apns.payload.aps.title", "it belongs in aps.alert"),
      (#"{"aps":{"alert":"a","bagde":1}}"#, "apns.payload.aps.bagde", "badge"),
      (#"{"message":{"token":"t"}}"#, "apns.payload.message", #"{"aps": {"alert""#),
    ])
  func namesTheRightSpelling(payload: String, path: String, says: String) {
    let error = #expect(throws: JobError.self) {
      try CampaignJob.parse(
        Array(job(["payload": payload]).utf8), .known(["news": [APNsService(AppTraits(topic: "com.example.news"))]]))
    }
    expect(error?.field == path && error?.hint?.contains(says) == true, "\(error?.description ?? "")")
  }

  /// Complete requests from the documentation of other products.
  static let foreign: [BrokenPush] = [
    #"{"message":{"token":"t","notification":{"title":"T","body":"B"}}}"#,
    #"{"validate_only":false,"message":{"topic":"news","data":{"a":"b"}}}"#,
    #"{"message":{"token":"t","apns":{"payload":{"aps":{"alert":"a"}}}}}"#,
    #"{"to":"/topics/news","notification":{"title":"T"}}"#, #"{"registration_ids":["t"],"data":{"a":"b"}}"#,
    #"{"app_id":"a","contents":{"en":"B"},"included_segments":["All"]}"#,
    #"{"app_id":"a","include_aliases":{"external_id":["u"]},"template_id":"t"}"#,
    #"{"notifications":[{"tokens":["t"],"platform":1,"message":"B"}]}"#,
    #"{"tokens":["t"],"platform":1,"message":"B"}"#,
    #"{"to":"ExponentPushToken[x]","title":"T","body":"B"}"#,
    #"{"audience":"all","notification":{"alert":"a"},"device_types":["ios"]}"#,
    #"{"default":"a","APNS":"{\"aps\":{\"alert\":\"a\"}}"}"#,
    #"{"interests":["i"],"apns":{"aps":{"alert":"a"}}}"#, #"{"messages":{"apple_push":{"alert":"a"}}}"#,
    #"{"where":{"a":1},"data":{"alert":"a"}}"#, #"{"notification":{"title":"T","body":"B"}}"#,
    #"{"apns":{"payload":{"aps":{"alert":"a"}}}}"#,
  ].map { BrokenPush(.foreignRequest, $0) }

  @Test("a request in the format of another product is not a payload", arguments: foreign)
  func refusesForeignRequests(_ push: BrokenPush) throws { try refusesBadCombinations(push) }

  @Test("names of other products beside aps are custom keys of the app")
  func allowsNamesOfOtherProducts() throws {
    for own in [
      #""message":{"token":"t","topic":"x"}"#, #""to":"ada","data":{"a":1},"notification":{"title":"T"}"#,
      #""notifications":[{"to":"ada"}]"#, #""app_id":"a","contents":{}"#, #""apns":{"aps":{}}"#,
    ] {
      let found = try broken(["payload": #"{"aps":{"alert":"a"},\#(own)}"#])
      expect(found.isEmpty, "\(own) \(found)")
    }
  }

  @Test("a job with an invalid combination is refused with the rule and its source", arguments: refused)
  func refusesBadCombinations(_ push: BrokenPush) throws {
    expect(push.rule.severity, is: .error)
    let text = job(push.changes)
    expect(try broken(push.changes, app: push.app).contains(push.rule))
    let error = #expect(throws: JobError.self) {
      try CampaignJob.parse(Array(text.utf8), .known(["news": [APNsService(push.app)]]))
    }
    let names = "rule \(push.rule.rawValue): \(push.rule.source)"
    expect(error?.hint?.contains(names), is: true, "\(error?.description ?? "")")
  }

  // MARK: Warnings

  static let doubtful: [BrokenPush] = [
    BrokenPush(.payloadRoom, #"{"aps":{"alert":"{{a}}{{b}}{{c}}{{d}}"}}"#),
    BrokenPush(.apsFlag, #"{"aps":{"content-available":true}}"#, as: .background),
    BrokenPush(.apsFlag, #"{"aps":{"alert":"a","mutable-content":0}}"#),
    BrokenPush(.apsCustom, #"{"aps":{"alert":"a","sound":{"critical":1,"loudness":1}}}"#),
    BrokenPush(.apsCustom, #"{"aps":{"alert":{"body":"a","image":"i"}}}"#),
    BrokenPush(.apsCustom, #"{"aps":{"alert":"a","campaign-number":1}}"#),
    BrokenPush(.apsBeside, #"{"aps":{"alert":"a"},"badge":1}"#),
    BrokenPush(.headerInside, #"{"aps":{"alert":"a"},"apns-priority":5}"#),
    BrokenPush(.deprecated, #"{"aps":{"alert":{"body":"a","summary-arg":"s"}}}"#),
    BrokenPush(.deprecated, #"{"aps":{"alert":{"body":"a","summary-arg-count":2}}}"#),
    BrokenPush(.deprecated, #"{"aps":{"alert":{"body":"a","action-loc-key":"k"}}}"#),
    BrokenPush(.deprecated, #"{"aps":{"alert":{"body":"a","action":"k"}}}"#),
    BrokenPush(.mutableWithoutAlert, #"{"aps":{"badge":1,"mutable-content":1}}"#),
    BrokenPush(.localizationTwice, #"{"aps":{"alert":{"body":"a","loc-key":"k"}}}"#),
    BrokenPush(.localizationArguments, #"{"aps":{"alert":{"title":"t","title-loc-args":["x"]}}}"#),
    BrokenPush(.null, #"{"aps":{"alert":"a","badge":null}}"#),
    BrokenPush(.null, #"{"aps":{"alert":"a"},"k":{"l":[null]}}"#),
    BrokenPush(.keyOfOtherType, #"{"aps":{"alert":"a","event":"update"}}"#),
    BrokenPush(.keyOfOtherType, #"{"aps":{"alert":"a","content-changed":true}}"#),
    BrokenPush(.keyOfOtherType, #"{"aps":{"alert":"a","url-args":[]}}"#),
    BrokenPush(.activityEnd, #"{"aps":{"timestamp":1,"event":"end"}}"#, as: .liveactivity),
    BrokenPush(
      .activityDates, #"{"aps":{"event":"end","content-state":{},"dismissal-date":"5h"}}"#, as: .liveactivity),
    BrokenPush(.activityPriority, activity, as: .liveactivity, ["priority": "1"]),
    BrokenPush(
      .activitySound, #"{"aps":{"timestamp":1,"event":"update","content-state":{},"sound":"x"}}"#, as: .liveactivity),
    BrokenPush(
      .activityInput, #"{"aps":{"timestamp":1,"event":"update","content-state":{},"input-push-token":1}}"#,
      as: .liveactivity),
    BrokenPush(.deliveryHabit, "{}", as: .voip, ["expiration": "\"4h\""]),
    BrokenPush(.deliveryHabit, "{}", as: .pushtotalk, ["priority": "5"]),
    BrokenPush(.deliveryHabit, "{}", as: .pushtotalk, ["expiration": "\"4h\""]),
    BrokenPush(.expirationLong, hello, ["expiration": "\"31d\""]),
    BrokenPush(.managementTopic, #"{"mdm":"magic"}"#, as: .mdm),
    BrokenPush(.topicLooksSuffixed, hello).with(AppTraits(topic: "com.example.voip")),
  ]

  @Test("a warning does not prevent the push", arguments: doubtful)
  func warnsOfDoubts(_ push: BrokenPush) throws {
    expect(push.rule.severity, is: .warning)
    expect(try broken(push.changes, app: push.app).contains(push.rule))
    _ = try CampaignJob.parse(Array(job(push.changes).utf8), .known(["news": [APNsService(push.app)]]))
  }

  // MARK: Broadcasts

  private func broadcast(_ payload: String, _ more: [String: String] = [:]) throws -> [APNsRule] {
    let job = ["audience": #"{"channel":"a+b="}"#, "pushType": "\"liveactivity\"", "payload": payload]
    return try broken(job.merging(more) { $1 })
  }

  @Test("a broadcast updates or ends activities, with its own headers and up to 5,120 bytes")
  func broadcasts() throws {
    expect(try broadcast(activity), is: [])
    expect(try broadcast(activity, ["pushType": "\"alert\""]).contains(.broadcastType))
    expect(try broadcast(activity, ["collapseId": "\"c\""]), is: [.broadcastCollapse])
    expect(try broadcast(activity, ["expiration": "\"4h\""]), is: [.broadcastStorage])
    let start = #"{"aps":{"timestamp":1,"event":"start","attributes-type":"A","content-state":{},"alert":"a"}}"#
    expect(try broadcast(start), is: [.broadcastStart])
    let head = #"{"aps":{"timestamp":1,"event":"update","content-state":{}},"k":""#
    let filled = { (size: Int) in head + String(repeating: "x", count: size - head.utf8.count - 2) + "\"}" }
    expect(try broadcast(filled(5120)), is: [])
    expect(try broadcast(filled(5121)), is: [.payloadSize])
    // A broadcast needs no token, and its topic is the bundle id.
    let certificate = AppTraits(topic: "com.example.news", authentication: .certificate(topics: ["com.example.news"]))
    let changes = ["audience": #"{"channel":"a"}"#, "pushType": "\"liveactivity\"", "payload": activity]
    expect(try broken(changes, app: certificate), is: [])
    let campaign = try CampaignJob.parse(Array(job(changes).utf8), .any([APNsService()]))
    expect(
      campaign.recipients.audience == .channel("a") && campaign.channel == "a"
        && campaign.message.expiration == .immediate)
    expect(APNsService(AppTraits(topic: "a.b")).headers(of: campaign, expiration: nil).topic, is: "a.b")
    expect(
      APNsService(AppTraits(topic: "a.b.push-type.liveactivity")).headers(of: campaign, expiration: nil).topic,
      is: "a.b")
  }

  @Test("a single test broadcast is checked as a broadcast")
  func broadcastAlone() throws {
    let changes = ["audience": #"{"channel":"a"}"#, "pushType": "\"liveactivity\"", "payload": activity]
    let alone = try CampaignJob.forSingleDevice(
      Array(job(changes).utf8), token: "61", of: "", suffix: "poison", for: APNsService())
    expect(try CampaignJob.parse(alone, .any([APNsService()])).recipients.audience, is: .channel("a"))
  }

  // MARK: Valid pushes

  /// Valid pushes of section 6.6 and of the other sections of the reference.
  static let sound: [BrokenPush] = [
    BrokenPush(.alertEmpty, #"{"aps":{"alert":{"title":"T","body":"B"},"sound":"default","badge":1}}"#),
    BrokenPush(.payloadRoom, #"{"aps":{"alert":"{{a}}{{b}}{{c}}"}}"#),
    BrokenPush(
      .payloadRoom, #"{"aps":{"alert":"{{a}}{{b}}{{c}}{{d}}"}}"#, as: .alert, ["trim": "\"apns.payload.aps.alert\""]),
    BrokenPush(.alertSilent, #"{"aps":{"alert":"a","content-available":1,"mutable-content":1},"k":{"alert":1}}"#),
    BrokenPush(
      .apsRange, #"{"aps":{"alert":"a","sound":{"critical":1,"name":"x","volume":0.5},"relevance-score":1}}"#),
    BrokenPush(
      .apsRange,
      #"{"aps":{"alert":{"loc-key":"k","loc-args":["1"]},"interruption-level":"time-sensitive","thread-id":"t"}}"#),
    BrokenPush(.backgroundSilent, #"{"aps":{"content-available":1},"k":"v"}"#, as: .background),
    BrokenPush(.deliveryHabit, #"{"handle":"h","callUUID":"u","sound":"x"}"#, as: .voip),
    BrokenPush(.deliveryHabit, "{}", as: .voip, ["expiration": "\"5s\""]),
    BrokenPush(.deliveryHabit, #"{"activeSpeaker":"s"}"#, as: .pushtotalk),
    BrokenPush(.contentChanged, #"{"aps":{"content-changed":true}}"#, as: .widgets),
    BrokenPush(.contentChanged, #"{"aps":{"content-changed":true}}"#, as: .controls),
    BrokenPush(.tokenOnly, "{}", as: .location), BrokenPush(.tokenOnly, "{}", as: .complication),
    BrokenPush(.tokenOnly, "{}", as: .fileprovider),
    BrokenPush(.managementPayload, #"{"mdm":"magic"}"#, as: .mdm)
      .with(AppTraits(topic: "com.apple.mgmt.External.1")),
    BrokenPush(.walletPayload, "{}").with(AppTraits(topic: "pass.com.example.card")),
    BrokenPush(
      .websitePayload, #"{"aps":{"alert":{"title":"t","body":"b","action":"Go"},"url-args":["a"]}}"#
    )
    .with(AppTraits(topic: "web.com.example")),
    BrokenPush(.activityEvent, activity, as: .liveactivity, ["priority": "5"]),
    BrokenPush(
      .activityStart,
      #"""
      {"aps":{"timestamp":1700000000,"event":"start","attributes-type":"A","attributes":{"a":1},
      "content-state":{"n":1},"input-push-token":1,"relevance-score":75.5,"stale-date":1700003600,
      "alert":{"title":{"loc-key":"T","loc-args":["1"]},"body":"b","sound":"x.caf"}}}
      """#, as: .liveactivity),
    BrokenPush(
      .activityEnd, #"{"aps":{"timestamp":1,"event":"end","content-state":{},"dismissal-date":1}}"#, as: .liveactivity),
    BrokenPush(.certificateTopic, "{}", as: .voip)
      .with(AppTraits(topic: "com.example.news", authentication: .certificate(topics: ["com.example.news.voip"]))),
    BrokenPush(.topicSuffix, "{}", as: .voip).with(AppTraits(topic: "com.example.news.voip")),
    BrokenPush(.topicSuffix, "{}", as: .pushtotalk).with(AppTraits(topic: "com.example.news.voip-ptt")),
  ]

  @Test("the examples of Apple's documentation break no rule", arguments: sound)
  func findsNothingInGoodPushes(_ push: BrokenPush) throws {
    expect(try broken(push.changes, app: push.app), is: [])
  }

  // MARK: Keys of `aps`

  static let wrongTypes: [(key: String, value: String, path: String, says: String)] = [
    ("alert", "7", "apns.payload.aps.alert", "must be a string or an object, not a number"),
    ("alert", "[]", "apns.payload.aps.alert", "must be a string or an object, not an array"),
    ("badge", "\"1\"", "apns.payload.aps.badge", "must be a number, not a string"),
    ("badge", "-1", "apns.payload.aps.badge", "-1 is not a badge count"),
    ("badge", "1.5", "apns.payload.aps.badge", "1.5 is not a badge count"),
    ("sound", "true", "apns.payload.aps.sound", "must be a string or an object, not a boolean"),
    ("sound", #"{"volume":1.1}"#, "apns.payload.aps.sound.volume", "1.1 is out of range"),
    ("sound", #"{"name":1}"#, "apns.payload.aps.sound.name", "must be a string"),
    ("thread-id", "1", "apns.payload.aps.thread-id", "must be a string"),
    ("category", "[]", "apns.payload.aps.category", "must be a string"),
    ("content-available", "\"1\"", "apns.payload.aps.content-available", "must be the number 1, not a string"),
    ("mutable-content", "2", "apns.payload.aps.mutable-content", "must be the number 1"),
    ("target-content-id", "1", "apns.payload.aps.target-content-id", "must be a string"),
    ("filter-criteria", "{}", "apns.payload.aps.filter-criteria", "must be a string"),
    ("interruption-level", "\"urgent\"", "apns.payload.aps.interruption-level", "unknown value 'urgent'"),
    (
      "interruption-level", "\"time_sensitive\"", "apns.payload.aps.interruption-level",
      "did you mean 'time-sensitive'?"
    ),
    ("relevance-score", "2", "apns.payload.aps.relevance-score", "a number from 0 to 1"),
    ("relevance-score", "\"1\"", "apns.payload.aps.relevance-score", "remove the quotes"),
    ("alert", #"{"title":1}"#, "apns.payload.aps.alert.title", "must be a string, not a number"),
    ("alert", #"{"title":{"loc-key":"k"}}"#, "apns.payload.aps.alert.title", "must be a string, not an object"),
    ("alert", #"{"loc-key":"k","loc-args":["a",1]}"#, "apns.payload.aps.alert.loc-args[1]", "put it in quotes"),
    (
      "alert", #"{"loc-key":"k","loc-args":"a"}"#, "apns.payload.aps.alert.loc-args",
      "an array of strings, not a string"
    ),
    ("url-args", "\"a\"", "apns.payload.aps.url-args", "an array of strings"),
  ]

  @Test("types and ranges of Apple's keys", arguments: wrongTypes)
  func typesAndRanges(key: String, value: String, path: String, says: String) {
    let error = #expect(throws: JobError.self) {
      try CampaignJob.parse(
        Array(job(["payload": #"{"aps":{"alert":"a"}}"#.replacing(#""alert":"a""#, with: "\"\(key)\":\(value)")]).utf8),
        .any([APNsService()]))
    }
    expect(error?.field, is: path)
    expect(error?.description.contains(says), is: true, "\(error?.description ?? "")")
  }

  // MARK: Defaults

  @Test("headers without a value in the job follow from the push type")
  func defaults() throws {
    let payloads: [PushType: String] = [
      .alert: hello, .background: #"{"aps":{"content-available":1}}"#, .liveactivity: activity, .mdm: #"{"mdm":"m"}"#,
      .widgets: #"{"aps":{"content-changed":true}}"#, .controls: #"{"aps":{"content-changed":true}}"#,
    ]
    let topics: [PushType: String] = [
      .alert: "a.b", .background: "a.b", .mdm: "a.b", .voip: "a.b.voip", .complication: "a.b.complication",
      .fileprovider: "a.b.pushkit.fileprovider", .location: "a.b.location-query",
      .liveactivity: "a.b.push-type.liveactivity", .pushtotalk: "a.b.voip-ptt", .controls: "a.b.push-type.controls",
      .widgets: "a.b.push-type.widgets",
    ]
    for type in PushType.allCases {
      let campaign = try CampaignJob.parse(
        Array(job(["pushType": "\"\(type.rawValue)\"", "payload": payloads[type] ?? "{}"]).utf8), .any([APNsService()]))
      expect(campaign.message.priority, is: type == .background ? 5 : 10)
      expect(campaign.message.expiration, is: type == .voip || type == .pushtotalk ? .immediate : .unset)
      expect(APNsService(AppTraits(topic: "a.b")).headers(of: campaign, expiration: nil).topic, is: topics[type])
      // A configured topic that already has its suffix gets no second one.
      expect(
        APNsService(AppTraits(topic: topics[type] ?? "")).headers(of: campaign, expiration: nil).topic, is: topics[type]
      )
      expect(type.maximumPayload, is: type == .voip ? 5120 : 4096)
    }
  }

  @Test("an expiration that has passed is an error where the time is known")
  func expirationInThePast() throws {
    let changes = ["expiration": "\"2026-01-01T00:00:00Z\"", "payload": hello]
    expect(try broken(changes, now: 1_800_000_000), is: [.expirationPast])
    expect(APNsRule.expirationPast.severity, is: .error)
    expect(try broken(changes, now: 1_767_000_000), is: [])
    expect(try broken(changes), is: [])
  }

  @Test("every rule has an id, a sentence and a source, and a test breaks it")
  func tableIsComplete() {
    for rule in APNsRule.allCases {
      expect(rule.rawValue.allSatisfy { $0.isLowercase || $0 == "-" })
      expect(rule.summary.hasSuffix("."))
      expect(!rule.source.isEmpty)
    }
    let elsewhere: Set<APNsRule> = [
      .expirationPast, .activityData, .duplicateKey, .variantSame, .legacy, .job, .broadcastType, .broadcastStart,
      .broadcastCollapse, .broadcastStorage,
    ]
    let here = Set((Self.refused + Self.unmeant + Self.foreign + Self.doubtful).map(\.rule))
    expect(Set(APNsRule.allCases).subtracting(here), is: elsewhere)
  }
}
