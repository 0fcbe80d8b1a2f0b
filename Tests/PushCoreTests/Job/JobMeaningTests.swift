import APNs
import TestKit
import TestSupport
import Testing

@testable import PushCore

/// Meaning of jobs: a job with an explicit default is the same job.
struct JobMeaningTests {
  private static let service = APNsService()

  /// Values of each field that mean the same as its absence, and the other fields that the job then needs. `nil` for a
  /// field without a default, or with one that can't be written.
  private static let defaults: [String: (values: [String], beside: [String: String])?] = [
    "id": nil, "app": nil, "message": nil, "control": nil, "category": nil, "template": nil, "trim": nil,
    "uniqueKey": nil, "campaignKey": nil, "collapseId": nil, "sendAt": nil, "rate": nil, "spread": nil, "finishBy": nil,
    "maxDuration": nil,
    "audience": ([#"{"segment":"*","devices":"all"}"#], [:]),
    "services": ([#"["apns"]"#], [:]), "urgency": ([#""high""#], [:]),
    "apns": (
      [
        #"{"payload":{"aps":{"alert":"hi"}},"pushType":"alert","priority":10}"#,
        #"{"payload":{"aps":{"alert":"hi"}},"priority":null}"#,
      ],
      [:]
    ),
    "expiration": (["0"], ["pushType": #""voip""#, "audience": #"{"users":["a"]}"#]),
    "lane": ([#""normal""#], [:]), "results": ([#""failures""#], [:]), "ambiguity": ([#""resend""#], [:]),
    "ttl": ([#""7d""#, #""168h""#], [:]), "transactional": (["false"], [:]), "vars": (["false"], [:]),
    "localTime": (["false"], [:]), "also": (["[]"], [:]), "localized": (["{}"], [:]),
    "submittedBy": ([#""ada""#], [:]),
    "late": ([#""1h""#, #""60m""#], ["sendAt": #""2026-12-01T09:00:00Z""#]),
    "defaultTimezone": ([#""UTC""#], ["quietHours": #"{"from":"22:00","to":"08:00"}"#]),
    "quietHours": ([#"{"from":"22:00","to":"08:00","then":"hold"}"#], [:]),
    "repeat": ([#"{"cron":"0 9 * * *","zone":"UTC","skipIfRunning":false}"#], [:]),
    "stages": (
      [#"[{"share":0.5,"wait":"0m","approval":false,"winner":{"by":"opened","minimum":20}}]"#],
      ["variants": #"[{"name":"a"},{"name":"b","apns":{"payload":{"x":1}}}]"#]
    ),
    "variants": (
      [#"[{"name":"a","weight":1,"localized":{}},{"name":"b","weight":1.0,"apns":{"payload":{"x":1}}}]"#], [:]
    ),
  ]

  /// The fields above whose values contain nested defaults, here without those defaults.
  private static let bare = [
    "apns": #"{"payload":{"aps":{"alert":"hi"}}}"#,
    "audience": #"{"segment":"*"}"#, "quietHours": #"{"from":"22:00","to":"08:00"}"#,
    "repeat": #"{"cron":"0 9 * * *"}"#, "stages": #"[{"share":0.5,"winner":{}}]"#,
    "variants": #"[{"name":"a"},{"name":"b","apns":{"payload":{"x":1}}}]"#,
  ]

  private func meaning(_ changes: [String: String]) throws -> String {
    let meaning = try CampaignJob.meaning(of: Array(job(changes).utf8)) { _ in [Self.service] }
    return String(decoding: meaning, as: UTF8.self)
  }

  @Test(arguments: CampaignJob.fields + ["apns"]) func defaultThatIsWrittenOutIsTheSameJob(field: String) throws {
    let row = try #require(Self.defaults[field], "a field without a row: \(field)")
    guard let (values, beside) = row else { return }
    var without = beside
    without[field] = Self.bare[field]
    for value in values {
      let with = without.merging([field: value]) { $1 }
      expect(try meaning(with), is: try meaning(without), "\(field)")
      var campaigns: [Campaign] = []
      for changes in [with, without] {
        let text = Array(job(changes.merging(["payload": #"{"aps":{"alert":"hi"}}"#]) { own, _ in own }).utf8)
        var campaign = try CampaignJob.read(
          JSONValue(parsing: text, maximumDepth: CampaignJob.maximumNesting), in: text, .any([Self.service])
        ).campaign
        campaign.submittedBy = nil
        campaigns.append(campaign)
      }
      expect(campaigns[0], is: campaigns[1], "the table is wrong about \(field)")
    }
  }

  @Test(arguments: [
    ["priority": "5"], ["urgency": #""normal""#], ["priority": "10", "pushType": #""background""#],
    ["lane": #""bulk""#], ["ttl": #""8d""#],
    ["late": #""2h""#, "sendAt": #""2026-12-01T09:00:00Z""#], ["transactional": "true"],
    ["payload": #"{"aps":{"alert":"hi"},"lane":"normal"}"#], ["audience": #"{"segment":"*","devices":"lastSeen"}"#],
  ])
  func otherValuesAreAnotherJob(changes: [String: String]) throws {
    var plain = changes
    plain.removeValue(forKey: changes.keys.contains("priority") ? "priority" : changes.keys.sorted()[0])
    expect(try meaning(changes) != meaning(plain))
  }

  @Test(arguments: [
    ("sendAt", #""2026-12-01T09:00:00Z""#, #""2026-12-01T10:00:00.000+01:00""#),
    ("finishBy", #""2026-12-01T09:00:00Z""#, #""2026-12-01t09:00:00z""#),
    ("expiration", #""4h""#, #""240m""#), ("expiration", #""2026-12-01T09:00:00Z""#, #""2026-12-01T04:00:00-05:00""#),
    ("ttl", #""2d""#, #""48h""#), ("maxDuration", #""90m""#, #""5400s""#), ("spread", #""1h""#, #""01h""#),
    ("stages", #"[{"share":0.1,"wait":"2h"}]"#, #"[{"share":0.1,"wait":"120m"}]"#),
    (
      "repeat", #"{"cron":"0 9 * * *","end":"2026-12-01T09:00:00Z"}"#,
      #"{"cron":"0 9 * * *","end":"2026-12-01T11:00:00+02:00"}"#
    ),
  ])
  func otherSpellingOfATimeIsTheSameJob(field: String, value: String, other: String) throws {
    expect(try meaning([field: value]), is: try meaning([field: other]))
  }

  @Test(arguments: [
    ("sendAt", #""2026-12-01T09:00:00Z""#, #""2026-12-01T09:00:00.001Z""#),
    ("sendAt", #""2026-12-01T09:00:00Z""#, #""2026-12-01T09:00:00""#), ("ttl", #""2d""#, #""2h""#),
    ("expiration", #""0""#, #""1s""#),
  ])
  func otherTimeIsAnotherJob(field: String, value: String, other: String) throws {
    expect(try meaning([field: value]) != meaning([field: other]))
  }

  /// A job without explicit defaults has the same digest as in earlier versions.
  @Test func jobWithoutDefaultsKeepsItsForm() throws {
    let text = Array(job(["payload": #"{"aps":{"alert":"hi"}}"#, "rate": "5"]).utf8)
    expect(try CampaignJob.meaning(of: text) { _ in [Self.service] }, is: try CampaignJob.canonical(text))
  }
}
