@testable import PushCore
import Foundation
import TestKit
import Testing

/// Formats of numbers and dates in each language.
struct ContentFormatTests {
  private static func text(_ value: String, _ format: String, _ locale: String) throws -> String {
    let format = try #require(ValueFormat(format))
    var bytes: [UInt8] = []
    let place = LocaleConvention.index(for: LanguageTag(locale.utf8))
    Array(value.utf8).withUnsafeBytes {
      format.write($0, by: place.map { LocaleConvention.table[$0] } ?? .neutral, to: &bytes)
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Value, format, locale and expected text. Without the type, the compiler needs seconds to infer it.
  private static let rows: [(String, String, String, String)] = [
    ("1234567.5", "number", "en", "1,234,567.5"), ("1234567.5", "number", "de-DE", "1.234.567,5"),
    ("1234", "number", "es", "1234"), ("12345", "number", "es-ES", "12.345"),
    ("1234567", "number", "hi-IN", "12,34,567"),
    ("1234567.5", "number", "es-US", "1,234,567.5"), ("1234567.5", "number", "es_MX", "1,234,567.5"),
    ("1234567.5", "number", "es-ES", "1.234.567,5"), ("1234567.5", "number", "de-LI", "1\u{2019}234\u{2019}567.5"),
    ("2026-12-01", "date", "en-NZ", "1/12/2026"), ("2026-12-01", "date", "en_ZA", "2026/12/01"),
    ("2026-12-01", "date", "en-JM", "01/12/2026"), ("2026-12-01", "date", "en-BB", "01/12/2026"),
    ("2026-12-01", "date", "en-DE", "1.12.2026"), ("2026-12-01", "date.long", "iw", "1 בדצמבר 2026"),
    ("2026-12-01", "date.long", "no", "1. desember 2026"), ("2026-12-01", "date.long", "in_ID", "1 Desember 2026"),
    ("2026-12-01", "date", "zh_HK", "1/12/2026"), ("2026-12-01", "date", "zh-MO", "1/12/2026"),
    ("-1234.5", "number.2", "fr", "-1\u{202f}234,50"), ("-5", "number", "sv_SE", "−5"),
    ("1234567.5", "number", "", "1234567.5"),
    ("1234567.5", "number", "xx", "1234567.5"), ("0.005", "number.2", "en", "0.01"),
    ("-0.004", "number.2", "en", "0.00"),
    ("999.995", "number.2", "en", "1,000.00"), ("9.5", "number.0", "en", "10"), ("007", "number", "en", "7"),
    ("-0", "number", "en", "0"), (".5", "number", "en", ".5"), ("5.", "number", "en", "5."),
    ("1e5", "number", "en", "1e5"),
    ("12 €", "number.2", "en", "12 €"), ("", "number", "en", ""), ("1.2.3", "number", "en", "1.2.3"),
    ("--1", "number", "en", "--1"),
    ("123456789012345678901234567890", "number", "en", "123,456,789,012,345,678,901,234,567,890"),
    ("1234567890123456789012345678901234", "number", "en", "1234567890123456789012345678901234"),
    ("2026-12-01T09:05:00+01:00", "date", "en", "12/1/2026"), ("2026-12-01T09:05:00Z", "date", "de", "1.12.2026"),
    ("2026-12-01", "date", "ja-JP", "2026/12/1"), ("2026-12-01", "date.long", "de-AT", "1. Dezember 2026"),
    ("2026-12-01", "date.long", "fr", "1 décembre 2026"), ("2026-12-01", "date.long", "zh-Hant-TW", "2026年12月1日"),
    ("2026-12-01", "date", "", "2026-12-01"), ("2026-02-29", "date", "en", "2026-02-29"),
    ("2026-12-01", "time", "en", "2026-12-01"),
    ("2026-12-01T09:05:00+01:00", "time", "en-US", "9:05\u{202f}AM"),
    ("2026-12-01T00:05:00Z", "time", "en", "12:05\u{202f}AM"),
    ("2026-12-01T12:00:00Z", "time", "en", "12:00\u{202f}PM"), ("2026-12-01T23:59:59.999Z", "time", "de", "23:59"),
    ("2026-12-01T24:00:00Z", "time", "de", "2026-12-01T24:00:00Z"), ("1796115600000", "time", "de", "09:00"),
    ("1796115600000", "date", "en-GB", "01/12/2026"), ("-1", "date", "de", "31.12.1969"),
    ("soon", "date", "de", "soon"),
    ("99999999999999999999", "date", "de", "99999999999999999999"),
  ]

  @Test(arguments: rows)
  func valueIsWrittenAsInTheLanguage(value: String, format: String, locale: String, says: String) throws {
    expect(try Self.text(value, format, locale), is: says)
  }

  @Test func onlyKnownFormatsAreFormats() {
    for name in ["", "Number", "number.", "number.10", "number.-1", "number.02", "date.short", "time.long", "number 2"]
    {
      expect(ValueFormat(name), is: nil, "\(name)")
    }
  }

  /// The toolchain's Foundation is the reference for every language of the table. It does not know CLDR's digit groups
  /// of India.
  @Test func tableIsThatOfFoundation() throws {
    for convention in LocaleConvention.table {
      let tag = try #require(convention.tag).description
      let locale = Locale(identifier: tag.replacing("-", with: "_") + "@numbers=latn;calendar=gregorian")
      let numbers = NumberFormatter()
      numbers.locale = locale
      numbers.numberStyle = .decimal
      numbers.minimumFractionDigits = 2
      for (text, number) in [("1234.5", 1234.5), ("-0.25", -0.25), ("123456.75", 123456.75)] as [(String, Double)]
      where convention.grouping != .indian {
        expect(try Self.text(text, "number.2", tag), is: numbers.string(from: NSNumber(value: number)), "\(tag)")
      }
      let dates = DateFormatter()
      dates.locale = locale
      dates.timeZone = TimeZone(identifier: "UTC")
      for (instant, seconds) in [("2026-12-01T09:05:00Z", 1_796_115_900), ("2026-05-23T21:40:00Z", 1_779_572_400)]
        as [(String, Double)]
      {
        for (format, template) in [("date", "yMd"), ("date.long", "yMMMMd"), ("time", "jm")] {
          dates.setLocalizedDateFormatFromTemplate(template)
          expect(
            try Self.text(instant, format, tag), is: dates.string(from: Date(timeIntervalSince1970: seconds)), "\(tag)")
        }
      }
    }
  }
}
