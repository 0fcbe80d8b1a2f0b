import Testing

@testable import EventLoop

/// Which timers are due when.
@Suite struct TimerTableTests {
  @Test func dueTimersComeInTheOrderOfTheirDeadlines() {
    var table = TimerTable()
    let (first, second) = (table.add {}, table.add {})
    #expect(table.nearest == .max)
    table.schedule(first, at: 30)
    table.schedule(second, at: 20)
    #expect(table.nearest == 20)
    #expect(table.takeDue(19).isEmpty)
    #expect(table.takeDue(30).count == 2)
    #expect(table.nearest == .max, "once is once")
  }

  @Test func repeatingTimerCountsFromWhenItFired() {
    var table = TimerTable()
    let timer = table.add {}
    table.schedule(timer, at: 10, every: 10)
    #expect(table.takeDue(35).count == 1, "what was missed is not made up for")
    #expect(table.nearest == 45)
  }

  @Test func oneThatGoesWhenItHasFiredCannotBeScheduledAgain() {
    var table = TimerTable()
    let timer = table.add(deadline: 5) {}
    #expect(table.nearest == 5)
    #expect(table.takeDue(5).count == 1)
    table.schedule(timer, at: 6)
    #expect(table.takeDue(10).isEmpty)
  }

  @Test func removedTimerDoesNotFire() {
    var table = TimerTable()
    let timer = table.add {}
    table.schedule(timer, at: 10)
    table.remove(timer)
    #expect(table.takeDue(10).isEmpty)
    #expect(table.nearest == .max)
  }

  @Test func laterScheduleReplacesAnEarlierOne() {
    var table = TimerTable()
    let timer = table.add {}
    table.schedule(timer, at: 10)
    table.schedule(timer, at: 20)
    #expect(table.takeDue(10).isEmpty)
    #expect(table.nearest == 20, "looked at once too early, never too late")
  }
}
