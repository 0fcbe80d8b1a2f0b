import PushCore
import TestKit
import TestSupport
import Testing

@Suite(.takesTurns) struct QuietHoursTests {
  /// Compares quiet hours with watched clocks every five minutes, on the days around each change of the clocks.
  @Test(arguments: ["Europe/Berlin", "America/St_Johns", "Australia/Lord_Howe", "Asia/Kathmandu", "Africa/Casablanca"])
  func quietHoursFollowTheClocks(zone: String) throws {
    guard let rules = ZoneRulesTests.rules(zone) else { return }
    let hours = [(22 * 3600, 8 * 3600), (13 * 3600, 15 * 3600), (1 * 3600 + 1800, 2 * 3600 + 1800), (0, 6 * 3600)]
    let changes = rules.changes(in: 1_767_225_600..<1_830_297_600).map(\.at)
    for around in changes + [1_796_115_600] {
      for (from, to) in hours {
        let quiet = QuietHours(from: from, to: to, handling: .hold)
        let start = around / 300 * 300 - 3 * 86400
        var isQuiet: [Bool] = []
        // The clocks are watched. Quiet hours begin when a clock reaches or passes `from`, and end likewise with `to`.
        var state = false
        var highest = Int.min
        for step in 0..<5 * 288 {
          let wall = rules.wall(at: start + step * 300)
          // A time that is shown a second time starts and ends nothing.
          for shown in stride(from: max(highest, wall - 7200) + 300, through: wall, by: 300) where shown > highest {
            let time = ((shown % 86400) + 86400) % 86400
            if time == from { state = true }
            if time == to { state = false }
          }
          highest = max(highest, wall)
          isQuiet.append(state)
        }
        // The first day only determines the state.
        for step in 288..<4 * 288 {
          let instant = start + step * 300
          let end = quiet.end(at: instant, in: rules)
          guard (end != nil) == isQuiet[step] else {
            Issue.record("\(zone) \(from)-\(to): at \(instant) quiet is \(isQuiet[step]), but its end \(end ?? 0)")
            break
          }
          if let end, (end - start) / 300 < isQuiet.count {
            let expected = isQuiet[step...].firstIndex(of: false) ?? 0
            expect(end, is: start + expected * 300)
          }
        }
      }
    }
  }
}
