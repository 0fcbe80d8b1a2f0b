import CampaignStore
import TestKit
import Testing

@testable import PushWorker

@Suite struct BisectionTests {
  private func targets(_ indexes: some Sequence<Int>) -> [GrantedTarget] {
    indexes.map { GrantedTarget(index: $0) }
  }

  @Test func halvesAreTriedOneAfterTheOtherAndThenItEnds() {
    let doubt = targets([3, 5, 8, 9, 20])
    var search = Bisection(doubt: doubt, trial: nil)
    expect(search.next(), is: .attempt(doubt[..<3]))
    expect(search.next(), is: .attempt(doubt[3...]))
    expect(search.next(), is: .end)
  }

  @Test func deathDuringATryNarrowsTheSearchToIt() {
    var search = Bisection(doubt: targets(0..<8), trial: 4...7)
    expect(search.next(), is: .attempt(targets(4...5)[...]))
  }

  @Test func targetTriedAloneGoesToTheDeadList() {
    var search = Bisection(doubt: targets(0..<8), trial: 6...6)
    expect(search.next(), is: .deadLetter(GrantedTarget(index: 6)))
  }

  @Test func lastTargetIsTriedAloneFirst() {
    for (doubt, trial) in [([6], nil), ([6], 4...7), ([6, 9], 4...7)] as [([Int], ClosedRange<Int>?)] {
      var search = Bisection(doubt: targets(doubt), trial: trial)
      expect(search.next(), is: .attempt(targets([6])[...]))
    }
  }

  @Test func deadTargetsAreNotTriedAgain() {
    var search = Bisection(doubt: targets([6, 9]), trial: 6...6)
    expect(search.next(), is: .deadLetter(GrantedTarget(index: 6)))
    expect(search.next(), is: .end)
  }

  @Test func lastOfTwoIsTriedBeforeItGoesToTheDeadList() {
    var search = Bisection(doubt: targets([1, 2]), trial: nil)
    expect(search.next(), is: .attempt(targets([1])[...]))
    expect(search.next(), is: .attempt(targets([2])[...]))
    expect(search.next(), is: .end)
  }

  @Test(arguments: [1, 2, 3, 7, 100, 1000])
  func everyTargetIsFoundWithALogarithmicNumberOfDeaths(count: Int) {
    let bound = 1 + ((0..<32).first { 1 << $0 >= count } ?? 0)
    // For a thousand targets every 37th is tested. 37 has no common factor with a power of two, so every kind of
    // position occurs.
    for poison in stride(from: 0, to: count, by: count > 100 ? 37 : 1) {
      var doubt = Set(0..<count)
      var trial: ClosedRange<Int>?
      var deaths = 0
      search: while true {
        var search = Bisection(doubt: targets(doubt.sorted()), trial: trial)
        while true {
          switch search.next() {
          case .attempt(let tried):
            let indexes = tried.map(\.index)
            trial = (indexes.min() ?? 0)...(indexes.max() ?? 0)
            if indexes.contains(poison) {
              deaths += 1
              continue search
            }
            doubt.subtract(indexes)
          case .deadLetter(let target):
            expect(target.index, is: poison)
            break search
          case .end:
            Issue.record("target \(poison) of \(count) was acquitted")
            break search
          }
        }
      }
      expect(deaths <= bound)
    }
  }
}
