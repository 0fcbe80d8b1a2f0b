import APNs
import TestKit
import TestSupport
import Testing

@testable import PushCore

struct DurationTextTests {
  @Test(arguments: [
    ("90s", 90), ("30m", 1800), ("4h", 14400), ("2d", 172_800), ("0s", 0), ("007m", 420), ("3650d", 315_360_000),
  ])
  func reads(text: String, seconds: Int) {
    expect(DurationText.seconds(text), is: seconds)
  }

  @Test(arguments: [
    "", "s", "90", "-1s", "+1s", "1.5h", "1h30m", "4 h", " 4h", "4H", "4w", "3651d", "99999999999999999999s", "4hours",
    "٤h",
  ])
  func refuses(text: String) {
    expect(DurationText.seconds(text), is: nil)
  }

  @Test(arguments: [
    (0, "0s"), (59_000, "59s"), (60_000, "1m"), (5_400_000, "90m"), (3_600_000, "1h"), (172_800_000, "2d"),
    (86_401_000, "86401s"), (1500, "1500ms"),
  ])
  func printsInTheLargestUnitThatFits(milliseconds: Int, text: String) {
    expect(DurationText.format(milliseconds: milliseconds), is: text)
    expect(DurationText.milliseconds(text), is: milliseconds)
  }

  @Test func millisecondsAreAUnitOnlyWhereTheyMakeSense() {
    expect(DurationText.milliseconds("20ms"), is: 20)
    expect(DurationText.milliseconds("2s"), is: 2000)
    expect(DurationText.milliseconds("ms"), is: nil)
    expect(DurationText.seconds("2000ms"), is: nil)
  }
}

struct TimestampTests {
  @Test(arguments: [
    ("1970-01-01T00:00:00Z", 0),
    ("1970-01-01T00:00:00.001Z", 1),
    ("1969-12-31T23:59:59.999Z", -1),
    ("2026-12-01T09:00:00Z", 1_796_115_600_000),
    ("2026-12-01t10:30:00+01:30", 1_796_115_600_000),
    ("2026-12-01 04:00:00-05:00", 1_796_115_600_000),
    ("2000-02-29T12:34:56.7891Z", 951_827_696_789),
    ("2026-12-01T09:00:00.5z", 1_796_115_600_500),
    ("2016-12-31T23:59:60Z", 1_483_228_800_000),
    ("0000-01-01T00:00:00Z", -62_167_219_200_000),
    ("9999-12-31T23:59:59.999Z", 253_402_300_799_999),
  ])
  func reads(text: String, milliseconds: Int) {
    expect(Timestamp.milliseconds(text), is: milliseconds)
  }

  @Test(arguments: [
    "", "2026-12-01", "2026-12-01T09:00:00", "2026-12-01T09:00Z", "2026-13-01T09:00:00Z", "2026-02-29T09:00:00Z",
    "1900-02-29T00:00:00Z", "2026-00-01T09:00:00Z", "2026-12-00T09:00:00Z", "2026-04-31T09:00:00Z",
    "2026-12-01T24:00:00Z", "2026-12-01T09:60:00Z", "2026-12-01T09:00:61Z", "2026-12-01T09:00:00.Z",
    "2026-12-01T09:00:00+0100", "2026-12-01T09:00:00+24:00", "2026-12-01T09:00:00Z ", " 2026-12-01T09:00:00Z",
    "+026-12-01T09:00:00Z", "20２6-12-01T09:00:00Z", "1796115600",
  ])
  func refuses(text: String) {
    expect(Timestamp.milliseconds(text), is: nil)
  }

  @Test func everyDayOfTheCalendarComesBack() {
    // The years from 1880 to 2120 contain one century leap year and two that are not. The step is a prime of about a
    // day, so that the time of day varies.
    for instant in stride(from: -2_840_140_800_000, through: 4_733_510_400_000, by: 86_413_007) {
      let text = Timestamp.format(milliseconds: instant)
      if Timestamp.milliseconds(text) != instant { Issue.record("\(instant) became \(text)") }
    }
  }

