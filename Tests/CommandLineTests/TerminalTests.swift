import TestKit
import Testing

@testable import CommandSupport
@testable import carillon

struct ProgressLineTests {
  @Test func showsShareCountSpeedAndWhatIsLeft() {
    let line = ProgressLine(label: "importing", done: 45_000, total: 100_000, unit: "rows", seconds: 3)
    expect(
      line.text(width: 120),
      is: "importing [##################......................]  45%  45,000/100,000 rows  15,000/s  0:03 left")
  }

  @Test func dropsTheBarWhereThereIsNoRoom() {
    let line = ProgressLine(label: "importing", done: 45_000, total: 100_000, unit: "rows", seconds: 0)
    expect(line.text(width: 40), is: "importing 45%  45,000/100,000 rows")
    expect(line.text(width: 10).count, is: 10)
  }

  @Test func countsOnlyWhereTheEndIsUnknown() {
    let line = ProgressLine(label: "exporting", done: 1234, total: nil, unit: "devices", seconds: 2)
    expect(line.text(width: 80), is: "exporting  1,234 devices  617/s")
  }

  @Test(arguments: [(0, 0), (0, 5), (10, 5), (5, 5), (Int.max / 2, 1)])
  func neverLeavesItsLine(done: Int, total: Int) {
    for width in 1..<200 {
      let line = ProgressLine(label: "x", done: done, total: total, unit: "y", seconds: 100)
      expect(line.text(width: width).count <= width)
    }
  }

  @Test func writesNumbersAndTimesForPeople() {
    expect(
      [0, 999, 1000, 1_234_567, -1000].map(\.grouped), is: ["0", "999", "1,000", "1,234,567", "-1,000"])
    expect([0, 75, 3675].map(ProgressLine.clock), is: ["0:00", "1:15", "1:01:15"])
  }
}

struct GlobalArgumentsTests {
  @Test(arguments: [
    (["--config", "x", "campaign", "list"], ["campaign", "list", "--config", "x"]),
    (["--config=x", "--json", "worker", "--drain"], ["worker", "--drain", "--config=x", "--json"]),
    (
      ["--log-level", "debug", "segment", "count", "--", "!a"],
      ["segment", "count", "--log-level", "debug", "--", "!a"]
    ),
    (["campaign", "list", "--json"], ["campaign", "list", "--json"]),
    (["--help"], ["--help"]), (["--json"], ["--json"]), (["--config"], ["--config"]), ([], []),
  ])
  func globalOptionsMayStandBeforeTheCommand(given: [String], moved: [String]) {
    expect(GlobalArguments.moved(given), is: moved)
  }
}
