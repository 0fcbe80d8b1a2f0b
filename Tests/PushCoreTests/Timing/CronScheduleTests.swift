import PushCore
import TestKit
import TestSupport
import Testing

struct CronScheduleTests {
  /// Returns the times of a schedule in a period, found by a check of the clocks every minute.
  private func watched(_ allows: (Int) -> Bool, from start: Int, to end: Int, _ zone: ZoneRules) -> [Int] {
    var found: [Int] = []
    var highest = zone.wall(at: start)
    for instant in stride(from: start + 60, through: end, by: 60) {
      let wall = zone.wall(at: instant)
      // All times that clocks have newly shown, or skipped. A time that is shown a second time is not new.
      var isDue = false
      if wall > highest {
        for shown in stride(from: highest + 60, through: wall, by: 60) where allows(shown) { isDue = true }
        highest = wall
      }
      if isDue { found.append(instant) }
    }
    return found
  }

  private func times(_ schedule: CronSchedule, from start: Int, to end: Int, _ zone: ZoneRules) -> [Int] {
    var (found, instant) = ([Int](), start)
    while let next = schedule.next(after: instant, in: zone), next <= end {
      found.append(next)
      instant = next
    }
    return found
  }

  /// The day of a wall time, computed from the text of the date and so independently of the evaluator.
  private struct Day {
    let (number, weekday): (Int, Int)

    init(_ wall: Int) {
      number = Int(Timestamp.format(milliseconds: wall * 1000).dropFirst(8).prefix(2)) ?? 0
      // 2023-01-01 was a Sunday.
      weekday = (((wall - 1_672_531_200) / 86400) % 7 + 7) % 7
    }
  }

