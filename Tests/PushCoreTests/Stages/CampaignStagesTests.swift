import APNs
import ServiceTools
import TestKit
import TestSupport
import Testing

@testable import PushCore

/// Stages of a job: their users, the valid jobs, and the parts that a job makes.
struct CampaignStagesTests {
  private static let apps = JobApps.known(["news": [APNsService(AppTraits(topic: "com.example.news"))]])
  private static let three = #"""
    [{"users":["ed","mia"],"wait":"5m","approval":true},
     {"share":0.05,"wait":"30m","maxFailures":0.02,"minOpened":0.01},
     {"share":0.2,"wait":"2h"}]
    """#

  private func bytes(_ stages: String, _ more: [String: String] = [:]) -> [UInt8] {
    Array(job(["payload": #"{"aps":{"alert":"hi"}}"#, "stages": stages].merging(more) { $1 }).utf8)
  }

  private func parse(_ stages: String, _ more: [String: String] = [:], now: Int? = nil) throws -> Campaign {
    try CampaignJob.parse(bytes(stages, more), Self.apps, now: now)
  }

  private func part(_ name: String, _ stages: String, _ more: [String: String] = [:], start: Int = 0) throws -> Campaign
  {
    try CampaignJob.part(CampaignID("c1~" + name), of: bytes(stages, more), Self.apps, start: start)
  }

  private func place(_ stages: CampaignStages, _ user: String) -> Int {
    Array(user.utf8).withUnsafeBytes(stages.draw.index)
  }

  @Test func stagesAreRead() throws {
    let campaign = try parse(Self.three)
    let stages = try #require(campaign.delivery.stages)
    expect(
      stages.all,
      is: [
        .init(.users(["ed", "mia"]), wait: 300, approval: true),
        .init(.share(0.05), wait: 1800, maximumFailures: 0.02, minimumOpened: 0.01), .init(.share(0.2), wait: 7200),
      ])
    expect(campaign.parts.map(\.description), is: ["1", "2", "3", "rest"])
    expect(
      stages.description,
      is: "2 users, once approved and 5m later 5 % of the users, 30m later 20 % of the users, 2h later the rest")
    expect(try parse("null").parts.isEmpty)
    expect(try parse("null", ["also": #"["widgets"]"#]).parts.map(\.description), is: ["main", "main.widgets"])
    let both = try parse(#"[{"share":0.1}]"#, ["also": #"["widgets"]"#])
    expect(both.parts.map(\.description), is: ["1", "1.widgets", "rest", "rest.widgets"])
    // A recurring campaign is not sent itself, so it has no parts.
    expect(try parse(Self.three, ["repeat": #"{"cron":"0 9 * * *"}"#]).parts.isEmpty)
  }

  @Test(arguments: [
    ("7", "stages: must be an array of 1 to 8 stages"), ("[]", "stages: must be an array of 1 to 8 stages"),
    ("[7]", "stages[0]: must be a JSON object"), ("[{}]", "stages[0].users: and share are missing"),
    (#"[{"users":["a"],"share":0.1}]"#, "stages[0].users: can't be combined with share"),
    (#"[{"share":1}]"#, "stages[0].share: must be a number above 0 and below 1"),
    (#"[{"share":0}]"#, "stages[0].share: must be a share"),
    (#"[{"share":0.6},{"share":0.4}]"#, "stages: the shares add up to 1.0"),
    (#"[{"users":[]}]"#, "stages[0].users: must be 1 to 100 users"),
    (#"[{"users":["a\tb"]}]"#, "stages[0].users[0]: "),
    (#"[{"share":0.1,"wait":"8d"}]"#, "stages[0].wait: '8d' is not a duration of up to 7d"),
    (#"[{"share":0.1,"maxFailures":2}]"#, "stages[0].maxFailures: must be a share, from 0 to 1"),
    (#"[{"share":0.1,"minOpened":0}]"#, "stages[0].minOpened: must be a share"),
    (#"[{"share":0.1,"approval":"yes"}]"#, "stages[0].approval: "),
    (#"[{"share":0.1,"wiat":"1h"}]"#, "stages[0].wiat: unknown field"),
  ])
  func problemIsNamed(stages: String, says: String) {
    let error = #expect(throws: JobError.self) { try parse(stages) }
    expect(error?.reason.hasPrefix(says), is: true, "\(error?.reason ?? "")")
  }

  @Test(arguments: [#"{"tokens":["aa01"]}"#, #"{"segment":"*","limit":5}"#, #"{"activity":"match"}"#])
  func audiencesWithoutStagesAreRefused(audience: String) {
    let error = #expect(throws: JobError.self) { try parse(#"[{"share":0.1}]"#, ["audience": audience]) }
    expect(error?.field == "stages" && error?.hint != nil, "\(error?.reason ?? "")")
  }

  // MARK: Users of a stage

  @Test func eachUserIsInOneStageAndSharesAreAsWritten() throws {
    let stages = try #require(try parse(#"[{"share":0.1},{"users":["u7"]},{"share":0.3}]"#).delivery.stages)
    var counts = [0, 0, 0, 0]
    for number in 0..<20_000 { counts[place(stages, "u\(number)")] += 1 }
    // The tolerance is five standard deviations.
    for (place, share) in [(0, 0.1), (2, 0.3), (3, 0.6)] {
      let deviation = (20_000 * share * (1 - share)).squareRoot()
      expect(abs(Double(counts[place]) - 20_000 * share) <= 5 * deviation + 1, "\(counts)")
    }
    expect(counts[1] == 1 && place(stages, "u7") == 1)
    // Another campaign selects other users. The same campaign selects the same users, whatever the rest of its job is.
    let other = CampaignStages(stages.all, campaign: "c2")
    expect((0..<100).contains { place(stages, "u\($0)") != place(other, "u\($0)") })
    expect(
      try parse(#"[{"share":0.1},{"users":["u7"]},{"share":0.3}]"#, ["lane": "\"bulk\""]).delivery.stages, is: stages)
  }

  @Test func listedUserIsInTheFirstStageThatListsThem() throws {
    let stages = try #require(
      try parse(#"[{"share":0.5},{"users":["ada","bob"]},{"users":["bob","zoë","zoë"]}]"#).delivery.stages)
    expect(["ada", "bob", "zoë"].map { place(stages, $0) }, is: [1, 1, 2])
    func listing(_ user: String) -> Int? { Array(user.utf8).withUnsafeBytes(stages.draw.listing) }
    expect(listing("zoë") == 2 && listing("zo") == nil && listing("") == nil && listing("xyz") == nil)
  }

  // MARK: Parts

  @Test func partsAreOfTheSameUsersAndCountFromTheirStart() throws {
    let more = [
      "expiration": "\"4h\"", "maxDuration": "\"2h\"", "control": "0.1", "audience": #"{"segment":"*","sample":0.5}"#,
      "also": #"["widgets"]"#, "quietHours": #"{"from":"22:00","to":"08:00"}"#, "defaultTimezone": "\"Europe/Berlin\"",
    ]
    let whole = try parse(#"[{"share":0.1}]"#, more)
    for name in ["1", "rest", "1.widgets", "rest.widgets"] {
      let part = try part(name, #"[{"share":0.1}]"#, more, start: 1000)
      expect(part.id == "c1~" + name && part.whole == "c1" && part.part?.description == name)
      expect(
        part.delivery.stages == whole.delivery.stages && part.recipients.sample == whole.recipients.sample
          && part.recipients.control == whole.recipients.control)
      expect(
        part.delivery.timing == whole.delivery.timing && part.message.expiration == whole.message.expiration
          && part.parts.isEmpty)
      expect(part.commonExpiration(startingAt: 1000), is: 1000 + 4 * 3600)
      let isCompanion = name.hasSuffix("widgets")
      expect(part.keepsToCaps == !isCompanion && part.message.pushType == (isCompanion ? "widgets" : "alert"))
    }
    #expect(throws: JobError.self) { try part("2", #"[{"share":0.1}]"#) }
    #expect(throws: JobError.self) { try part("main", #"[{"share":0.1}]"#) }
  }

  /// The push of a companion is checked with the job.
  @Test func companionsAreCheckedWithTheJob() throws {
    for more in [
      ["quietHours": #"{"from":"22:00","to":"08:00"}"#, "defaultTimezone": "\"Europe/Berlin\""],
      ["localTime": "true", "sendAt": "\"2026-12-01T09:00:00\"", "late": "\"2h\""],
    ] { #expect(throws: Never.self) { try parse("null", more.merging(["also": #"["widgets"]"#]) { $1 }) } }
  }

  @Test func ratesOfTheWholeAreDivided() throws {
    let stages = #"[{"users":["a"],"wait":"100s"},{"share":0.25,"wait":"300s"}]"#
    func rates(_ more: [String: String], _ starts: [Int]) throws -> [CampaignRate?] {
      try zip(["1", "2", "rest"], starts).map { try part($0, stages, more, start: $1).delivery.rate }
    }
    expect(try rates(["rate": "50"], [0, 0, 0]), is: [.perSecond(50), .perSecond(50), .perSecond(50)])
    expect(try rates(["spread": "\"1h\""], [0, 0, 0]), is: [nil, .over(seconds: 900), .over(seconds: 2700)])
    // The waits take 400 of the 2,000 s, so 1,600 s remain for pushes. The last stage has the time from its beginning
    // to the end.
    let end = ["finishBy": "\"1970-01-01T00:33:20Z\""]
    expect(try rates(end, [0, 100, 800]), is: [nil, .over(seconds: 400), .until(milliseconds: 2_000_000)])
  }

  @Test func eachStageWaitsForItsLocalTime() throws {
    let more = ["localTime": "true", "sendAt": "\"2026-12-01T09:00:00\""]
    let (stages, wall) = (#"[{"share":0.1,"wait":"1h"}]"#, 1_796_115_600)
    let beginning = wall - 14 * 3600
    expect(try part("1", stages, more, start: beginning).delivery.timing.localTime?.wall, is: wall)
    // The stage uses the local time of the first day on which no clock has shown that time yet.
    for (start, days) in [(beginning, 0), (beginning + 1, 1), (beginning + 86_400, 1), (beginning + 86_401, 2)] {
      let rest = try part("rest", stages, more, start: start)
      expect(rest.delivery.timing.localTime?.wall, is: wall + days * 86_400)
      expect(rest.delivery.sendAt, is: (beginning + days * 86_400) * 1000)
    }
  }

  @Test func jobThatEndsBeforeTheWaitsIsRefused() throws {
    let stages = #"[{"share":0.1,"wait":"1h"},{"share":0.1,"wait":"1h"}]"#
    let now = 1_796_115_600
    let (early, late) = ("\"2026-12-01T11:00:00Z\"", "\"2026-12-01T11:00:01Z\"")
    for field in ["expiration", "finishBy"] {
      let error = #expect(throws: JobError.self) { try parse(stages, [field: early], now: now) }
      expect(error?.field == field && error?.message.contains("before the last pushes start") == true)
      #expect(throws: Never.self) { try parse(stages, [field: late], now: now) }
      #expect(throws: JobError.self) { try parse(stages, [field: late, "sendAt": "\"2026-12-01T09:00:01Z\""]) }
    }
    #expect(throws: Never.self) { try parse(stages, ["expiration": "\"1m\""], now: now) }
    // The last stage would start on another day, because each stage waits for its local time.
    let local = ["localTime": "true", "sendAt": "\"2026-12-01T09:00:00\"", "expiration": "\"2026-12-02T09:00:00Z\""]
    #expect(throws: JobError.self) { try parse(stages, local) }
  }

  @Test func lintRefusesItToo() throws {
    let stages = #"[{"share":0.1,"wait":"1h"}]"#
    let now = 1_796_115_600
    func problems(_ more: [String: String]) throws -> [String] {
      try APNsTools().lint(
        bytes(stages, more), resolved: nil, as: nil, app: nil, apps: Self.apps, now: now
      ).findings(.error).map(\.path)
    }
    expect(try problems(["expiration": "\"2026-12-01T09:30:00Z\""]), is: ["expiration"])
    expect(try problems(["finishBy": "\"2026-12-01T09:30:00Z\""]), is: ["finishBy"])
    expect(try problems(["expiration": "\"2026-12-01T10:30:00Z\""]), is: [])
  }

  /// A date in the payload must not have passed when the last stage begins.
  @Test func datesOfThePayloadHoldForTheLastStage() throws {
    let now = 1_796_115_600
    func job(_ stale: String) -> [String: String] {
      [
        "pushType": "\"liveactivity\"",
        "payload": #"{"aps":{"event":"start","attributes-type":"A","attributes":{},"content-state":{},"alert":{"#
          + "\"title\":\"x\",\"body\":\"y\"},\"stale-date\":\(stale)}}",
      ]
    }
    let stages = #"[{"share":0.1,"wait":"1h"}]"#
    let error = #expect(throws: JobError.self) { try parse(stages, job("\(now + 1800)"), now: now) }
    expect(error?.message.contains("(when the last stage begins)"), is: true, "\(error?.message ?? "")")
    #expect(throws: Never.self) { try parse(stages, job("\(now + 7200)"), now: now) }
    // A date as a duration counts from the beginning of each stage.
    #expect(throws: Never.self) { try parse(stages, job("\"30m\""), now: now) }
    let bytes = bytes(stages, job("\"30m\""))
    for start in [now, now + 3600] {
      let part = try CampaignJob.part(CampaignID("c1~rest"), of: bytes, Self.apps, start: start)
      expect(String(decoding: part.message.payload, as: UTF8.self).contains("\"stale-date\":\(start + 1800)"))
    }
  }

  // MARK: Gates

  private func verdict(
    _ stage: String, _ finding: StageGate.Finding, now: Int = 10_000, variants: Bool = false
  ) throws -> StageGate.Verdict {
    let more = variants ? ["variants": #"[{"name":"a"},{"name":"b","apns":{"payload":{"n":1}}}]"#] : [:]
    let gate = try #require(StageGate(behind: 0, of: parse("[\(stage)]", more)))
    return gate.verdict(finding, now: now)
  }

  @Test func gateWaitsForOutcomesAndThenForItsDuration() throws {
    let stage = #"{"share":0.1,"wait":"8s","maxFailures":0}"#
    expect(try verdict(stage, .init(finishedAt: nil)), is: .unfinished)
    let finding = StageGate.Finding(finishedAt: 2001, legs: [("", [.accepted: 1])])
    expect(try verdict(stage, finding, now: 10_000), is: .wait(until: 10_001))
    expect(try verdict(stage, finding, now: 10_001), is: .open(winner: nil))
    expect(StageGate(behind: 1, of: try parse("[\(stage)]")) == nil)
  }

  /// In a sum over all legs, the failures of a small leg would not be noticed.
  @Test func gateJudgesTheFailuresOfEachLeg() throws {
    let finding = StageGate.Finding(
      finishedAt: 1, legs: [("apns", [.accepted: 990, .rejected: 10]), ("fcm", [.accepted: 10, .failed: 10])])
    let verdict = try verdict(#"{"share":0.1,"maxFailures":0.1}"#, finding)
    guard case .pause(let reason, _) = verdict else { throw TestSupportError("not paused: \(verdict)") }
    expect(reason.hasPrefix("stage 1: 10 of 20 pushes to fcm failed, more than 10 %"))
  }

  @Test(
    arguments: [
      (#"{"share":0.1}"#, [:], 0, nil), (#"{"share":0.1,"approval":true}"#, [:], 0, "stage 1: it needs approval; "),
      (#"{"share":0.1,"maxFailures":0.1}"#, [.accepted: 9, .rejected: 1], 0, nil),
      (
        #"{"share":0.1,"maxFailures":0.1}"#, [.accepted: 8, .rejected: 1], 0,
        "stage 1: 1 of 9 pushes failed, more than 10 %"
      ),
      // Devices that are gone are not failures, and count as answers.
      (#"{"share":0.1,"maxFailures":0.1}"#, [.accepted: 4, .unregistered: 5, .rejected: 1], 0, nil),
      (#"{"share":0.1,"maxFailures":0}"#, [.capped: 5], 0, "stage 1: no push of the stage was answered"),
      (#"{"share":0.1,"minOpened":0.25}"#, [.accepted: 8], 2, nil),
      (#"{"share":0.1,"minOpened":0.25}"#, [.accepted: 8], 1, "stage 1: 1 of 8 users have opened it, less than 25 %"),
      (#"{"share":0.1,"minOpened":0.25}"#, [.rejected: 8], 0, "stage 1: no push of the stage was accepted"),
    ] as [(String, [Outcome: Int], Int, String?)])
  func gateChecksItsConditions(stage: String, outcomes: [Outcome: Int], opened: Int, says: String?) throws {
    let finding = StageGate.Finding(finishedAt: 1, legs: [("", outcomes)], opened: opened)
    switch try verdict(stage, finding) {
    case .open(winner: nil): expect(says, is: nil)
    case .pause(let reason, let needsApproval):
      expect(says.map(reason.hasPrefix), is: true, "\(reason)")
      expect(needsApproval == stage.contains("approval") && reason.contains("carillon campaign "))
    default: Issue.record("neither open nor paused")
    }
    // An operator has resumed the campaign in spite of the verdict.
    var overridden = finding
    overridden.isOverridden = true
    expect(try verdict(stage, overridden), is: .open(winner: nil))
  }

  /// A user with two devices who opens the push once counts as one of the reached users.
  @Test func gateCountsUsersWhoOpenedAmongUsers() throws {
    let stage = #"{"share":0.1,"minOpened":0.25}"#
    var finding = StageGate.Finding(finishedAt: 1, legs: [("", [.accepted: 8])], users: 4, opened: 1)
    expect(try verdict(stage, finding), is: .open(winner: nil))
    // At most as many users were reached as pushes were accepted.
    finding.users = 20
    guard case .pause(let reason, _) = try verdict(stage, finding) else {
      Issue.record("the gate opened")
      return
    }
    expect(reason.hasPrefix("stage 1: 1 of 8 users have opened it, less than 25 %"))
  }

  @Test func gateChoosesTheWinner() throws {
    let stage = #"{"share":0.1,"winner":{"minimum":10}}"#
    func finding(_ counted: [Int], winner: Int? = nil, isOverridden: Bool = false) -> StageGate.Finding {
      .init(finishedAt: 1, variants: (counted, [100, 100]), winner: winner, isOverridden: isOverridden)
    }
    expect(try verdict(stage, finding([4, 6]), variants: true), is: .open(winner: 1))
    guard case .pause(let reason, false) = try verdict(stage, finding([4, 5]), variants: true) else {
      Issue.record("nine are too few")
      return
    }
    expect(reason.hasPrefix("stage 1: no winner: 9 opened in total, 10 needed"), "\(reason)")
    expect(try verdict(stage, finding([4, 5], isOverridden: true), variants: true), is: .open(winner: 1))
    expect(try verdict(stage, finding([4, 5], winner: 0), variants: true), is: .open(winner: 0))
    let otherwise = #"{"share":0.1,"winner":{"minimum":10,"otherwise":"a"}}"#
    expect(try verdict(otherwise, finding([4, 5]), variants: true), is: .open(winner: 0))
  }

  // MARK: The campaign's id in the payload

  @Test func payloadCarriesTheCampaignsID() throws {
    let bytes = bytes(#"[{"share":0.1}]"#, ["campaignKey": "\"campaign\"", "uniqueKey": "\"push\""])
    func payload(_ campaign: Campaign) throws -> String {
      var payload: [UInt8] = []
      expect(try #require(campaign.message.content).write(.none, id: (0, 1), most: 4096, to: &payload))
      return String(decoding: payload, as: UTF8.self)
    }
    expect(try payload(CampaignJob.parse(bytes, Self.apps)).hasSuffix(#","campaign":"c1"}"#))
    for name in ["c1~1", "c1~rest"] {
      let part = try CampaignJob.part(CampaignID(name), of: bytes, Self.apps, start: 0)
      expect(try payload(part).hasSuffix(#","campaign":"c1"}"#))
    }
    let run = try CampaignJob.parse(bytes, Self.apps, as: "c1~20261201T0900")
    expect(
      try payload(run).hasSuffix(#","campaign":"c1~20261201T0900"}"#) && run.message.content?.needsTarget == false)
    for (key, says) in [
      ("aps", "already has a member 'aps'"), ("push", "is the same as uniqueKey"), ("a b", "is not a valid key"),
    ] {
      let error = #expect(throws: JobError.self) {
        try parse("null", ["campaignKey": "\"\(key)\"", "uniqueKey": "\"push\""])
      }
      expect(error?.message.contains(says), is: true, "\(error?.message ?? "")")
    }
  }
}
