import APNs
import FCM
import PushCore
import TestKit
import Testing

/// Mistakes in jobs of an app with two push services.
struct TwoServiceJobTests {
  private static let apps = JobApps.known([
    "news": [APNsService()], "shop": [APNsService(), FCMService(project: "demo")],
  ])
  private static let registration = "cXl3bTVhQk1SZTJ0d2R5Zw:APA91bF4kE"

  private static func job(_ fields: String, app: String = "shop", audience: String = #"{"segment":"*"}"#) -> [UInt8] {
    Array(#"{"id":"a","app":"\#(app)","audience":\#(audience),"message":{"body":"B"},\#(fields)}"#.utf8)
  }

  private func error(_ job: [UInt8]) -> JobError? {
    #expect(throws: JobError.self) { try CampaignJob.parse(job, Self.apps) }
  }

  @Test(arguments: [
    ("news", #""fcm":{"message":{}}"#, "fcm", "app news does not use the push service fcm (remove it)"),
    (
      "news", #""variants":[{"name":"a"},{"name":"b","fcm":{"message":{}}}]"#, "variants[1].fcm",
      "app news does not use the push service fcm (remove it)"
    ),
    (
      "news", #""localized":{"de":{"body":"T","fcm":{"message":{}}}}"#, "localized.de.fcm",
      "app news does not use the push service fcm (remove it)"
    ),
    (
      "shop", #""services":["apns"],"localized":{"de":{"fcm":{"message":{}}}}"#, "localized.de.fcm",
      "services does not name this push service (add fcm to services, or remove this object)"
    ),
    (
      "shop", #""services":["apns"],"variants":[{"name":"a"},{"name":"b","localized":{"de":{"fcm":{}}}}]"#,
      "variants[1].localized.de.fcm", "services does not name this push service"
    ),
  ])
  func objectOfAnotherServiceGetsAHint(app: String, fields: String, place: String, says: String) {
    let error = error(Self.job(fields, app: app))
    expect(error?.field == place && error?.description.contains(says) == true, "\(error?.description ?? "")")
  }

  /// Invalid lists of tokens. The hint names only the services that can have the tokens.
  @Test(arguments: [
    (#"["00ff"]"#, "audience.tokens", #"add "services": ["apns"])"#),
    (#"["\#(registration)"]"#, "audience.tokens", #"add "services": ["fcm"])"#),
    (#"["00ff","\#(registration)"]"#, "audience.tokens[1]", "is a token of FCM, unlike the tokens before it"),
    (#"["00ff","zz"]"#, "audience.tokens[1]", "hex of 1 to 200 bytes for APNs, a registration token"),
    ("[1]", "audience.tokens[0]", "must be a string"),
  ])
  func tokensBelongToOneService(tokens: String, place: String, says: String) {
    let error = error(Self.job(#""lane":"bulk""#, audience: #"{"tokens":\#(tokens)}"#))
    expect(error?.field == place && error?.description.contains(says) == true, "\(error?.description ?? "")")
  }

  @Test(arguments: [
    (#"{"channel":"dHN0LXNyY2gtY2hubA=="}"#, "audience.channel", #"add "services": ["apns"])"#),
    (#"{"activity":"match"}"#, "audience.activity", "belongs to one push service"),
    (#"{"users":[{"user":"ada","token":"00ff"}]}"#, "audience.users[0].token", #"add "services": ["apns"])"#),
  ])
  func channelAndActivityBelongToOneService(audience: String, place: String, says: String) {
    let error = error(Self.job(#""lane":"bulk""#, audience: audience))
    expect(error?.field == place && error?.description.contains(says) == true, "\(error?.description ?? "")")
  }

  /// The job may shorten a text that only one of its services shows.
  @Test(arguments: [
    #""apns":{"payload":{"aps":{"alert":{"body":"own"}}}},"trim":"apns.payload.aps.alert.body""#,
    #""apns":{"payload":{"aps":{"alert":{"body":"own"}}}},"trim":"message.body""#,
    #""trim":"fcm.message.notification.body""#,
  ])
  func trimMayNameATextOfOneService(fields: String) throws {
    _ = try CampaignJob.parse(Self.job(fields), Self.apps)
  }

  @Test(arguments: [
    (#""trim":"apns.payload.aps.alert.title""#, "'apns.payload.aps.alert.title' is not a string of the push"),
    (#""services":["apns"],"trim":"fcm.message.notification.body""#, "is not the path of a text in the job"),
    (#""trim":"message.sound""#, "'message.sound' is not a title or a body"),
    (#""trim":"apns.pushType""#, "is not the path of a text in the job"),
    (#""trim":"""#, "'' is not the path of a text in the job"),
  ])
  func trimOfAnythingElseIsAnError(fields: String, says: String) {
    let error = error(Self.job(fields))
    expect(error?.field == "trim" && error?.description.contains(says) == true, "\(error?.description ?? "")")
  }

  @Test(arguments: [
    (#""apns":{"payload":{"k":1}}"#, #""apns":{"payload":{"k":2}}"#, [" for FCM"]),
    (#""message":{"body":"1"}"#, #""message":{"body":"1"}"#, [""]),
    (#""message":{"body":"1"}"#, #""message":{"body":"2"}"#, []),
  ])
  func variantsThatAreTheSameForOneServiceAreReported(first: String, second: String, ends: [String]) throws {
    let variants = #""variants":[{"name":"a",\#(first)},{"name":"b",\#(second)}]"#
    let findings = try CampaignJob.examine(Self.job(variants), Self.apps).findings
    expect(findings.map(\.message), is: ends.map { "has the same content as variant 'a'" + $0 }, "\(findings)")
    expect(findings.allSatisfy { $0.rule.severity == .warning && $0.path == "variants[1]" })
  }

  @Test(arguments: ["https://a.example/b?c=d#e", "app://match/17", "mailto:a@b", "{{url}}", "https://a/{{id|no id}}"])
  func linkMayBeAnyURL(link: String) throws {
    let job = #"{"id":"a","app":"shop","audience":{"segment":"*"},"message":{"body":"B","link":"\#(link)"}}"#
    _ = try CampaignJob.parse(Array(job.utf8), Self.apps)
  }

  @Test(arguments: ["a", "a b", "a.example/b", ":b", "1a:b", "a:", "https://a b", "{{a", "a{{b}}"])
  func linkWithoutASchemeIsAnError(link: String) {
    let job = #"{"id":"a","app":"shop","audience":{"segment":"*"},"message":{"body":"B","link":"\#(link)"}}"#
    #expect(throws: JobError.self) { try CampaignJob.parse(Array(job.utf8), Self.apps) }
  }
}
