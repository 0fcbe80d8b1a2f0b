import PushCore
import TestKit
import Testing

struct SegmentLineTests {
  @Test(
    arguments: [
      ("ada", .user("ada")), ("  ben \t", .user("ben")), ("\"ada\"", .user("ada")), (" \"a,b\" ", .user("a,b")),
      ("\"say \"\"hi\"\"\"", .user("say \"hi\"")), ("\" ada \"", .user("ada")), ("", .empty), (" \t", .empty),
      ("zoë", .user("zoë")), ("\"user\"", .user("user")),
    ] as [(String, SegmentLine)])
  func lineIsOneColumnOfCSV(text: String, line: SegmentLine) {
    expect(SegmentLine(text, number: 1), is: line)
    expect(SegmentLine(text, number: 9), is: line)
  }

  @Test(arguments: ["ada,ben", "ada,", "\"ada", "a\"da", "\"ada\" x", "\"\""])
  func lineWithMoreThanAUserIsReported(text: String) {
    guard case .bad(let problem) = SegmentLine(text, number: 2) else {
      Issue.record("\(text) is taken for a user's id")
      return
    }
    expect(!problem.isEmpty)
  }

  @Test func headerIsOneOnTheFirstLineAlone() {
    expect(SegmentLine("user", number: 1), is: .header)
    expect(SegmentLine("User", number: 1), is: .header)
    expect(SegmentLine("user", number: 2), is: .user("user"))
    guard case .bad = SegmentLine("user_id", number: 1) else {
      Issue.record("a header of another name is taken for a user's id")
      return
    }
    expect(SegmentLine("user_id", number: 2), is: .user("user_id"))
  }

  @Test(arguments: [
    "ada", "a,b", "say \"hi\"", "ada;ben", "<a>", "{a}", "[1]", "4711.0", "4.7E+12", "user", "USER", "id", "zoë", "\"",
    "-1",
  ])
  func writtenUserIsReadBackUnchanged(user: String) {
    let text = SegmentLine.text(of: user)
    for number in 1...2 { expect(SegmentLine(text, number: number), is: .user(user), "\(text)") }
  }
}