  @Test func printsMillisecondsInUTC() {
    expect(Timestamp.format(milliseconds: 1_796_115_600_007), is: "2026-12-01T09:00:00.007Z")
    expect(Timestamp.format(milliseconds: -1), is: "1969-12-31T23:59:59.999Z")
    expect(Timestamp.format(milliseconds: .max), is: "9999-12-31T23:59:59.999Z")
    expect(Timestamp.format(milliseconds: .min), is: "0000-01-01T00:00:00.000Z")
  }
}

struct NearestTests {
  private let known = ["priority", "payload", "pushType", "expiration", "id"]

  @Test(arguments: [
    ("prioritty", "priority"), ("pirority", "priority"), ("pushtype", "pushType"), ("push_type", "pushType"),
    ("ID", "id"), ("expires", nil), ("zzz", nil), ("", nil),
  ])
  func nearestNameIsFound(name: String, match: String?) {
    expect(Nearest.match(name, among: known), is: match)
  }

  /// The search skips names whose length differs too much from the wanted one.
  @Test func noNameIsNearerThanTheMatch() {
    var random = Seed("names")
    for _ in 0..<1000 {
      let words = (0..<8).map { _ in
        (0..<Int.random(in: 1...9, using: &random)).map { _ in UInt8.random(in: 97...99, using: &random) }
      }
      let name = words[0]
      let names = words.dropFirst().map { String(decoding: $0, as: UTF8.self) }
      let distances = words.dropFirst().map { Nearest.distance(name, $0) }
      let nearest = zip(distances, names).min { $0 < $1 }
      let match = Nearest.match(String(decoding: name, as: UTF8.self), among: names)
      expect(match, is: nearest.flatMap { $0.0 <= max(1, name.count / 3) ? $0.1 : nil }, "\(words)")
    }
  }

  @Test func allNamesAreListedIfNoneIsNear() {
    expect(Nearest.hint("zzzzzz", among: ["b", "a"]), is: "known: a, b")
    expect(Nearest.hint("lanes", among: ["lane"]), is: "did you mean 'lane'?")
    expect(Nearest.hint("x", among: []), is: "there are none")
    expect(Nearest.match(String(repeating: "x", count: 1_000_000), among: known), is: nil)
  }
}

struct NamesTests {
  @Test func userIDsAreShortLinesOfText() {
    for id in ["1", "user@example.com", "Zoë 😀", String(repeating: "x", count: 256)] {
      expect(try? UserID.read(id), is: id)
    }
    for id in [
      "", String(repeating: "x", count: 257), String(repeating: "é", count: 129), "a\nb", "a\0", "\u{7F}", "\u{85}",
    ] {
      #expect(throws: IdentifierError.self) { try UserID.read(id) }
    }
  }

  @Test func plainNamesHaveNoCharacterWithAMeaning() {
    for name in ["a", "A-z_0.9", String(repeating: "x", count: 64)] { expect(PlainName.isValid(name)) }
    for name in ["", "a b", "a|b", "{a}", "é", "a/b", String(repeating: "x", count: 65)] {
      expect(!PlainName.isValid(name))
    }
  }

  @Test func excerptsAreShortAndHarmless() {
    expect(Excerpt.quoted("a\u{1B}[31mb\n"), is: "'a\u{FFFD}[31mb\u{FFFD}'")
    expect(Excerpt.quoted(String(repeating: "x", count: 1000)).count, is: 51)
    // Text that looks like "userexe.pdf" is another name (UAX #9).
    expect(Excerpt.quoted("a\u{202E}b\u{2066}c\u{200F}d"), is: "'a\u{FFFD}b\u{FFFD}c\u{FFFD}d'")
    expect(Excerpt.harmless("a\u{202E}b") == "a\u{FFFD}b" && Excerpt.harmless("שלום") == "שלום")
  }
}
