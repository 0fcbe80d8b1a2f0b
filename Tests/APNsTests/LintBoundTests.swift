@testable import APNs
import PushCore
import ServiceTools
import TestKit
import Testing

/// Lint results of a file with more errors than a person can read.
@Suite(.takesTurns) struct LintBoundTests {
  @Test func atMostAHundredFindingsAreReported() throws {
    let names = (0..<16_000).map { "\"alrt\($0)\":null" }.joined(separator: ",\n")
    let text = "{\"aps\":{\"alert\":\"hi\",\n\(names)}}"
    let lint = try APNsLint(Array(text.utf8)).result
    expect(lint.findings.count, is: PushLint.maximumFindings)
    // The first findings, each with its position.
    for finding in lint.findings {
      let position = try #require(finding.position)
      expect(position.line < 110 && (position.line == 1 || position.column == 1), "\(finding.path) \(position)")
    }
  }

  /// An error after any number of warnings still makes the job invalid, also in a localized payload.
  @Test func warningsHideNoError() throws {
    let warnings = (0..<300).map { "\"own\($0)\":1" }.joined(separator: ",")
    let large = String(repeating: "x", count: 5000)
    for tail in [
      "\"apns\":{\"payload\":{\"aps\":{\"alert\":\"hi\",\(warnings),\"badge\":\"many\"}}}",
      "\"apns\":{\"payload\":{\"aps\":{\"alert\":\"hi\",\(warnings)}}},"
        + "\"localized\":{\"de\":{\"apns\":{\"payload\":{\"aps\":{\"alert\":\"\(large)\"}}}}}",
    ] {
      let job = "{\"id\":\"a\",\"app\":\"news\",\"audience\":{\"segment\":\"*\"},\(tail)}"
      #expect(throws: JobError.self) { try CampaignJob.parse(Array(job.utf8), .any([APNsService()])) }
      let lint = try APNsLint(Array(job.utf8)).result
      expect(lint.findings.count <= PushLint.maximumFindings && !lint.findings(.error).isEmpty)
    }
  }

  /// 60,000 members take 1 to 2 s. When each member was compared with all others, they took minutes.
  @Test(.timeLimit(.minutes(1))) func membersOfAJobAreReadInOnePass() throws {
    let names = (0..<60_000).map { "\"lane\($0)\":1" }.joined(separator: ",")
    let job =
      "{\"id\":\"a\",\"app\":\"news\",\"audience\":{\"segment\":\"*\"},\"apns\":{\"payload\":{\"aps\":{\"badge\":1}}},\(names)}"
    let lint = try APNsLint(Array(job.utf8)).result
    expect(lint.kind == .job && lint.findings(.error).contains { $0.message == "unknown field" })
  }

  @Test func tracesOfTheBinaryInterfaceShareTheBound() throws {
    let text = String(repeating: "gateway.push.apple.com 2195\n", count: 1000)
    expect(try APNsLint(Array(text.utf8)).result.findings.count, is: PushLint.maximumFindings)
  }

  @Test func positionsAreThoseOfTheText() {
    let bytes = Array("a\nbc\n\n\ndef".utf8)
    let lines = TextLines(bytes)
    for offset in 0...bytes.count { expect(lines.position(of: offset), is: TextPosition(of: offset, in: bytes)) }
    expect(TextLines([]).position(of: 0), is: TextPosition(of: 0, in: []))
  }

  /// An error that occurs in every language is reported once, and other errors up to the bound.
  @Test func languagesShareTheBound() throws {
    let languages = (0..<200).map { "\"x\($0)\":{\"aps\":{\"alrt\":\"a\",\"soond\":\"b\"}}" }.joined(separator: ",")
    let job =
      "{\"id\":\"a\",\"app\":\"news\",\"audience\":{\"segment\":\"*\"},\"apns\":{\"payload\":{\"aps\":{\"alrt\":\"a\"}}},"
      + "\"localized\":{\(languages)}}"
    let lint = try APNsLint(Array(job.utf8)).result
    expect(lint.findings.count <= PushLint.maximumFindings)
    expect(lint.findings.count { $0.path.hasSuffix("alrt") }, is: 1)
  }
}
