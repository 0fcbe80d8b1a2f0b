@testable import PushCore
import TestKit
import Testing

/// Time zones as phones write them.
struct ZoneNameTests {
  @Test(arguments: [
    ("Europe/Berlin", "Europe/Berlin"), ("US/Pacific", "US/Pacific"), ("Asia/Calcutta", "Asia/Calcutta"),
    ("Etc/GMT+5", "Etc/GMT+5"), ("Japan", "Japan"), ("CET", "CET"), ("PST8PDT", "PST8PDT"), ("UTC", "UTC"),
    ("utc", "UTC"),
    ("GMT", "UTC"), ("Z", "UTC"), ("UCT", "UTC"), ("Zulu", "UTC"), ("GMT0", "UTC"), ("GMT+0", "UTC"), ("+00:00", "UTC"),
    ("GMT+0530", "+05:30"), ("GMT+05:30", "+05:30"), ("GMT+5:30", "+05:30"), ("GMT+530", "+05:30"), ("UTC-3", "-03:00"),
    ("UTC\u{2212}3", "-03:00"), ("gmt+2", "+02:00"), ("+02:00", "+02:00"), ("+0200", "+02:00"), ("-11", "-11:00"),
    ("GMT-0330", "-03:30"), ("+14:00", "+14:00"), ("-12:00", "-12:00"),
  ])
  func zoneOfAPhoneIsReadAndNormalised(text: String, name: String) throws {
    expect(try ZoneName(checking: text).text, is: name)
    expect(try ZoneName(checking: name).text, is: name)
  }

  @Test(arguments: [
    "PST", "PDT", "IST", "EST", "MST", "HST", "CST", "BST", "AST", "EDT", "CEST", "JST", "ACT", "pst", "ET", "ChST",
  ])
  func abbreviationIsRefused(text: String) {
    let problem = #expect(throws: ZoneName.Problem.self) { try ZoneName(checking: text) }
    expect(problem?.message.contains("abbreviation"), is: true)
  }

  @Test(arguments: [
    "Europe/Berln", "Mars/Phobos", "europe/berlin", "GMT+15", "GMT-13", "GMT+5:3", "+5:60", "GMT+", "GMT 5", "5", "",
    "SystemV/PST8", "../etc/passwd", "GMT+05:30:00", "+-2", "Central European Time", "UTC+2.5",
  ])
  func textThatNamesNoZoneIsRefused(text: String) {
    #expect(throws: ZoneName.Problem.self) { try ZoneName(checking: text) }
  }
}
