import APNs
import Foundation
import PushCore
import TestKit
import TestSupport
import Testing

/// Comparison of the published JSON Schema of a job with the parser, by an independent validator (`jsonschema` of
/// PyPI).
struct JobSchemaTests {
  private static let package = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")
    .standardized
  private static let python = package.appending(path: ".build/checkers/bin/python").path
  private static let isPresent = FileManager.default.isExecutableFile(atPath: python)

  /// Returns the validator's message for each job; `nil` for a valid one.
  private func problems(_ jobs: [String]) async throws -> [String?] {
    let folder = try ScratchFolder("schema")
    let schema = try folder.write("schema.json", JobSchema.document([APNsService()]))
    let lines = jobs.map { $0.replacing("\n", with: " ") + "\n" }.joined()
    let output = try await ChildProcess.run(
      Self.python,
      [
        URL(filePath: #filePath).deletingLastPathComponent().appending(path: "job_schema_witness.py").path, schema,
        try folder.write("jobs", lines),
      ], environment: ["PYTHONUTF8": "1"])
    try #require(output.exit == .status(0), "\(output.standardError)")
    let verdicts = output.standardOutput.split(separator: "\n").map { $0 == "-" ? nil : String($0) }
    try #require(verdicts.count == jobs.count, "\(output.standardOutput)")
    return verdicts
  }

  private static let hour = "\"2026-12-01T09:00:00\""

  /// Changes after which a valid job is still valid. Every field occurs in one of them.
  static let good: [[String: String]] = [
    [:], ["priority": "1", "pushType": "\"background\"", "payload": #"{"aps":{"content-available":1}}"#],
    ["services": #"["apns"]"#], ["expiration": "0"], ["expiration": "\"0\""], ["expiration": "\"4h\""],
    ["expiration": "\"2026-12-01T09:00:00.9Z\""],
    ["collapseId": "\"sale é\"", "lane": "\"urgent\"", "results": "\"all\"", "ambiguity": "\"skip\"", "ttl": "\"2d\""],
    ["sendAt": "\"2026-12-01T10:00:00.250+01:00\""], ["rate": "0.5"], ["rate": "1e6"], ["spread": "\"2h\""],
    ["finishBy": "\"1970-01-01T00:00:01Z\""], ["category": "\"offers\""], ["transactional": "true"],
    ["category": "\"offers\"", "transactional": "false"], ["control": "0.05"],
    ["stages": #"[{"users":["qa1","zoë"],"wait":"10m","approval":true},{"share":0.05}]"#], ["submittedBy": "\"ada\""],
    ["stages": #"[{"share":0.01,"wait":"0s","maxFailures":0,"users":null}]"#],
    ["stages": #"[{"share":0.01,"wait":"10m","maxFailures":0.05,"minOpened":0.02,"winner":null}]"#],
    ["localized": #"{"de":{"apns":{"payload":{"aps":{"alert":"Hallo"}}}}}"#, "payload": #"{"aps":{"alert":"Hello"}}"#],
    [
      "trim": "\"apns.payload.aps.alert\"", "payload": #"{"aps":{"alert":"{{name|you}}"}}"#, "uniqueKey": "\"push\"",
      "campaignKey": "\"campaign\"",
    ],
    ["also": #"["widgets"]"#], ["also": #"["widgets"]"#, "stages": #"[{"share":0.1,"wait":"1m"}]"#],
    ["variants": #"[{"name":"a"},{"name":"b","weight":2.5,"apns":{"payload":{"n":1}},"localized":null}]"#],
    [
      "variants":
        #"[{"name":"a","apns":{"payload":{"aps":{"badge":1}}}},{"name":"b","apns":{"payload":{"aps":{"badge":2}}}}]"#,
      "payload": "",
      "stages": #"[{"share":0.25,"wait":"2h","winner":{"by":"accepted","minimum":10,"otherwise":"b"}}]"#,
    ],
    [
      "payload": "", "urgency": "\"low\"", "services": #"["apns"]"#,
      "message":
        #"{"title":"T","body":"B","image":"https://a/i","link":"app:l","sound":"s","badge":"+12","data":{"k":"v"}}"#,
    ],
    [
      "message": #"{"title":null,"badge":3}"#, "localized": #"{"de":{"title":"T","apns":{"payload":{"n":1}}}}"#,
      "variants": #"[{"name":"a","message":{"body":"A"}},{"name":"b","message":{"badge":null,"body":"B"}}]"#,
    ],
    ["vars": "true", "payload": #"{"aps":{"alert":"{{price}}"}}"#],
    ["audience": #"{"segment":"vip & (a | !b)","where":"locale = 'en'","sample":0.5,"devices":"latest"}"#],
    ["audience": #"{"segment":"*","limit":1000000000,"where":null,"exclude":null}"#],
    [
      "audience": #"{"users":["ada",{"user":"bob","vars":{"a":1,"b":"x","c":true}}]}"#,
      "payload": #"{"aps":{"alert":"{{a|a}}"}}"#,
    ],
    ["audience": #"{"users":["ada"],"tokens":null}"#], ["audience": #"{"tokens":["00FF","<00 ff>"]}"#],
    ["audience": #"{"tokens":["00ff"],"where":null}"#, "control": "null"],
    ["audience": #"{"campaign":"old"}"#], ["audience": #"{"campaign":"old","opened":false}"#],
    ["audience": #"{"campaign":"old","outcome":"expired"}"#],
    [
      "audience":
        #"{"campaign":"old","outcome":["expired","accepted"],"exclude":{"segment":"vip","campaign":["b","old"]}}"#
    ],
    ["audience": #"{"segment":"*","exclude":{"campaign":"b","opened":true}}"#],
    ["audience": #"{"segment":"*","exclude":{"activity":"match-17"}}"#],
    [
      "audience": #"{"activity":"match-17"}"#, "pushType": "\"liveactivity\"",
      "payload": #"{"aps":{"timestamp":1,"event":"update","content-state":{}}}"#,
    ],
    [
      "audience": #"{"channel":"dHN0LXNyY2gtY2hubA=="}"#, "pushType": "\"liveactivity\"", "expiration": "\"4h\"",
      "payload": #"{"aps":{"timestamp":1,"event":"update","content-state":{}}}"#,
    ],
    ["sendAt": hour, "localTime": "true", "late": "\"0s\""], ["localTime": "false", "maxDuration": "\"6h\""],
    [
      "sendAt": hour, "localTime": #"{"attribute":"hour"}"#, "defaultTimezone": "\"Europe/Berlin\"",
      "quietHours": #"{"from":"22:00","to":"08:00","then":"drop"}"#,
    ],
    ["quietHours": #"{"from":"22:00","to":"08:00"}"#],
    ["repeat": #"{"cron":"0 9 * * mon-fri","zone":"Europe/Berlin","end":"2027-01-01T00:00:00Z","count":3}"#],
    ["repeat": #"{"cron":"0 9 * * *","skipIfRunning":true,"end":"2027-01-01T00:00:00"}"#, "localTime": "true"],
    [
      "collapseId": "null", "sendAt": "null", "lane": "null", "rate": "null", "stages": "null", "template": "null",
      "priority": "null", "repeat": "null", "localTime": "null", "localized": "null", "trim": "null",
    ],
  ]

  /// Mistakes that the schema accepts, by field, with a part of the parser's message. They need the parser:
  /// expressions, schedules, zones, ids and other texts; sizes in bytes; values of the push service; and combinations
  /// of two members.
  private static let beyondSchema: Set<String> = [
    "app: did you mean 'news'?", "app: known: news, shop", "audience.activity: this push type can't use them",
    "audience.channel: is not Base64", "audience.channel: longer than 200", "audience.exclude.segment: column 6",
    "audience.segment: column 7: expected a segment name", "audience.tokens[1]: is not a device token",
    "audience.users[0].token: is not a device token",
    "audience.users[1]: has vars twice", "audience.where: column 10: this field has no order",
    "audience: names the campaign itself", "collapseId: 66 bytes, which is 2 over the 64",
    "defaultTimezone: did you mean 'Europe/Berlin'?", "expiration: RFC 3339", "expiration: is not after sendAt",
    "finishBy: is not after sendAt", "localized.de.apns.payload.aps.sound: must be",
    "localized.de: over the 4096", "localized: which tokens do not have",
    "apns.payload.aps.alert.title: has no valid name", "apns.payload: for user 'ada', which is",
    "apns.payload: which tokens do not have",
    // In JSON Schema 5 and 5.0 are the same number.
    "apns.priority: must be the number 10, 5 or 1", "apns.priority: use 5",
    "apns.pushType: a channel accepts only liveactivity", "quietHours.to: must differ from",
    "repeat.cron: '25' is not a valid hour: it must be 0 to 23", "repeat.zone: is not a time zone",
    "spread: from 1s to 7d", "template: templates are kept in the store", "ttl: is not a duration",
  ]

  @Test(
    "valid jobs are valid by the schema",
    .enabled(if: isPresent, "deploy/install-checkers has not made .build/checkers"))
  func jobsAreValid() async throws {
    var jobs = Self.good.map(job)
    for text in jobs { _ = try parse(text) }
    let named = jobs.joined()
    for field in CampaignJob.fields { expect(named.contains("\"\(field)\":"), "no job has \(field)") }
    // Valid results of random changes are tested too.
    var random = Seed("jobsAreValid")
    for _ in 0..<18_000 {
      var bytes = Array(try #require(jobs.prefix(Self.good.count).randomElement(using: &random)).utf8)
      let position = Int.random(in: 0..<bytes.count, using: &random)
      switch Int.random(in: 0..<3, using: &random) {
      case 0: bytes[position] = UInt8.random(in: 0x20...0x7e, using: &random)
      case 1: bytes.remove(at: position)
      default: bytes.insert(UInt8.random(in: 0x20...0x7e, using: &random), at: position)
      }
      let text = String(decoding: bytes, as: UTF8.self)
      if (try? parse(text)) != nil { jobs.append(text) }
    }
    expect(jobs.count > 1000)
    for (text, problem) in zip(jobs, try await problems(jobs)) { expect(problem, is: nil, "\(problem ?? ""): \(text)") }
  }

  @Test(
    "the schema rejects the mistakes that it can express",
    .enabled(if: isPresent, "deploy/install-checkers has not made .build/checkers"))
  func mistakesAreFound() async throws {
    // The test leaves out a number beyond the range of the validator.
    let mistakes = CampaignJobTests.mistakes.filter { !$0.change.values.contains("1e999") }
    let verdicts = try await problems(mistakes.map { job($0.change) })
    let passed = zip(mistakes, verdicts).filter { $1 == nil }.map { "\($0.0.field): \($0.0.says)" }
    print("the schema refuses \(mistakes.count - passed.count) of \(mistakes.count) mistakes")
    expect(Set(passed), is: Self.beyondSchema, "\(passed.sorted().joined(separator: "\n"))")
  }
}
