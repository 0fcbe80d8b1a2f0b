import APNs
import Logging
import PushCore
import ServiceTools
import TestKit
import TestSupport
import Testing

@testable import CampaignStore
@testable import CommandSupport
@testable import carillon

struct TextTableTests {
  @Test func columnsLineUpWithoutBlanksAtTheEnd() {
    expect(TextTable([["a", "bcd"], ["abc", ""], ["x"]]).text, is: "a    bcd\nabc  \nx")
    expect(TextTable([]).text, is: "")
  }
}

struct ReasonGuideTests {
  @Test(arguments: Reason.allCases.filter { !$0.name.isEmpty })
  func everyReasonIsExplained(reason: Reason) {
    let unknown = ReasonGuide(status: 400, reason: .other)
    let guide = ReasonGuide(status: 400, reason: reason)
    expect(guide.meaning != unknown.meaning && !guide.hint.isEmpty)
  }

  @Test func unknownReasonIsExplainedByItsStatus() {
    expect(ReasonGuide(status: 200, reason: .none).meaning.hasPrefix("accepted"))
    expect(ReasonGuide(status: 502, reason: .none).hint.contains("15 minutes"))
    expect(ReasonGuide(status: 302, reason: .none).hint.contains("proxy"))
  }
}

struct ResultWriterTests {
  @Test func tokensOfSeveralServicesAreWrittenInTheirOwnForms() throws {
    let services = try ["apns", "fcm"].map(PushServices.known.named)
    var writer = ResultWriter(campaign: "a", services: services, format: .csv)
    let texts = ["00ff", "cAAAAAAAAAAAAAAAAAAAAA:APA91bX"]
    for (service, text) in zip(services, texts) {
      writer.append(
        TargetResult(
          user: "u", token: try service.token(argument: text), service: service.name, outcome: .accepted, status: 200,
          reason: "", at: 0, variant: nil, record: LedgerRecord(state: .terminal(.accepted)), isDerived: false))
    }
    let lines = String(decoding: writer.take(), as: UTF8.self).split(whereSeparator: \.isNewline)
    expect(lines.first, is: "campaign,user,token,outcome,status,reason,apnsId,at,service")
    let rows = lines.dropFirst().map { $0.split(separator: ",", omittingEmptySubsequences: false) }
    expect(rows.map { $0[2] }, is: ["00ff", "cAAAAAAAAAAAAAAAAAAAAA:APA91bX"])
    expect(rows.map { $0[6].count }, is: [36, 0])
    expect(rows.map { $0[8] }, is: ["apns", "fcm"])
  }
}

struct CampaignVerbOutcomeTests {
  @Test func resumeNamesThePausesThatItEnds() throws {
    var outcome = CampaignVerbOutcome(id: "digest", state: .scheduled)
    expect(outcome.text == "digest scheduled" && !outcome.json.contains("resumed"))
    outcome.resumed = [.init(id: "digest", reason: nil)]
    expect(outcome.text == "digest scheduled" && outcome.json.contains("resumed"))
    outcome.resumed = [.init(id: "digest~1", reason: "wro\u{202E}ng"), .init(id: "digest~2", reason: nil)]
    expect(
      outcome.text,
      is: """
        digest scheduled
          resumed digest~1, which was paused with the reason: wro\u{FFFD}ng
          resumed digest~2, which was paused without a reason
        """)
    let resumed = try #require(try JSONObject(outcome.json).objects("resumed"))
    expect(resumed.map { $0.text("id") } == ["digest~1", "digest~2"] && resumed[0].text("reason") == "wro\u{202E}ng")
  }
}

struct ImportReportTests {
  @Test func errorListIsBoundedAndTheCountContinues() {
    var report = ImportReport()
    for line in 1...(ImportReport.maximumErrors + 5) { report.skip(line: line, "bad", of: "x", json: true) }
    expect(report.errors.count, is: ImportReport.maximumErrors)
    expect(report.skipped, is: ImportReport.maximumErrors + 5)
    expect(report.rows, is: report.skipped)
  }
}