  @Test func timesEqualThoseOfWatchedClocks() throws {
    var seed = Seed("timesEqualThoseOfWatchedClocks")
    for name in ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Casablanca", "Asia/Kathmandu"] {
      guard let zone = ZoneRulesTests.rules(name) else { continue }
      let changes = zone.changes(in: 1_767_225_600..<1_830_297_600).map(\.at)
      for around in changes + [1_772_323_200] {
        let (start, end) = (around / 60 * 60 - 2 * 86400, around / 60 * 60 + 2 * 86400)
        for _ in 0..<4 {
          func some(_ range: ClosedRange<Int>, _ most: Int) -> Set<Int>? {
            if Bool.random(using: &seed) { return nil }
            return Set((0..<Int.random(in: 1...most, using: &seed)).map { _ in Int.random(in: range, using: &seed) })
          }
          func text(_ values: Set<Int>?) -> String {
            values.map { $0.sorted().map(String.init).joined(separator: ",") } ?? "*"
          }
          // Hours around the changes of clocks.
          let (minutes, hours) = (some(0...59, 4), some(0...4, 3))
          let (days, weekdays) = (some(1...31, 12), some(0...6, 3))
          let cron = "\(text(minutes)) \(text(hours)) \(text(days)) * \(text(weekdays))"
          let expected = watched(
            { wall in
              guard minutes?.contains(wall / 60 % 60) ?? true, hours?.contains(wall / 3600 % 24) ?? true else {
                return false
              }
              let day = Day(wall)
              guard let days, let weekdays else {
                return (days?.contains(day.number) ?? true) && (weekdays?.contains(day.weekday) ?? true)
              }
              return days.contains(day.number) || weekdays.contains(day.weekday)
            }, from: start, to: end, zone)
          let found = times(try CronSchedule(parsing: cron), from: start, to: end, zone)
          if found != expected {
            Issue.record("\(name), '\(cron)' from \(start): \(found.count), not \(expected.count)")
          }
        }
      }
    }
  }

  @Test(arguments: [
    ("0 9 * * *", "2026-12-01T09:00:00Z", ["2026-12-02T09:00", "2026-12-03T09:00"]),
    ("*/20 9-10 * * *", "2026-12-01T09:30:00Z", ["2026-12-01T09:40", "2026-12-01T10:00", "2026-12-01T10:20"]),
    ("30 8 * * mon-fri", "2026-12-04T09:00:00Z", ["2026-12-07T08:30", "2026-12-08T08:30"]),
    ("0 0 1 jan,Jul *", "2026-12-04T09:00:00Z", ["2027-01-01T00:00", "2027-07-01T00:00"]),
    ("0 0 29 2 *", "2026-12-04T09:00:00Z", ["2028-02-29T00:00", "2032-02-29T00:00"]),
    ("0 0 29 2 *", "2096-12-04T09:00:00Z", ["2104-02-29T00:00"]),
    ("0 12 * * 7", "2026-12-04T09:00:00Z", ["2026-12-06T12:00", "2026-12-13T12:00"]),
    ("0 12 * * fri-7", "2026-12-04T12:00:00Z", ["2026-12-05T12:00", "2026-12-06T12:00", "2026-12-11T12:00"]),
    // A day of the month or a weekday: one of them is enough.
    ("0 0 13 * fri", "2026-12-05T00:00:00Z", ["2026-12-11T00:00", "2026-12-13T00:00", "2026-12-18T00:00"]),
    ("0 0 */10 * mon", "2027-02-01T00:00:00Z", ["2027-03-01T00:00", "2027-05-31T00:00", "2027-06-21T00:00"]),
    (
      "10-30/10,55 3 * * *", "2026-12-01T00:00:00Z",
      ["2026-12-01T03:10", "2026-12-01T03:20", "2026-12-01T03:30", "2026-12-01T03:55", "2026-12-02T03:10"]
    ),
  ])
  func reads(cron: String, start: String, expected: [String]) throws {
    let schedule = try CronSchedule(parsing: cron)
    var instant = try #require(Timestamp.milliseconds(start)) / 1000
    for text in expected {
      instant = try #require(schedule.next(after: instant, in: .utc))
      expect(WallTime.format(instant), is: text + ":00")
    }
  }

  @Test(arguments: [
    ("", "it has 0 fields instead of five"), ("0 9 * *", "it has 4 fields instead of five"),
    ("60 9 * * *", "'60' is not a valid minute: it must be 0 to 59"), ("0 24 * * *", "'24' is not a valid hour"),
    ("0 9 0 * *", "'0' is not a valid day"),
    ("0 9 * 13 *", "is not a valid month: it must be 1 to 12, or a name such as feb"),
    ("0 9 * * 8", "is not a valid weekday"), ("0 9 * * fri-mon", "a range must not go backwards"),
    ("*/0 9 * * *", "a step is a number"),
    ("5/10 9 * * *", "a step needs a range"), ("0 9 31 2 *", "never comes"), ("@daily", "use five fields"),
    ("0,, 9 * * *", "'' is not a valid minute"), ("0 9 * * funday", "is not a valid weekday"),
    ("-1 9 * * *", "is not a valid minute"),
  ])
  func problemOfTheScheduleIsNamed(cron: String, message: String) {
    let error = #expect(throws: CronError.self) { try CronSchedule(parsing: cron) }
    expect(error?.message.contains(message), is: true, "\(error?.message ?? "")")
  }

  @Test func lastTimeOfAPeriodIsFound() throws {
    var seed = Seed("lastTimeOfAPeriodIsFound")
    for cron in ["* * * * *", "0 9 * * *", "0 0 1 * *", "0 0 29 2 *", "*/7 3 * * sun"] {
      let schedule = try CronSchedule(parsing: cron)
      for _ in 0..<20 {
        let start = 1_796_115_600 + Int.random(in: 0..<86400, using: &seed)
        let end = start + Int.random(in: 0..<20 * 86400, using: &seed)
        expect(schedule.last(until: end, after: start, in: .utc), is: times(schedule, from: start, to: end, .utc).last)
      }
    }
  }
}
