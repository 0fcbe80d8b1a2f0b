import Dispatch
import TestKit
import Testing

@testable import EventLoop

/// The table of timers and their deadlines.
@Suite struct TimerTableTests {
  /// Runs all due timers and returns their number.
  private func due(_ table: inout TimerTable, _ now: UInt64) -> Int {
    var count = 0
    while let handler = table.takeDue(now) {
      handler()
      count += 1
    }
    return count
  }

  @Test func dueTimersComeInTheOrderOfTheirDeadlines() async {
    let (fired, continuation) = AsyncStream.makeStream(of: Int.self)
    var table = TimerTable()
    let (first, second) = (table.add { continuation.yield(1) }, table.add { continuation.yield(2) })
    expect(table.nearest, is: .max)
    table.schedule(first, at: 30)
    table.schedule(second, at: 20)
    expect(table.nearest, is: 20)
    expect(due(&table, 19), is: 0)
    expect(due(&table, 30), is: 2)
    expect(table.nearest, is: .max, "once is once")
    continuation.finish()
    var order: [Int] = []
    for await number in fired { order.append(number) }
    expect(order, is: [2, 1])
  }

  @Test func timerDisarmedByAnEarlierOneDoesNotFire() {
    var table = TimerTable()
    let (first, second, third) = (table.add {}, table.add {}, table.add {})
    for timer in [first, second, third] { table.schedule(timer, at: 10) }
    expect(table.takeDue(10) != nil)
    // The handler of the first due timer does this, whichever timer it is.
    table.schedule(first, at: .max)
    table.schedule(second, at: 11)
    table.remove(third)
    expect(due(&table, 10), is: 0)
    expect(table.nearest, is: 11)
  }

  @Test func repeatingTimerCountsFromWhenItFired() {
    var table = TimerTable()
    let timer = table.add {}
    table.schedule(timer, at: 10, every: 10)
    expect(due(&table, 35), is: 1, "what was missed is not made up for")
    expect(table.nearest, is: 45)
  }

  @Test func repeatingTimerWithoutAnIntervalLeavesTheLoopAlone() {
    var table = TimerTable()
    let timer = table.add {}
    table.schedule(timer, at: 10, every: 0)
    expect(table.takeDue(10) != nil)
    expect(table.takeDue(10) == nil, "or the loop would do nothing else")
    expect(table.nearest, is: 11)
  }

  @Test(arguments: [
    (DispatchTimeInterval.seconds(2), UInt64(2_000_000_000)), (.milliseconds(5), 5_000_000), (.microseconds(3), 3000),
    (.nanoseconds(7), 7), (.seconds(-1), 0), (.seconds(.max), .max), (.never, .max),
  ]) func lengthOfAnIntervalIsItsOwn(_ interval: DispatchTimeInterval, _ length: UInt64) {
    expect(interval.inNanoseconds, is: length)
  }

  @Test func removedOneShotTimerCannotBeScheduledAgain() {
    var table = TimerTable()
    let timer = table.add(deadline: 5) {}
    expect(table.nearest, is: 5)
    expect(due(&table, 5), is: 1)
    table.schedule(timer, at: 6)
    expect(due(&table, 10), is: 0)
  }

  @Test func removedTimerDoesNotFire() {
    var table = TimerTable()
    let timer = table.add {}
    table.schedule(timer, at: 10)
    table.remove(timer)
    expect(due(&table, 10), is: 0)
    expect(table.nearest, is: .max)
  }

  @Test func laterScheduleReplacesAnEarlierOne() {
    var table = TimerTable()
    let timer = table.add {}
    table.schedule(timer, at: 10)
    table.schedule(timer, at: 20)
    expect(due(&table, 10), is: 0)
    expect(table.nearest, is: 20, "looked at once too early, never too late")
  }
}
