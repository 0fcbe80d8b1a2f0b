import TestKit
import TestSupport
import Testing

@Suite struct TestFormTests {
  @Test func everyTestHasItsTurnWithEachEngine() {
    let names = (0..<100).map { "PushWorkerTests/RunTests.swift test\($0)()" }
    let turns = 0..<2 * TestForm.parts
    for name in names {
      let played = turns.filter { TestForm.isInPart(name, turn: $0) }
      expect(played.count == 2 && played.map { $0 % 2 } == [0, 1], "\(name): \(played)")
    }
    for turn in turns {
      let count = names.count { TestForm.isInPart($0, turn: turn) }
      expect((15...40).contains(count), "turn \(turn) plays \(count) of 100")
    }
  }

  /// A test that is selected by name runs in each turn. This test runs in a whole run too.
  @Test func filteredRunIsWhole() {
    expect(TestForm.isWhole(arguments: ["tests", "--filter", "GuardTests"], environment: [:]))
    expect(TestForm.isWhole(arguments: ["tests", "--filter=GuardTests"], environment: [:]))
    expect(TestForm.isWhole(arguments: [], environment: ["CARILLON_TEST_PART": "all"]))
    expect(TestForm.isWhole(arguments: [], environment: ["CARILLON_TEST_FORM": "long"]))
    expect(!TestForm.isWhole(arguments: ["tests", "--parallel"], environment: ["CARILLON_TEST_FORM": "short"]))
  }
}
