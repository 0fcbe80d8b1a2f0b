import APNs
import PushCore
import TestSupport
import Testing

/// An alert and what goes beside it: the job of a companion, and what can't have one.
struct CompanionTests {
  private static let apps = JobApps.known(["news": APNsService(AppTraits(topic: "com.example.news"))])

  private func bytes(_ changes: [String: String] = [:]) -> [UInt8] {
    Array(job(["payload": #"{"aps":{"alert":"hi"}}"#, "also": #"["widgets"]"#].merging(changes) { $1 }).utf8)
  }

  private func parse(_ changes: [String: String] = [:]) throws -> Campaign {
    try CampaignJob.parse(bytes(changes), Self.apps)
  }

  private func companion(_ changes: [String: String] = [:], _ type: String = "widgets") throws -> Campaign {
    let payload = try #require(APNsService().refreshPayload(of: type))
    return try CampaignJob.parse(try Companion.job(of: bytes(changes), type, payload: payload), Self.apps)
  }

  @Test func companionGoesToTheSameUsersAtTheSameTimesAndSaysNothing() throws {
    let changes = [
      "audience": #"{"segment":"vip & !churned","where":"locale = 'en'","sample":0.3,"exclude":{"segment":"out"}}"#,
      "sendAt": "\"2026-12-01T09:00:00\"", "localTime": "true", "lane": "\"urgent\"", "category": "\"goals\"",
      "control": "0.1", "expiration": "\"4h\"", "ttl": "\"3d\"", "submittedBy": "\"ada\"", "rate": "500",
      "collapseId": "\"c\"", "localized": #"{"de":{"aps":{"alert":"ho"}}}"#, "uniqueKey": "\"k\"", "priority": "10",
    ]
    let (lead, other) = (try parse(changes), try companion(changes))
    #expect(lead.also == ["widgets"] && lead.beside == nil)
    #expect(other.id == "c1.widgets" && other.beside == "c1" && other.also == [])
    #expect(other.pushType == "widgets" && other.payload == Array(#"{"aps":{"content-changed":true}}"#.utf8))
    #expect(other.content == nil && other.collapseID == nil && other.rate == nil)
    #expect(other.audience == lead.audience && other.predicate == lead.predicate && other.exclusion == lead.exclusion)
    // The same draw, not just the same share.
    #expect(other.sample == lead.sample && other.control == lead.control && lead.sample != nil && lead.control != nil)
    #expect(other.timing == lead.timing && other.sendAt == lead.sendAt && other.lane == lead.lane)
    #expect(other.expiration == lead.expiration && other.timeToLive == lead.timeToLive)
    #expect(other.category == lead.category && other.submittedBy == "ada")
    #expect(APNsService().tokenKind(for: other) == .widgets)
  }

  @Test func companionIsNotCountedForCaps() throws {
    #expect(try parse().keepsToCaps)
    #expect(try !companion().keepsToCaps)
    let rules = GrantRules(try companion(), caps: [FrequencyCap(most: 1, seconds: 3600)])
    #expect(!rules.countsUsers)
  }

  @Test func jobInAnotherWritingHasTheSameCompanion() throws {
    let payload = try #require(APNsService().refreshPayload(of: "widgets"))
    let one = Array(
      #"{"id":"a","app":"news","audience":{"segment":"*"},"payload":{"aps":{"alert":"x"}},"also":["widgets"]}"#.utf8)
    let other = Array(
      #"{"also" : ["widgets"],"lane":null,"audience":{"segment": "*"},"app":"news", "id":"\u0061","template":{"payload":{}}}"#
        .utf8)
    let jobs = try [one, other].map {
      try CampaignJob.canonical(try Companion.job(of: $0, "widgets", payload: payload))
    }
    // What is not given counts as nothing, in the companion too.
    #expect(jobs[0] == jobs[1])
  }

  static let refused: [(changes: [String: String], says: String)] = [
    (["also": "\"widgets\""], "also: must be an array"),
    (["also": #"["widget"]"#], "also[0]: 'widget' is no push that shows nothing by itself"),
    (["also": #"["alert"]"#], "also[0]: 'alert' is no push that shows nothing by itself"),
    (["also": #"["widgets","widgets"]"#], "also[1]: stands there twice"),
    (
      ["pushType": "\"widgets\"", "payload": #"{"aps":{"content-changed":true}}"#],
      "also[0]: is the push type of the job itself"
    ),
    (["audience": #"{"tokens":["aa01"]}"#], "also: needs users"),
    (["audience": #"{"segment":"*","limit":5}"#], "also: stands beside audience.limit"),
    (["canary": #"{"share":0.1,"wait":"1m","maxFailures":0}"#], "also: stands beside canary"),
    (["id": "\"\(String(repeating: "a", count: 57))\""], "id: is too long for a job with also"),
    (
      ["id": "\"\(String(repeating: "a", count: 45))\"", "repeat": #"{"cron":"0 9 * * *"}"#],
      "id: is too long for a job with also"
    ),
    (["also": "", "beside": "\"c0\""], "beside: is written by Carillon itself"),
    (["also": "", "beside": "\"c1\"", "id": "\"c1.widgets\""], "beside: is written by Carillon itself"),
  ]

  @Test(arguments: refused)
  func whatCanHaveNoneIsSaid(changes: [String: String], says: String) {
    let error = #expect(throws: JobError.self) { try parse(changes) }
    #expect(error?.reason.hasPrefix(says) == true, "\(error?.reason ?? "")")
    #expect(error?.hint != nil || error?.message.contains("must") == true)
  }

  @Test func idHasRoomForTheLongestOfThem() throws {
    #expect(throws: Never.self) { try parse(["id": "\"\(String(repeating: "a", count: 56))\""]) }
    #expect(try parse(["also": "null"]).also == [] && parse(["also": "[]"]).also == [])
    #expect(try parse(["also": #"["controls","widgets"]"#]).also == ["controls", "widgets"])
    #expect(try companion([:], "controls").id == "c1.controls")
  }

  /// Widgets take provider tokens only: that is said of the job, not of its companion when it is too late.
  @Test func whatTheServiceDoesNotAllowIsSaidOfTheJob() throws {
    let certified = AppTraits(topic: "com.example.news", authentication: .certificate(topics: ["com.example.news"]))
    let error = #expect(throws: JobError.self) {
      try CampaignJob.parse(bytes(), .known(["news": APNsService(certified)]))
    }
    #expect(
      error?.field == "also" && error?.message.contains("widgets needs a provider token") == true,
      "\(String(describing: error))")
  }

  /// A push that is tried alone goes to one token.
  @Test func whatIsSentAloneHasNone() throws {
    let alone = try CampaignJob.alone(bytes(), token: "aa01", suffix: "x")
    #expect(try CampaignJob.parse(alone, Self.apps).also == [])
    let payload = try #require(APNsService().refreshPayload(of: "widgets"))
    let other = try CampaignJob.alone(
      Companion.job(of: bytes(), "widgets", payload: payload), token: "aa01", suffix: "x")
    #expect(try CampaignJob.parse(other, Self.apps).beside == nil)
  }
}