struct LineReaderTests {
  private func lines(_ text: String, maximumLength: Int = 5) throws -> [String] {
    let folder = try ScratchFolder()
    var reader = LineReader(try InputFile(folder.write("x", text)), maximumLength: maximumLength)
    var lines: [String] = []
    while true {
      let page = try reader.read()
      if page.isEmpty { return lines }
      lines += page.map { "\($0.number):\($0.text ?? "bad")" }
    }
  }

  @Test(arguments: [
    ("", []), ("a", ["1:a"]), ("a\n", ["1:a"]), ("a\r\n\nb", ["1:a", "2:", "3:b"]), ("\u{FEFF}a\n", ["1:a"]),
    ("12345\r\n", ["1:12345"]), ("123456\n7\n", ["1:bad", "2:7"]), ("1234567890", ["1:bad"]),
  ])
  func readsLinesOfAnyEnd(text: String, expected: [String]) throws {
    expect(try lines(text), is: expected)
  }

  @Test func lineAcrossChunksIsOne() throws {
    let long = String(repeating: "x", count: InputFile.chunk + 10)
    expect(try lines(long + "\nb\n", maximumLength: InputFile.chunk * 2), is: ["1:" + long, "2:b"])
    expect(try lines(long + "\nb\n"), is: ["1:bad", "2:b"])
  }
}

struct KubernetesVariableTests {
  private func ignored(_ name: String, _ value: String) throws -> Bool {
    var root = ConfigurationNode(content: .section([:]), origin: "")
    return try EnvironmentOverlay.apply([name: value], to: &root) == [name]
  }

  @Test(arguments: [
    ("CARILLON_SERVICE_HOST", "10.0.0.11"), ("CARILLON_SERVICE_PORT", "8080"), ("CARILLON_SERVICE_PORT_HTTP", "8080"),
    ("CARILLON_PORT", "tcp://10.0.0.11:8080"), ("CARILLON_PORT_8080_TCP", "tcp://10.0.0.11:8080"),
    ("CARILLON_PORT_8080_TCP_ADDR", "10.0.0.11"), ("CARILLON_PORT_8080_TCP_PORT", "8080"),
    ("CARILLON_ADMIN_PORT_53_UDP_PROTO", "udp"), ("CARILLON_REDIS_SERVICE_HOST", "fd00::11"),
    ("CARILLON_REDIS_PORT", "tcp://[fd00::11]:6379"),
  ])
  func variablesOfServicesAreIgnored(name: String, value: String) throws {
    expect(try ignored(name, value))
  }

  @Test(arguments: [
    ("CARILLON_SERVICE", "10.0.0.11"), ("CARILLON_HOST", "10.0.0.11"), ("CARILLON_PORTS", "tcp://10.0.0.11:80"),
    ("CARILLON_PORT_X", "tcp://10.0.0.11:80"), ("CARILLON_PORT_8080_HTTP", "tcp://10.0.0.11:80"),
    ("CARILLON_SERVICE_HOSTS", "10.0.0.11"), ("CARILLON_PORT_8080_TCP_NAME", "tcp"),
    // Names that Kubernetes could create, with values that it does not create.
    ("CARILLON_REDIS_PORT", "6380"), ("CARILLON_PORT", "0"), ("CARILLON_REDIS_PORT", "redis://10.0.0.11:6379"),
    ("CARILLON_REDIS_PORT", "tcp://redis:6379"), ("CARILLON_REDIS_PORT", "tcp://10.0.0.11"),
    ("CARILLON_REDIS_SERVICE_HOST", "redis"), ("CARILLON_REDIS_SERVICE_PORT", "http"),
    ("CARILLON_PORT_8080_TCP_PORT", "80"), ("CARILLON_PORT_8080_TCP_PROTO", "udp"),
  ])
  func othersAreMistakes(name: String, value: String) {
    #expect(throws: ConfigurationError.self) { try ignored(name, value) }
  }

  @Test func ignoredVariableIsWarnedOf() async throws {
    var world = try await CarillonWorld()
    world.environment["CARILLON_SERVICE_HOST"] = "10.0.0.1"
    let output = try await world.run("campaign", "list", "--json")
    expect(output.exit == .status(0) && output.standardOutput == "[]\n")
    expect(try JSONObject(output.standardError).text("message")?.contains("CARILLON_SERVICE_HOST"), is: true)
  }
}
