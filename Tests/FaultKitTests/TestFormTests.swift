import TestKit
import TestSupport
import Testing

@Suite struct TestFormTests {
  @Test func everyTestHasItsTurnWithEachEngine() {
    let names = (0..<1000).map { "PushWorkerTests/RunTests.swift test\($0)()" }
    let turns = 0..<2 * TestForm.parts
    for name in names {
      let played = turns.filter { TestForm.isInPart(test: name, turn: $0) }
      expect(played.count == 2 && played.map { $0 % 2 } == [0, 1], "\(name): \(played)")
    }
    let average = names.count / Int(TestForm.parts)
    for turn in turns {
      let count = names.count { TestForm.isInPart(test: $0, turn: turn) }
      expect((average * 3 / 5...average * 7 / 5).contains(count), "turn \(turn) plays \(count) of 1000")
    }
  }

  @Test func everyRowOfASlowSuiteHasItsTurnWithEachEngine() {
    for parts: UInt64 in 2...3 {
      for (name, row) in [("a", 0), ("b", 1), ("c", 2), ("d", 5)] {
        let played = (0..<2 * TestForm.parts * parts).filter {
          TestForm.isInPart(test: name, turn: $0) && TestForm.isInPart(row: row, of: parts, turn: $0)
        }
        expect(played.count == 2 && played.map { $0 % 2 } == [0, 1], "row \(row) of \(name): \(played)")
      }
    }
  }

  /// A test that is selected by name runs in each turn.
  @Test func filteredRunIsWhole() {
    expect(TestForm.isWhole(arguments: ["tests", "--filter", "GuardTests"], environment: [:]))
    expect(TestForm.isWhole(arguments: ["tests", "--filter=GuardTests"], environment: [:]))
    expect(TestForm.isWhole(arguments: [], environment: ["CARILLON_TEST_PART": "all"]))
    expect(TestForm.isWhole(arguments: [], environment: ["CARILLON_TEST_FORM": "long"]))
    expect(!TestForm.isWhole(arguments: ["tests", "--parallel"], environment: ["CARILLON_TEST_FORM": "short"]))
  }
}
