import Foundation
import PushCore
import Testing

/// The README's table of the job, and what a job can have.
struct JobTableTests {
  @Test func everyFieldOfAJobIsInTheTableAndNothingElse() throws {
    let file = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().appending(path: "README.md")
    let page = try String(contentsOf: file, encoding: .utf8)
    let start = try #require(page.range(of: "\n## The job\n")).upperBound
    let end = try #require(page.range(of: "\n\nA job is a campaign once", range: start..<page.endIndex)).lowerBound
    var named: [String] = []
    for line in page[start..<end].split(separator: "\n") where line.hasPrefix("| `") {
      let cell = line.dropFirst(2).prefix { $0 != "|" }
      named += cell.split(separator: "`").map(String.init).filter { $0.first?.isLetter == true }
    }
    #expect(Set(named).count == named.count, "\(named)")
    #expect(Set(CampaignJob.fields).subtracting(named) == [], "not in the table")
    #expect(Set(named).subtracting(CampaignJob.fields) == [], "in the table only")
  }
}
