import APNs
import FCM
import PushCore
import TestKit
import TestSupport
import Testing

/// The examples of `README.md` and of the guide.
struct GuideExampleTests {
  /// Reads every example with the reader that Carillon uses for it. A new kind of block needs a case here, so that no
  /// example is left unread.
  @Test(arguments: GuidePage.all) func everyExampleIsAccepted(page: GuidePage) throws {
    for block in page.blocks {
      do {
        try read(block)
      } catch {
        Issue.record("\(page.path):\(block.line): \(error)")
      }
    }
  }

  private func read(_ block: GuidePage.Block) throws {
    let lines = block.text.split(separator: "\n").map(String.init)
    switch block.kind {
    case "json job": try check(GuideReader.findings(inJob: Array(block.text.utf8)))
    case "json job-part": try check(GuideReader.findings(inJob: GuideReader.job(with: block.text)))
    case "json recipient":
      for line in lines {
        let part = #"{"audience":{"users":[\#(line)]}}"#
        try check(GuideReader.findings(inJob: GuideReader.job(with: part)))
      }
    case "json template": _ = try JobTemplate.content(Array(block.text.utf8), for: [APNsService(), FCMService()])
    case "json event": for line in lines { try GuideReader.read(event: line) }
    case "json receipt":
      for line in lines { _ = try ReceiptEvent(parsing: Array(line.utf8), now: GuideReader.now) }
    case "json devices": try GuideReader.read(devices: block.text, as: .ndjson)
    case "csv devices": try GuideReader.read(devices: block.text + "\n", as: .csv)
    case "json":
      for line in lines { _ = try JSONValue(parsing: Array(line.utf8), maximumDepth: CampaignJob.maximumNesting) }
    // `DeployTests` runs these against a real worker and the API; `ConfigurationTests` reads configurations.
    case "sh", "python", "http", "yaml": break
    case "text", "swift", "kotlin": break
    default: throw TestSupportError("unknown kind of example: \(block.kind)")
    }
  }

  private func check(_ findings: [Finding]) throws {
    guard let finding = findings.first else { return }
    throw TestSupportError("\(finding.path): \(finding.message)")
  }

  /// Reads the JSON in the text and in tables: fields of a job or an audience, and whole objects.
  @Test(arguments: GuidePage.all) func everyJSONSpanIsAccepted(page: GuidePage) {
    for span in page.spans {
      let jobs = Self.jobs(with: span.text)
      guard !jobs.isEmpty else { continue }
      let isAccepted = jobs.contains { job in
        (try? GuideReader.findings(inJob: GuideReader.job(with: job)))?.isEmpty == true
      }
      expect(isAccepted, "\(page):\(span.line): \(span.text)")
    }
  }

  /// Variants for examples whose stages choose a winner.
  private static let variants = #""variants":[{"name":"a"},{"name":"b","apns":{"payload":{"aps":{"alert":"B"}}}}]"#

  /// Parts of jobs that have a code span where it can belong; none for a span that is not part of a job.
  private static func jobs(with span: String) -> [String] {
    if span.hasPrefix(#"{""#) {
      return [
        span, #""audience":\#(span)"#, #""audience":{"users":[\#(span)]}"#, #"\#(variants),"stages":[\#(span)]"#,
        #""apns":{"payload":\#(span),"pushType":"widgets"}"#, #""message":\#(span)"#, #""localized":\#(span)"#,
        #""fcm":{"message":\#(span)},"services":["fcm"]"#,
      ]
    }
    guard let name = span.prefixMatch(of: /"(\w+)":/).map({ String($0.1) }) else { return [] }
    if CampaignJob.fields.contains(name) || name == "apns" || name == "fcm" {
      return [span, #""sendAt":"2026-12-01T09:00:00Z",\#(span)"#, "\(variants),\(span)"]
    }
    guard ["where", "sample", "limit", "devices", "outcome", "opened", "exclude"].contains(name) else { return [] }
    return ["segment\":\"*", "campaign\":\"c0"].map { #""audience":{"\#($0)",\#(span)}"# }
  }

  @Test func everyOutcomeIsExplained() throws {
    let page = try GuidePage("deploy/guide/results.md")
    let explained = page.rows.filter { $0.count == 3 }.flatMap { $0[0].split(separator: "`, `").map(String.init) }
    expect(Set(Outcome.allCases.map(\.name)).subtracting(explained), is: [])
  }

  @Test func guideHasExamplesOfEveryKind() {
    let kinds = Set(GuidePage.all.flatMap(\.blocks).map(\.kind))
    for kind in ["json job", "json job-part", "json event", "json receipt", "http", "sh"] {
      expect(kinds.contains(kind), "no example of kind \(kind)")
    }
  }
}
