@testable import APNs
import PushCore
import ServiceTools
import TestKit
import TestSupport
import Testing

@Suite("Lint of a file")
struct PushLintTests {
  private func lint(_ text: String, as type: PushType? = nil, now: Int? = nil) throws -> PushLint {
    try APNsLint(Array(text.utf8), as: type, now: now).result
  }

  @Test("findings have positions and the order of the text")
  func positions() throws {
    let lint = try lint(
      """
      {
        "aps": {
          "alert": {"title": "T", "titel": "x", "loc-args": ["a"]},
          "badge": "1",
          "bagde": 2
        },
        "k": [1, {"n": null}],
        "badge": 1
      }
      """)
    expect(lint.kind, is: .payload)
    let places = lint.findings.map {
      "\($0.position.map { "\($0.line):\($0.column)" } ?? "") \($0.rule.id) \($0.path)"
    }
    expect(
      places,
      is: [
        "3:29 aps-unknown aps.alert.titel", "3:43 localization-arguments aps.alert.loc-args",
        "4:5 aps-type aps.badge", "5:5 aps-unknown aps.bagde", "7:13 null k[1].n", "8:3 aps-beside badge",
      ])
    expect(lint.findings(.error).map(\.path), is: ["aps.alert.titel", "aps.badge", "aps.bagde"])
  }

