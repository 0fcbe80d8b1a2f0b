import PushCore
import TestSupport
import Testing

struct QuietHoursTests {
  /// Every five minutes of the days around each change of the clocks, held against clocks that are looked at as often.
  @Test(arguments: ["Europe/Berlin", "America/St_Johns", "Australia/Lord_Howe", "Asia/Kathmandu", "Africa/Casablanca"])
  func whatIsQuietIsWhatClocksSay(zone: String) throws {
    guard let rules = ZoneRulesTests.rules(zone) else { return }
    let hours = [(22 * 3600, 8 * 3600), (13 * 3600, 15 * 3600), (1 * 3600 + 1800, 2 * 3600 + 1800), (0, 6 * 3600)]
    let changes = rules.changes(in: 1_767_225_600..<1_830_297_600).map(\.at)
    for around in changes + [1_796_115_600] {
      for (from, to) in hours {
        let quiet = QuietHours(from: from, to: to, fate: .hold)
        let start = around / 300 * 300 - 3 * 86400
        var isQuiet: [Bool] = []
        // Clocks that are watched: quiet begins when one reaches `from` or passes it, and ends likewise with `to`.
        var state = false
        var highest = Int.min
        for step in 0..<5 * 288 {
          let wall = rules.wall(at: start + step * 300)
          // What is shown once more has been: nothing begins or ends a second time.
          for shown in stride(from: max(highest, wall - 7200) + 300, through: wall, by: 300) where shown > highest {
            let time = ((shown % 86400) + 86400) % 86400
            if time == from { state = true }
            if time == to { state = false }
          }
          highest = max(highest, wall)
          isQuiet.append(state)
        }
        // The first day only finds out what is.
        for step in 288..<4 * 288 {
          let instant = start + step * 300
          let end = quiet.end(at: instant, in: rules)
          guard (end != nil) == isQuiet[step] else {
            Issue.record("\(zone) \(from)-\(to): at \(instant) quiet is \(isQuiet[step]), but its end \(end ?? 0)")
            break
          }
          if let end, (end - start) / 300 < isQuiet.count {
            let expected = isQuiet[step...].firstIndex(of: false) ?? 0
            #expect(end == start + expected * 300)
          }
        }
      }
    }
  }
}
