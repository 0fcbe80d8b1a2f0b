import APNs
import PushCore
import TestKit
import TestSupport
import Testing

func parse(_ text: String) throws(JobError) -> Campaign {
  try CampaignJob.parse(
    Array(text.utf8),
    .known([
      "news": [APNsService(AppTraits(topic: "com.example.news"))],
      "shop": [APNsService(AppTraits(topic: "com.example.shop"))],
    ]))
}

struct CampaignJobTests {
  @Test func fillsInTheDefaults() throws {
    var expected = Campaign(
      id: "c1", app: "news", audience: .segment(AudienceExpression(root: .allUsers)),
      payload: Array("{\"aps\":{\"alert\":\"hi\"}}".utf8), pushType: "alert", priority: 10, expiration: .unset,
      collapseID: nil,
      lane: .normal, results: .failures, ambiguity: .resend, timeToLive: 604_800)
    expected.legs = [CampaignLeg(service: "apns")]
    expected.message.place = "apns.payload"
    expect(try parse(job()), is: expected)
  }

  @Test func readsEveryField() throws {
    let campaign = try parse(
      #"""
      { "id": "spring-sale_2026.1", "app": "shop", "audience": { "users": ["zoë", "7", "zoë"] },
        "apns": { "payload": { "aps" : { "alert" : "H\u00e9  llo" }, "n": 1.50 }, "pushType": "voip", "priority": 5 },
        "expiration": "4h", "collapseId": "sale é", "lane": "urgent",
        "sendAt": "2026-12-01T10:00:00.250+01:00", "results": "all", "ambiguity": "skip", "ttl": "2d" }
      """#)
    expect(campaign.id, is: "spring-sale_2026.1")
    expect(campaign.app, is: "shop")
    expect(campaign.recipients.audience, is: .users(["zoë", "7"]))
    expect(String(decoding: campaign.message.payload, as: UTF8.self), is: #"{"aps":{"alert":"H\u00e9  llo"},"n":1.50}"#)
    expect(campaign.message.pushType, is: "voip")
    expect(campaign.message.priority, is: 5)
    expect(campaign.message.expiration, is: .after(seconds: 14400))
    expect(campaign.message.collapseID, is: "sale é")
    expect(campaign.delivery.lane, is: .urgent)
    expect(campaign.delivery.sendAt, is: 1_796_115_600_250)
    expect(campaign.results, is: .all)
    expect(campaign.delivery.ambiguity, is: .skip)
    expect(campaign.timeToLive, is: 172_800)
  }

  @Test(arguments: [
    ("0", Expiration.immediate), ("\"0\"", .immediate), ("\"90s\"", .after(seconds: 90)),
    ("\"2026-12-01T09:00:00.9Z\"", .at(seconds: 1_796_115_600)), ("null", .unset),
  ])
  func readsExpirations(json: String, expiration: Expiration) throws {
    expect(try parse(job(["expiration": json])).message.expiration, is: expiration)
  }

  @Test func earlierCampaignsAndExclusionsAreRead() throws {
    let plain = try parse(job(["audience": #"{"campaign":"old"}"#]))
    expect(plain.recipients.audience, is: .campaign(EarlierAudience(campaign: "old", outcomes: [.unknown, .accepted])))
    expect(plain.earlier == ["old"] && plain.suppression == [SuppressionList(app: "news")])
    let unopened = try parse(job(["audience": #"{"campaign":"old","opened":false}"#]))
    expect(unopened.recipients.audience, is: .campaign(EarlierAudience(campaign: "old", opened: false)))
    let audience =
      #"{"campaign":"old","outcome":["expired","accepted"],"where":"locale = 'en'","exclude":{"segment":"vip","campaign":["b","old"]}}"#
    let full = try parse(job(["audience": audience, "category": "\"offers\""]))
    expect(full.recipients.audience, is: .campaign(EarlierAudience(campaign: "old", outcomes: [.accepted, .expired])))
    expect(full.recipients.exclusion.segment?.description, is: "vip")
    expect(full.recipients.exclusion.campaigns, is: ["b", "old"].map { EarlierAudience(campaign: $0) })
    expect(full.earlier == ["b", "old"] && full.recipients.predicate != nil)
    expect(full.suppression.map(\.segment), is: ["~news", "~news~offers"])
    expect(full.suppression, is: full.suppression.compactMap { SuppressionList(segment: $0.segment) })
    expect(try parse(job(["transactional": "true"])).suppression.isEmpty)
    for name in ["vip", "~", "", "a~b", "~a~b~c", "~~b"] { expect(SuppressionList(segment: name), is: nil, "\(name)") }
  }

  @Test func controlGroupIsReadAndIgnoresTransactionalJobs() throws {
    let campaign = try parse(job(["control": "0.05"]))
    expect(campaign.recipients.control?.share, is: 0.05)
    expect(try parse(job()).recipients.control, is: nil)
    // The random selection differs from that of a sample.
    expect(
      campaign.recipients.control != (try parse(job(["audience": #"{"segment":"*","sample":0.05}"#])).recipients.sample)
    )
    expect(ControlGroup(of: try parse(job())).isEmpty && !ControlGroup(of: campaign).isEmpty)
    expect(!ControlGroup(of: try parse(job()), app: 0.02).isEmpty)
    expect(ControlGroup(of: try parse(job(["transactional": "true"])), app: 0.02).isEmpty)
    expect(ControlGroup(of: try parse(job(["audience": #"{"tokens":["00ff"]}"#])), app: 0.02).isEmpty)
  }

  @Test func limitIsRead() throws {
    expect(try parse(job(["audience": #"{"segment":"*","limit":5}"#])).recipients.limit, is: 5)
    expect(try parse(job(["audience": #"{"users":["ada"],"limit":1000000000}"#])).recipients.limit, is: 1_000_000_000)
    expect(try parse(job(["audience": #"{"segment":"*","limit":null}"#])).recipients.limit, is: nil)
  }

  @Test func tokensAreReadInAnySpellingAndKeptOnce() throws {
    let campaign = try parse(job(["audience": #"{"tokens":["00FF","<00 ff>","ab"]}"#]))
    expect(campaign.recipients.audience, is: .tokens(["00ff", "ab"].compactMap { APNsService().token($0) }))
  }

  @Test func backgroundIsSentAtPriorityFive() throws {
    let background = ["pushType": "\"background\"", "payload": #"{"aps":{"content-available":1}}"#]
    expect(try parse(job(background)).message.priority, is: 5)
    expect(try parse(job(background.merging(["priority": "1"]) { $1 })).message.priority, is: 1)
  }

  @Test func nullMeansAMissingField() throws {
    expect(try parse(job(["collapseId": "null", "sendAt": "null", "lane": "null"])), is: try parse(job()))
  }

  @Test func payloadsMayBeAsLargeAsAPNsAllows() throws {
    let payload = { (size: Int) in "{\"aps\":{\"alert\":\"" + String(repeating: "x", count: size - 20) + "\"}}" }
    expect(try parse(job(["payload": payload(4096)])).message.payload.count, is: 4096)
    expect(try parse(job(["payload": " " + payload(4096) + "\n"])).message.payload.count, is: 4096)
    expect(try parse(job(["payload": payload(5120), "pushType": "\"voip\""])).message.payload.count, is: 5120)
    let error = #expect(throws: JobError.self) { try parse(job(["payload": payload(4196)])) }
    expect(
      error?.message, is: "4196 bytes, which is 100 over the 4096 that APNs allows for push type alert")
    #expect(throws: JobError.self) { try parse(job(["payload": payload(5121), "pushType": "\"voip\""])) }
  }

  @Test func appsAreNotCheckedWithoutAConfiguration() throws {
    let campaign = try CampaignJob.parse(Array(job(["app": "\"other\""]).utf8)[...], .any([APNsService()]))
    expect(campaign.app, is: "other")
  }

  /// Changes of a valid job, with the field and a part of the message and hint of the resulting error.
  static let mistakes: [(change: [String: String], field: String, says: String)] = [
    (["id": ""], "id", "is missing"),
    (["id": "null"], "id", "is missing"),
    (["id": "\"\""], "id", "1 to 64 of"),
    (["id": "\"a b\""], "id", "'a b' is not a campaign id"),
    (["id": "\"\(String(repeating: "x", count: 65))\""], "id", "1 to 64 of"),
    (["id": "7"], "id", "must be a string, not a number"),
    (
      ["audience": #"{"users":["ben",{"user":"ada","token":"aa01"}]}"#], "audience.users[1].token",
      "needs a list of one user, but the list has 2"
    ),
    (["audience": #"{"users":[{"user":"ada","token":"x"}]}"#], "audience.users[0].token", "is not a device token"),
    (["audience": #"{"users":[{"user":"ada","token":7}]}"#], "audience.users[0].token", "must be a string"),
    (["app": ""], "app", "is missing"),
    (["app": "\"nwes\""], "app", "did you mean 'news'?"),
    (["app": "\"zzzzzz\""], "app", "known: news, shop"),
    (["urgenci": "5"], "urgenci", "did you mean 'urgency'?"),
    (["sendat": "1"], "sendat", "did you mean 'sendAt'?"),
    (["\\u001b[31m": "1"], "\u{FFFD}[31m", "unknown field"),
    (["audience": ""], "audience", "is missing"),
    (["audience": "\"*\""], "audience", "must be a JSON object, not a string"),
    (["audience": "{}"], "audience", "is empty"),
    (["audience": #"{"segment":"*","users":["1"]}"#], "audience", "segment and users together"),
    (["audience": #"{"segments":"*"}"#], "audience.segments", "did you mean 'segment'?"),
    (["audience": #"{"segment":"vip & "}"#], "audience.segment", "column 7: expected a segment name"),
    (["audience": #"{"segment":["vip"]}"#], "audience.segment", "must be a string, not an array"),
    (["audience": #"{"users":[]}"#], "audience.users", "is empty"),
    (["audience": #"{"users":["1",true]}"#], "audience.users[1]", "must be a string, or an object with user and vars"),
    (["audience": #"{"users":["1","a\nb"]}"#], "audience.users[1]", "control characters"),
    (["audience": #"{"tokens":[]}"#], "audience.tokens", "is empty"),
    (["audience": #"{"tokens":["00","xyz"]}"#], "audience.tokens[1]", "is not a device token"),
    (["audience": #"{"tokens":["00","000"]}"#], "audience.tokens[1]", "is not a device token"),
    (["audience": #"{"tokens":"00"}"#], "audience.tokens", "must be an array, not a string"),
    (["audience": #"{"segment":"*","where":"locale > 'en'"}"#], "audience.where", "column 10: this field has no order"),
    (["audience": #"{"segment":"*","where":7}"#], "audience.where", "must be a string"),
    (
      ["audience": #"{"channel":"dHN0LXNyY2gtY2hubA==","where":"locale = 'en'"}"#], "audience.where",
      "needs an audience of users"
    ),
    (["control": "0"], "control", "above 0 and below 1"), (["control": "1"], "control", "above 0 and below 1"),
    (["control": "\"5%\""], "control", "above 0 and below 1"),
    (["control": "0.1", "audience": #"{"tokens":["00ff"]}"#], "control", "needs an audience of users"),
    (["control": "0.1", "transactional": "true"], "control", "can't be combined with transactional"),
    (["audience": #"{"segment":"*","limit":0}"#], "audience.limit", "a whole number of users, 1 or more"),
    (["audience": #"{"segment":"*","limit":2.5}"#], "audience.limit", "a whole number of users, 1 or more"),
    (["audience": #"{"segment":"*","limit":"5"}"#], "audience.limit", "a whole number of users, 1 or more"),
    (["audience": #"{"tokens":["00ff"],"limit":5}"#], "audience.limit", "needs an audience of users"),
    (["audience": #"{"segment":"*","devices":"newest"}"#], "audience.devices", "unknown value 'newest'"),
    (["audience": #"{"tokens":["aa01"],"devices":"latest"}"#], "audience.devices", "needs an audience of users"),
    (["audience": #"{"campaign":"old/2"}"#], "audience.campaign", "is not a campaign id"),
    (["audience": #"{"campaign":"c1"}"#], "audience", "names the campaign itself"),
    (["audience": #"{"campaign":"old","outcome":"accept"}"#], "audience.outcome", "did you mean 'accepted'?"),
    (["audience": #"{"campaign":"old","outcome":[]}"#], "audience.outcome", "is empty"),
    (["audience": #"{"segment":"*","outcome":"accepted"}"#], "audience.outcome", "has no effect without campaign"),
    (["audience": #"{"segment":"*","opened":true}"#], "audience.opened", "has no effect without campaign"),
    (["audience": #"{"campaign":"old","opened":"no"}"#], "audience.opened", "must be true or false"),
    (["audience": #"{"segment":"*","exclude":{}}"#], "audience.exclude", "is empty"),
    (["audience": #"{"segment":"*","exclude":"vip"}"#], "audience.exclude", "must be a JSON object"),
    (["audience": #"{"segment":"*","exclude":{"segment":"vip &"}}"#], "audience.exclude.segment", "column 6"),
    (["audience": #"{"segment":"*","exclude":{"campaign":["c1"]}}"#], "audience", "names the campaign itself"),
    (["audience": #"{"segment":"*","exclude":{"campaign":[]}}"#], "audience.exclude.campaign", "names 0 campaigns"),
    (
      ["audience": #"{"segment":"*","exclude":{"outcome":"expired"}}"#], "audience.exclude.outcome",
      "has no effect without campaign"
    ),
    (
      ["audience": #"{"tokens":["aa01"],"exclude":{"segment":"vip"}}"#], "audience.exclude",
      "needs an audience of users"
    ),
    (["audience": #"{"activity":"a b"}"#], "audience.activity", "is not a valid name of a Live Activity"),
    (["audience": #"{"activity":"match-17"}"#], "audience.activity", "this push type can't use them"),
    (["audience": #"{"activity":"a","segment":"*"}"#], "audience", "segment and activity together"),
    (["audience": #"{"segment":"*","exclude":{"activity":7}}"#], "audience.exclude.activity", "must be a string"),
    (["category": "\"a b\""], "category", "is not a valid category name"),
    (["category": "\"offers\"", "transactional": "true"], "category", "can't be combined with transactional"),
    (["transactional": "1"], "transactional", "must be true or false, not a number"),
    (["audience": #"{"users":[{"user":"a","vars":[]}]}"#], "audience.users[0].vars", "must be an object"),
    (
      ["audience": #"{"users":["b",{"user":"a","vars":{"x":{}}}]}"#], "audience.users[1].vars.x",
      "must be a string, a number"
    ),
    (["audience": #"{"users":[{"vars":{}}]}"#], "audience.users[0].user", "is missing"),
    (["audience": #"{"users":[{"user":"a","var":{}}]}"#], "audience.users[0].var", "did you mean 'vars'?"),
    (
      ["audience": #"{"users":[{"user":"a","vars":{}},{"user":"a","vars":{}}]}"#], "audience.users[1]", "has vars twice"
    ),
    (
      [
        "audience": #"{"users":["b",{"user":"ada","vars":{"x":"\#(String(repeating: "é", count: 2050))"}}]}"#,
        "payload": #"{"aps":{"alert":"{{x}}"}}"#,
      ], "apns.payload", "for user 'ada', which is"
    ),
    (["template": "\"a@1\"", "payload": ""], "template", "templates are kept in the store"),
    (["template": "\"a@1\"", "payload": "", "message": "{}"], "message", "can't be combined with template"),
    (["audience": #"{"segment":"*","sample":0}"#], "audience.sample", "above 0, and 1 at most"),
    (["audience": #"{"segment":"*","sample":1.5}"#], "audience.sample", "above 0, and 1 at most"),
    (["audience": #"{"segment":"*","sample":"0.1"}"#], "audience.sample", "above 0, and 1 at most"),
    (["audience": #"{"channel":""}"#], "audience.channel", "is empty"),
    (["audience": #"{"channel":"a b"}"#], "audience.channel", "is not Base64"),
    (["audience": #"{"channel":"\#(String(repeating: "a", count: 201))"}"#], "audience.channel", "longer than 200"),
    (["audience": #"{"channel":"a","tokens":["00"]}"#], "audience", "tokens and channel together"),
    (["audience": #"{"channel":"a"}"#], "apns.pushType", "a channel accepts only liveactivity"),
    (
      ["localized": #"{"de":{"apns":{"payload":{"aps":{"sound":1}}}}}"#], "localized.de.apns.payload.aps.sound",
      "must be"
    ),
    (
      ["localized": #"{"de":{"apns":{"payload":{"aps":{"alert":"\#(String(repeating: "é", count: 2048))"}}}}}"#],
      "localized.de",
      "over the 4096"
    ),
    (["audience": #"{"tokens":["00"]}"#, "localized": #"{"de":{}}"#], "localized", "which tokens do not have"),
    (["audience": #"{"tokens":["00"]}"#, "payload": #"{"a":"{{b}}"}"#], "apns.payload", "which tokens do not have"),
    (["sendAt": "\"tomorrow\""], "sendAt", "'tomorrow' is not an instant"),
    (["sendAt": "\"2026-12-01 09:00\""], "sendAt", "it must be RFC 3339"),
    (["sendAt": "1796115600"], "sendAt", "must be a string, not a number"),
    (
      ["sendAt": "\"2026-12-01T09:00:00Z\"", "expiration": "\"2026-12-01T10:00:00+01:00\""], "expiration",
      "is not after sendAt"
    ),
    (["sendAt": "\"2026-12-01T09:00:00\""], "sendAt", "has no zone (add Z or an offset"),
    (["localTime": "\"yes\""], "localTime", "must be true, or name an attribute of users, not a string"),
    (["localTime": "true"], "localTime", "needs sendAt, the local time"),
    (["localTime": "true", "sendAt": "\"2026-12-01T09:00:00Z\""], "sendAt", "each device's own zone"),
    (
      ["localTime": "true", "sendAt": "\"2026-12-01T09:00:00+01:00\""], "sendAt",
      "omit the zone: 2026-12-01T09:00:00"
    ),
    (["localTime": "true", "sendAt": "\"tomorrow\""], "sendAt", "'tomorrow' is not a local time"),
    (["localTime": #"{"attribut":"h"}"#], "localTime.attribut", "did you mean 'attribute'?"),
    (["localTime": "{}"], "localTime.attribute", "is missing"),
    (["localTime": #"{"attribute":""}"#], "localTime.attribute", "is empty"),
    (
      ["localTime": "true", "sendAt": "\"2026-12-01T09:00:00\"", "audience": #"{"tokens":["aa01"]}"#], "localTime",
      "needs an audience of users"
    ),
    (
      ["localTime": "true", "sendAt": "\"2026-12-01T09:00:00\"", "spread": "\"1h\""], "spread",
      "can't be combined with localTime"
    ),
    (
      ["localTime": "true", "sendAt": "\"2026-12-01T09:00:00\"", "defaultTimezone": "\"Europe/Berlyn\""],
      "defaultTimezone", "did you mean 'Europe/Berlin'?"
    ),
    (["defaultTimezone": "\"Europe/Berlin\""], "defaultTimezone", "it needs localTime or quietHours"),
    (["late": "\"1h\""], "late", "it needs sendAt or localTime"),
    (["localTime": "true", "sendAt": "\"2026-12-01T09:00:00\"", "late": "\"-1h\""], "late", "from 0s to 366d"),
    (["quietHours": "\"22-8\""], "quietHours", "must be a JSON object"),
    (["quietHours": #"{"from":"22:00"}"#], "quietHours.to", "is missing"),
    (["quietHours": #"{"from":"22:00","to":"8"}"#], "quietHours.to", "'8' is not a time of day (it must be HH:MM"),
    (["quietHours": #"{"from":"22:00","to":"22:00"}"#], "quietHours.to", "must differ from"),
    (["quietHours": #"{"from":"22:00","to":"08:00","then":"wait"}"#], "quietHours.then", "known: drop, hold"),
    (
      ["quietHours": #"{"from":"22:00","to":"08:00"}"#, "audience": #"{"tokens":["aa01"]}"#], "quietHours",
      "needs an audience of users"
    ),
    (["maxDuration": "\"0s\""], "maxDuration", "from 1s to 366d"),
    (["maxDuration": "90"], "maxDuration", "must be a string"),
    (["repeat": "\"0 9 * * *\""], "repeat", "must be a JSON object, not a string"),
    (["repeat": "{}"], "repeat.cron", "is missing"),
    (["repeat": #"{"cron":"0 25 * * *"}"#], "repeat.cron", "'25' is not a valid hour: it must be 0 to 23"),
    (["repeat": #"{"cron":"0 9 * * *","zone":"Mars/Olympus"}"#], "repeat.zone", "is not a time zone"),
    (["repeat": #"{"cron":"0 9 * * *","end":"2027-01-01"}"#], "repeat.end", "is not an instant"),
    (["repeat": #"{"cron":"0 9 * * *","count":0}"#], "repeat.count", "a whole number from 1 to 100000"),
    (["repeat": #"{"cron":"0 9 * * *","skipIfRunning":1}"#], "repeat.skipIfRunning", "must be true or false"),
    (
      ["repeat": #"{"cron":"0 9 * * *","zone":"UTC"}"#, "localTime": "true"], "repeat.zone",
      "can't be combined with localTime"
    ),
    (
      ["repeat": #"{"cron":"0 9 * * *","end":"2027-01-01T00:00:00Z"}"#, "localTime": "true"], "repeat.end",
      "is not a local time"
    ),
    (["repeat": #"{"cron":"0 9 * * *"}"#, "expiration": "\"2027-01-01T00:00:00Z\""], "expiration", "use a duration"),
    (["repeat": #"{"cron":"0 9 * * *"}"#, "finishBy": "\"2027-01-01T00:00:00Z\""], "finishBy", "the job is recurring"),
    (["rate": "0"], "rate", "a number above 0, and at most 1,000,000"),
    (["rate": "-1"], "rate", "a number above 0"),
    (["rate": "1000000.5"], "rate", "at most 1,000,000"),
    (["rate": "1e999"], "rate", "at most 1,000,000"),
    (["rate": "\"5000\""], "rate", "pushes per second"),
    (["spread": "\"0s\""], "spread", "'0s' is not a duration from 1s to 7d"),
    (["spread": "\"8d\""], "spread", "from 1s to 7d"),
    (["spread": "\"90\""], "spread", "a whole number with s, m, h or d"),
    (["spread": "90"], "spread", "must be a string"),
    (["spread": "\"1h\"", "rate": "5"], "spread", "can't be combined with rate"),
    (["finishBy": "\"2026-12-01T09:00:00Z\"", "rate": "5"], "finishBy", "can't be combined with rate"),
    (["finishBy": "\"2026-12-01T09:00:00Z\"", "spread": "\"1h\""], "finishBy", "can't be combined with spread"),
    (["finishBy": "\"tonight\""], "finishBy", "'tonight' is not an instant"),
    (
      ["sendAt": "\"2026-12-01T09:00:00Z\"", "finishBy": "\"2026-12-01T10:00:00+01:00\""], "finishBy",
      "is not after sendAt"
    ),
    (["payload": ""], "message", "is missing: the job has no content for APNs"),
    (["payload": "[]"], "apns.payload", "must be a JSON object, not an array"),
    (["payload": #""{\"aps\":{}}""#], "apns.payload", "must be a JSON object, not a string"),
    (["payload": #"{"aps":[]}"#], "apns.payload.aps", "must be a JSON object"),
    (["payload": #"{"aps":{"alert":{"title":"\u007b{}}"}}}"#], "apns.payload.aps.alert.title", "has no valid name"),
    (["pushType": "\"Alert\""], "apns.pushType", "did you mean 'alert'?"),
    (["pushType": "10"], "apns.pushType", "must be a string"),
    (["priority": "7"], "apns.priority", "must be the number 10, 5 or 1"),
    (["priority": "\"10\""], "apns.priority", "must be the number 10, 5 or 1"),
    (["priority": "5.0"], "apns.priority", "must be the number 10, 5 or 1"),
    (["priority": "10", "pushType": "\"background\""], "apns.priority", "use 5"),
    (["expiration": "300"], "expiration", "a duration or an instant"),
    (["expiration": "\"0s\""], "expiration", "a duration or an instant"),
    (["expiration": "\"tomorrow\""], "expiration", "RFC 3339"),
    (["expiration": "\"1969-01-01T00:00:00Z\""], "expiration", "RFC 3339"),
    (["expiration": "true"], "expiration", "a duration or an instant"),
    (["collapseId": "\"\""], "collapseId", "must not be empty"),
    (["collapseId": "\"\(String(repeating: "é", count: 33))\""], "collapseId", "66 bytes, which is 2 over the 64"),
    (["collapseId": "\"a\\r\\nb\""], "collapseId", "control characters"),
    (["collapseId": "\" a\""], "collapseId", "blanks at its ends"),
    (["lane": "\"urgnet\""], "lane", "did you mean 'urgent'?"),
    (["results": "\"some\""], "results", "known: all, failures, none"),
    (["ambiguity": "\"drop\""], "ambiguity", "known: resend, skip"),
    (["ttl": "7"], "ttl", "must be a string, not a number"),
    (["ttl": "\"7\""], "ttl", "is not a duration"),
    (["ttl": "\"0d\""], "ttl", "is not a duration"),
    (["ttl": "\"3651d\""], "ttl", "is not a duration"),
  ]

  @Test(arguments: [("5000", 5000.0), ("0.5", 0.5), ("1e6", 1_000_000)])
  func rateIsPushesASecond(text: String, perSecond: Double) throws {
    expect(try parse(job(["rate": text])).delivery.rate, is: .perSecond(perSecond))
    expect(try parse(job(["rate": "null"])).delivery.rate, is: nil)
  }

  @Test func eachDevicesOwnTimeIsRead() throws {
    let campaign = try parse(job(["sendAt": "\"2026-12-01T09:00:00\"", "localTime": "true", "late": "\"0s\""]))
    expect(campaign.delivery.timing.localTime, is: LocalTime(wall: 1_796_115_600))
    // The campaign starts when the first clock of the world, at UTC+14, shows the local time.
    expect(campaign.delivery.sendAt, is: (1_796_115_600 - 14 * 3600) * 1000)
    expect(
      campaign.delivery.timing.late == 0 && campaign.delivery.timing.defaultZone == "UTC"
        && campaign.delivery.timing.isPerDevice)
    let own = try parse(
      job([
        "sendAt": "\"2026-12-01T09:00:00\"", "localTime": #"{"attribute":"hour"}"#, "expiration": "\"4h\"",
        "defaultTimezone": "\"Europe/Berlin\"", "quietHours": #"{"from":"22:00","to":"08:00","then":"drop"}"#,
      ]))
    expect(own.delivery.timing.localTime, is: LocalTime(wall: 1_796_115_600, attribute: "hour"))
    expect(own.delivery.timing.quietHours, is: QuietHours(from: 79200, to: 28800, handling: .drop))
    expect(own.delivery.timing.defaultZone == "Europe/Berlin" && own.delivery.timing.late == 3600)
    expect(own.commonExpiration(startingAt: 7), is: nil)
    let plain = try parse(job(["localTime": "false", "maxDuration": "\"6h\"", "expiration": "\"4h\""]))
    expect(!plain.delivery.timing.isPerDevice && plain.delivery.timing.maxDuration == 21600)
    expect(plain.commonExpiration(startingAt: 7), is: 14407)
  }

  /// A job checks the store only for attributes whose values it does not contain.
  @Test(arguments: [
    (["payload": hello], ["apns.payload plan", "apns.payload name"]),
    (["payload": hello, "vars": "true"], []),
    (["payload": hello, "audience": #"{"users":["a",{"user":"b","vars":{"plan":"x"}}]}"#], ["apns.payload name"]),
    (
      ["payload": hello, "vars": "true", "audience": #"{"segment":"*","where":"city = 'Ulm'"}"#],
      ["audience.where city"]
    ),
  ])
  func attributesAreCheckedUnlessTheJobContainsThem(changes: [String: String], asked: [String]) throws {
    expect(try parse(job(changes)).attributesAskedFor.map { "\($0.path) \($0.name)" }, is: asked)
  }

  private static let hello = #"{"aps":{"alert":"{{plan}} {{name}} {{plan}}"}}"#

  @Test func repetitionIsRead() throws {
    let campaign = try parse(
      job([
        "sendAt": "\"2026-12-01T09:00:00Z\"",
        "repeat":
          #"{"cron":"0 9 * * mon-fri","zone":"Europe/Berlin","end":"2027-01-01T00:00:00Z","count":3,"skipIfRunning":true}"#,
      ]))
    let repetition = try #require(campaign.delivery.timing.repetition)
    expect(campaign.delivery.sendAt, is: nil)
    expect(repetition.text == "0 9 * * mon-fri" && repetition.zone == "Europe/Berlin" && repetition.count == 3)
    expect(repetition.start == 1_796_115_600 && repetition.end == 1_798_761_600 && repetition.skipsIfRunning)
    let bytes = Array(job(["repeat": #"{"cron":"0 9 * * *"}"#, "sendAt": "\"2026-12-01T09:00:00Z\""]).utf8)
    let run = try CampaignJob.parse(
      CampaignJob.run(of: bytes, localTime: nil), .any([APNsService()]), as: "c1~20261201T0900")
    expect(run.id == "c1~20261201T0900" && run.delivery.timing == CampaignTiming() && run.delivery.sendAt == nil)
    let local = Array(job(["repeat": #"{"cron":"0 9 * * *"}"#, "localTime": "true"]).utf8)
    let its = try CampaignJob.parse(CampaignJob.run(of: local, localTime: 1_796_115_600), .any([APNsService()]))
    expect(its.delivery.timing.localTime?.wall == 1_796_115_600 && its.delivery.timing.repetition == nil)
    let alone = try CampaignJob.forSingleDevice(local, token: "aa01", of: "", suffix: "3.7", for: APNsService())
    expect(try CampaignJob.parse(alone, .any([APNsService()])).delivery.timing, is: CampaignTiming())
    let owned = try CampaignJob.forSingleDevice(local, token: "aa01", of: "ada", suffix: "3.7", for: APNsService())
    let recipients = try CampaignJob.parse(owned, .any([APNsService()])).recipients
    expect(recipients.audience == .users(["ada"]) && recipients.token?.bytes == [0xaa, 1])
  }

  @Test func rateFollowsFromADuration() throws {
    expect(try parse(job(["spread": "\"2h\""])).delivery.rate, is: .over(seconds: 7200))
    expect(try parse(job(["finishBy": "\"1970-01-01T00:00:01Z\""])).delivery.rate, is: .until(milliseconds: 1000))
  }

  @Test func ratesAreWrittenWithSignificantDigitsOnly() {
    let texts = [5000, 0.5, 1.0 / 3, 1_000_000, 0.0001].map { CampaignRate.format($0) }
    expect(texts, is: ["5000", "0.5", "0.333", "1000000", "0.0001"])
  }

  @Test(arguments: mistakes)
  func saysWhatIsWrongAndWhere(change: [String: String], field: String, says: String) {
    let error = #expect(throws: JobError.self) { try parse(job(change)) }
    expect(error?.field, is: field)
    expect(error?.description.contains(says), is: true, "\(error?.description ?? "")")
  }

  @Test func brokenJSONIsPointedAt() {
    let error = #expect(throws: JobError.self) { try parse("{\n  \"id\": \"c1\",\n  \"app\" \"news\"\n}") }
    expect(error?.message, is: "not valid JSON: line 3, column 9: expected ':', found '\"'")
    #expect(throws: JobError.self) { try parse("") }
    #expect(throws: JobError.self) { try parse("[]") }
    #expect(throws: JobError.self) { try parse("\"c1\"") }
  }

  @Test func sizeAndNestingAreBounded() {
    let long = job(["collapseId": "\"" + String(repeating: "x", count: CampaignJob.maximumSize) + "\""])
    let error = #expect(throws: JobError.self) { try parse(long) }
    expect(error?.message.contains("over the limit of 1048576"), is: true)
    let deep = String(repeating: "[", count: 40) + String(repeating: "]", count: 40)
    let nested = #expect(throws: JobError.self) { try parse(job(["payload": "{\"a\":\(deep)}"])) }
    expect(nested?.message.contains("nested more than 32 deep"), is: true)
  }

  @Test func corruptJobNeverCrashesTheParser() {
    var random = Seed("corruptJobNeverCrashesTheParser")
    let good = [
      job(["expiration": "\"4h\"", "collapseId": "\"é\\ud83d\\ude00\"", "priority": "5", "ttl": "\"7d\""]),
      job(["audience": #"{"tokens":["00ff","<AB>"]}"#]), job(["audience": #"{"users":["1","zoë"]}"#]),
      job(["audience": #"{"segment":"vip & (a | !b) & *"}"#, "payload": #"{"aps":{"alert":[1,-2.5e3,true,null]}}"#]),
    ].map { Array($0.utf8) }
    let pieces = ["{", "}", "[", "]", "\"", "\\", "\\u", ",", ":", "null", "-", "e", "\0", "{{", "}}", "(", "!"]
    var refused = 0
    for _ in 0..<20_000 {
      var bytes = good[Int.random(in: 0..<good.count, using: &random)]
      for _ in 0...Int.random(in: 0..<4, using: &random) {
        let position = Int.random(in: 0..<max(1, bytes.count), using: &random)
        switch Int.random(in: 0..<4, using: &random) {
        case 0 where !bytes.isEmpty: bytes[position] = UInt8.random(in: 0...255, using: &random)
        case 1: bytes.insert(contentsOf: (pieces.randomElement(using: &random) ?? "").utf8, at: position)
        case 2 where !bytes.isEmpty: bytes.removeLast(bytes.count - position)
        default: bytes.insert(contentsOf: bytes[position...].prefix(16), at: position)
        }
      }
      do {
        let campaign = try CampaignJob.parse(
          bytes, .known(["news": [APNsService(AppTraits(topic: "com.example.news"))]]))
        expect(campaign.message.payload.count <= 4096)
      } catch {
        expect(!error.message.isEmpty)
        refused += 1
      }
    }
    expect(refused > 1000)
  }
}