  @Test("a duplicate key is an error at any depth, with the position of the second one")
  func duplicates() throws {
    let lint = try lint(#"{"aps":{"alert":"a","alert":"b"},"k":[{"x":1,"x":2}]}"#)
    expect(lint.findings.compactMap { APNsRule(rawValue: $0.rule.id) }, is: [.duplicateKey, .duplicateKey])
    expect(lint.findings.map(\.path), is: ["aps.alert", "k[0].x"])
    expect(lint.findings.map { $0.position?.column }, is: [21, 46])
  }

  @Test("each variant of a job is checked, and equal variants get a warning")
  func variants() throws {
    let lint = try lint(
      #"""
      {"id":"a","app":"news","audience":{"segment":"*"},"apns":{"payload":{"aps":{"alert":"hi"}}},
       "variants":[{"name":"a"},{"name":"b","apns":{"payload":{"x":"\#(String(repeating: "x", count: 4100))"}}},
         {"name":"c","apns":{"payload":{"aps":{"bagde":1}}}},{"name":"d","weight":2,"apns":{"payload":{"aps":{"alert":"hi"}}}}]}
      """#)
    expect(lint.kind == .job && lint.variants?.description == "a 20 %, b 20 %, c 20 %, d 40 %")
    expect(
      lint.findings.map { "\($0.rule.id) \($0.path)" },
      is: [
        "payload-size variants[1].apns.payload", "aps-unknown variants[2].apns.payload.aps.bagde",
        "variant-same variants[3]",
      ], "\(lint.findings)")
    expect(lint.sizes.map(\.bytes), is: [4129])
    expect(lint.findings.allSatisfy { $0.position != nil })
  }

  @Test("the push type follows from the keys, unless it is given")
  func inference() throws {
    let cases: [(String, PushType)] = [
      (#"{"aps":{"alert":"a"}}"#, .alert), (#"{"aps":{"content-available":1}}"#, .background),
      (#"{"aps":{"content-available":1,"badge":1}}"#, .alert), (#"{"aps":{"content-changed":true}}"#, .widgets),
      (#"{"aps":{"timestamp":1,"event":"end"}}"#, .liveactivity), (#"{"mdm":"m"}"#, .mdm), ("{}", .alert),
    ]
    for (text, type) in cases {
      let lint = try lint(text)
      expect(lint.pushType == type.rawValue && lint.isInferred)
    }
    let given = try lint(#"{"aps":{"content-available":1}}"#, as: .alert)
    expect(given.pushType == "alert" && !given.isInferred)
    expect(given.findings.compactMap { APNsRule(rawValue: $0.rule.id) }, is: [.alertSilent])
  }

  @Test("without a push type the size is compared with every limit, without blanks")
  func sizes() throws {
    let text = #"{ "aps" : {"alert":"\#(String(repeating: "é", count: 2100))"} }"#
    let inferred = try lint(text)
    expect(inferred.sizes.map(\.name), is: PushType.allCases.map(\.rawValue) + ["broadcast"])
    expect(Set(inferred.sizes.map(\.bytes)), is: [4220])
    expect(inferred.sizes.filter { $0.bytes <= $0.limit }.map(\.name), is: ["voip", "broadcast"])
    expect(inferred.findings.compactMap { APNsRule(rawValue: $0.rule.id) }, is: [.payloadSize])
    let voip = try lint(text, as: .voip)
    expect(voip.sizes.map { "\($0.name) \($0.bytes) \($0.limit)" }, is: ["voip 4220 5120"])
    expect(voip.findings.isEmpty)
  }

  @Test("all mistakes of a job and of its payload are reported together")
  func jobs() throws {
    let text = """
      {"id": "a", "app": "news", "audience": {"segment": "*"}, "lnae": "bulk",
       "apns": {"payload": {"aps": {"alert": "hi"}}, "pushType": "background", "priority": 10}}
      """
    let report = try lint(text)
    expect(report.kind == .job && report.pushType == "background")
    expect(
      report.findings.compactMap { APNsRule(rawValue: $0.rule.id) },
      is: [
        .job, .backgroundSilent, .backgroundVisible, .backgroundPriority,
      ])
    expect(report.findings.map { $0.position?.line }, is: [1, 2, 2, 2])
    expect(report.findings.first?.hint, is: "did you mean 'lane'?")
    expect(try lint(job(["payload": #"{"aps":{"alert":"a"}}"#])).findings, is: [])
    // With apps, lint also checks the rules that depend on them.
    let apps = JobApps.known(["news": [APNsService(AppTraits(topic: "com.example.news.push-type.liveactivity"))]])
    let bytes = Array(job(["payload": #"{"aps":{"alert":"a"}}"#]).utf8)
    expect(
      try APNsLint(bytes, apps: apps).result.findings.compactMap { APNsRule(rawValue: $0.rule.id) }, is: [.topicSuffix])
    expect(
      try APNsLint(bytes, apps: .known([:])).result.findings.compactMap { APNsRule(rawValue: $0.rule.id) }, is: [.job])
  }

  @Test("the parts of an activity's data are added up")
  func activityData() throws {
    let half = #"{"x":"\#(String(repeating: "x", count: 2050))"}"#
    let lint = try lint(
      #"{"aps":{"timestamp":1,"event":"start","attributes-type":"A","attributes":\#(half),"content-state":\#(half),"alert":"a"}}"#
    )
    expect(lint.findings.compactMap { APNsRule(rawValue: $0.rule.id) }, is: [.payloadSize, .activityData])
  }

  @Test("text that is not JSON has its own error")
  func noJSON() {
    let error = #expect(throws: JSONSyntaxError.self) { try lint("{\"aps\":}") }
    expect(error?.column, is: 8)
    #expect(throws: JSONSyntaxError.self) { try lint("redis:\n  url: x\n") }
    #expect(throws: JSONSyntaxError.self) { try lint("") }
  }

  @Test("a payload must be a JSON object")
  func noObject() throws {
    expect(try lint("[1]").findings.compactMap { APNsRule(rawValue: $0.rule.id) }, is: [.apsType])
  }

  // MARK: The binary interface

  static let legacy: [(line: String, says: String, hint: String)] = [
    ("host = gateway.push.apple.com", "the binary interface's gateway, gone since 31 March 2021", "api.push.apple.com"),
    ("ssl://gateway.sandbox.push.apple.com", "sandbox gateway", "api.sandbox.push.apple.com"),
    ("feedback.push.apple.com", "the feedback service", "410 with a timestamp"),
    ("feedback.sandbox.push.apple.com", "the feedback service", "410 with a timestamp"),
    ("apns_port: 2195", "the port of the binary interface", "443 or 2197"),
    ("feedback: x:2196", "the port of the feedback service", "443 or 2197"),
    ("# the feedback service is asked daily", "the feedback service", "410 with a timestamp"),
    ("format: enhanced notification", "a format of the binary interface", "a POST for each push"),
    ("maxPayload = 2048", "2048 bytes", "4096 bytes"), ("payload_limit: 256", "256 bytes", "4096 bytes"),
  ]

  @Test("a trace of the binary interface gets a finding with its replacement and date", arguments: legacy)
  func legacyTraces(line: String, says: String, hint: String) throws {
    let lint = try lint("a: b\n\(line)\n")
    expect(lint.kind == .legacy && lint.pushType == nil)
    let finding = try #require(lint.findings.first { $0.message.contains(says) }, "\(lint.findings)")
    expect(finding.rule == PushRule(APNsRule.legacy) && finding.position?.line == 2)
    expect(finding.hint?.contains(hint), is: true)
  }

  @Test("a trace of the binary interface is found in a JSON configuration too")
  func legacyJSON() throws {
    let lint = try lint(#"{"host":"gateway.push.apple.com","port":2195}"#)
    expect(lint.findings.compactMap { APNsRule(rawValue: $0.rule.id) }, is: [.legacy, .legacy])
  }

  @Test(
    "ports of channel management, other numbers, and text for people are no traces",
    arguments: [
      "host: https://api-manage-broadcast.push.apple.com:2196", "count: 2195", "port: 21950", "limit: 2048",
      "payload: 20480",
    ])
  func noTraces(line: String) {
    #expect(throws: JSONSyntaxError.self) { try lint(line) }
  }

  @Test func textOfAPayloadIsNoTrace() throws {
    expect(try lint(#"{"aps":{"alert":"Our feedback service at port 2195"}}"#).findings, is: [])
  }

  @Test func noMutilatedFileCrashesLint() throws {
    var random = Seed("noMutilatedFileCrashesLint")
    let good = [
      #"{"aps":{"alert":{"title":"é","loc-args":["a"]},"badge":1,"sound":{"critical":1,"volume":0.5}},"k":[1,null]}"#,
      #"{"aps":{"timestamp":1,"event":"start","attributes":{},"content-state":{"a":[1]},"alert":"x"}}"#,
      job(["payload": #"{"aps":{"alert":"a.b[0]"}}"#, "priority": "5"]), "gateway.push.apple.com:2195 é payload 2048",
    ].map { Array($0.utf8) }
    let pieces = ["{", "}", "[", "]", "\"", ",", ":", "null", "1e999", "\"a\":", ".", "aps", "\"alert\":{}", "\n"]
    var looked = 0
    for _ in 0..<5_000 {
      var bytes = good[Int.random(in: 0..<good.count, using: &random)]
      for _ in 0...Int.random(in: 0..<3, using: &random) {
        let position = Int.random(in: 0..<max(1, bytes.count), using: &random)
        switch Int.random(in: 0..<3, using: &random) {
        case 0 where !bytes.isEmpty: bytes[position] = UInt8.random(in: 32...255, using: &random)
        case 1: bytes.insert(contentsOf: (pieces.randomElement(using: &random) ?? "").utf8, at: position)
        default: bytes.insert(contentsOf: bytes[position...].prefix(12), at: position)
        }
      }
      for type in [nil, PushType.liveactivity, .background] {
        guard let lint = try? APNsLint(bytes, as: type, now: 0).result else { continue }
        expect(lint.findings.allSatisfy { $0.position != nil })
        looked += 1
      }
    }
    expect(looked > 500)
  }

  @Test("a template is checked in every language, and its size is that of the largest")
  func templatesAreJudged() throws {
    let long = String(repeating: "x", count: 4100)
    let lint = try APNsLint(
      Array(
        #"{"apns":{"payload":{"aps":{"alert":"Hi {{name}}"}}},"localized":{"de":{"apns":{"payload":{"aps":{"alert":"\#(long)"}}}},"fr":{}}}"#
          .utf8)
    ).result
    expect(lint.kind == .template && lint.pushType == "alert")
    expect(lint.findings.map(\.path) == ["localized.de"] && lint.findings.map(\.rule.id) == ["payload-size"])
    expect(lint.sizes.first?.bytes, is: 4100 + #"{"aps":{"alert":""}}"#.utf8.count)
    let broken = try APNsLint(Array(#"{"apns":{"payload":{"aps":{"alert":"{{}}"}}},"trim":"apns.payload.aps"}"#.utf8))
      .result
    expect(broken.findings(.error).map(\.path), is: ["apns.payload.aps.alert"])
    let job = try APNsLint(Array(#"{"id":"a","app":"n","audience":{"segment":"*"},"template":"x@1"}"#.utf8)).result
    expect(job.kind == .job && job.findings(.error).map(\.path) == ["template"])
  }
}
