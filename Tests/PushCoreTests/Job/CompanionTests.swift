import APNs
import PushCore
import TestKit
import TestSupport
import Testing

/// Companions of a campaign: the job of a companion, and jobs that can't have one.
struct CompanionTests {
  private static let apps = JobApps.known(["news": [APNsService(AppTraits(topic: "com.example.news"))]])

  private func bytes(_ changes: [String: String] = [:]) -> [UInt8] {
    Array(job(["payload": #"{"aps":{"alert":"hi"}}"#, "also": #"["widgets"]"#].merging(changes) { $1 }).utf8)
  }

  private func parse(_ changes: [String: String] = [:]) throws -> Campaign {
    try CampaignJob.parse(bytes(changes), Self.apps)
  }

  private func companion(_ changes: [String: String] = [:], _ type: String = "widgets") throws -> Campaign {
    try CampaignJob.part(CampaignID("c1~main." + type), of: bytes(changes), Self.apps, start: 0)
  }

  @Test func companionReachesTheSameUsersAndShowsNothing() throws {
    let changes = [
      "audience": #"{"segment":"vip & !churned","where":"locale = 'en'","sample":0.3,"exclude":{"segment":"out"}}"#,
      "sendAt": "\"2026-12-01T09:00:00\"", "localTime": "true", "lane": "\"urgent\"", "category": "\"goals\"",
      "control": "0.1", "expiration": "\"4h\"", "ttl": "\"3d\"", "submittedBy": "\"ada\"", "rate": "500",
      "collapseId": "\"c\"", "localized": #"{"de":{"apns":{"payload":{"aps":{"alert":"ho"}}}}}"#, "uniqueKey": "\"k\"",
      "priority": "10",
    ]
    let (lead, other) = (try parse(changes), try companion(changes))
    expect(lead.companions == ["widgets"] && lead.part == nil)
    expect(other.id == "c1~main.widgets" && other.whole == "c1" && other.companions == [])
    expect(
      other.message.pushType == "widgets" && other.message.payload == Array(#"{"aps":{"content-changed":true}}"#.utf8))
    expect(other.message.content == nil && other.message.collapseID == nil && other.delivery.rate == nil)
    expect(
      other.recipients.audience == lead.recipients.audience && other.recipients.predicate == lead.recipients.predicate
        && other.recipients.exclusion == lead.recipients.exclusion)
    // The random selection is the same, not just the share.
    expect(
      other.recipients.sample == lead.recipients.sample && other.recipients.control == lead.recipients.control
        && lead.recipients.sample != nil && lead.recipients.control != nil)
    expect(
      other.delivery.timing == lead.delivery.timing && other.delivery.sendAt == lead.delivery.sendAt
        && other.delivery.lane == lead.delivery.lane)
    expect(other.message.expiration == lead.message.expiration && other.timeToLive == lead.timeToLive)
    expect(other.recipients.category == lead.recipients.category && other.submittedBy == "ada")
    expect(APNsService().tokenKind(for: other), is: .widgets)
  }

  @Test func companionIsNotCountedForCaps() throws {
    expect(try parse().keepsToCaps)
    expect(try !companion().keepsToCaps)
    let rules = GrantRules(try companion(), caps: [FrequencyCap(most: 1, seconds: 3600)])
    expect(!rules.countsUsers)
  }

  static let refused: [(changes: [String: String], says: String)] = [
    (["also": "\"widgets\""], "also: must be an array"),
    (["also": #"["widget"]"#], "also[0]: 'widget' is not a push type for refreshes without an alert"),
    (["also": #"["alert"]"#], "also[0]: 'alert' is not a push type for refreshes without an alert"),
    (["also": #"["widgets","widgets"]"#], "also[1]: is listed twice"),
    (
      ["pushType": "\"widgets\"", "payload": #"{"aps":{"content-changed":true}}"#],
      "also[0]: is the push type of the job itself"
    ),
    (["audience": #"{"tokens":["aa01"]}"#], "also: needs an audience of users"),
    (["audience": #"{"segment":"*","limit":5}"#], "also: can't be combined with audience.limit"),
  ]

  @Test(arguments: refused)
  func jobThatCannotHaveACompanionIsNamed(changes: [String: String], says: String) {
    let error = #expect(throws: JobError.self) { try parse(changes) }
    expect(error?.reason.hasPrefix(says), is: true, "\(error?.reason ?? "")")
    expect(error?.hint != nil || error?.message.contains("must") == true)
  }

  @Test func typesAreReadInTheirOrder() throws {
    expect(try parse(["also": "null"]).companions == [] && parse(["also": "[]"]).companions == [])
    expect(try parse(["also": #"["controls","widgets"]"#]).companions, is: ["controls", "widgets"])
    expect(try companion(["also": #"["controls"]"#], "controls").message.pushType, is: "controls")
  }

  /// Widgets need provider tokens. The error is reported for the job at its intake, not later for its companion.
  @Test func companionThatTheServiceRejectsIsNamedInTheJob() throws {
    let certified = AppTraits(topic: "com.example.news", authentication: .certificate(topics: ["com.example.news"]))
    let error = #expect(throws: JobError.self) {
      try CampaignJob.parse(bytes(), .known(["news": [APNsService(certified)]]))
    }
    expect(
      error?.field == "also" && error?.message.contains("widgets needs a provider token") == true,
      "\(String(describing: error))")
  }

  /// A push that is tried alone goes to one token.
  @Test func pushSentAloneHasNoCompanion() throws {
    let alone = try CampaignJob.forSingleDevice(bytes(), token: "aa01", of: "", suffix: "x", for: APNsService())
    expect(try CampaignJob.parse(alone, Self.apps).companions, is: [])
  }
}
