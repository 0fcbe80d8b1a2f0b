/// Times as RFC 3339 text and as milliseconds since 1970. The code works on bytes, without a formatter, a locale or
/// time zone data.
public enum Timestamp {
  /// Description of a valid time, for error messages.
  public static let form = "RFC 3339, such as 2026-12-01T09:00:00Z"

  /// Times that ``format(milliseconds:)`` can write: the years 0000 to 9999, in ms since 1970.
  public static let range = -62_167_219_200_000...253_402_300_799_999

  /// Returns milliseconds since 1970 of an RFC 3339 date-time; `nil` for any other text.
  ///
  /// Fractions of a millisecond are cut off. A leap second counts as the second after it, because UNIX time has no leap
  /// seconds.
  public static func milliseconds(_ text: some StringProtocol) -> Int? {
    var scanner = Scanner(rest: Array(text.utf8)[...])
    guard let year = scanner.number(digits: 4), scanner.take("-"),
      let month = scanner.number(digits: 2), (1...12).contains(month), scanner.take("-"),
      let day = scanner.number(digits: 2), (1...CivilDate.days(in: month, of: year)).contains(day),
      // RFC 3339, section 5.6, allows lower case, and a blank for readability.
      scanner.take("T") || scanner.take("t") || scanner.take(" "),
      let hour = scanner.number(digits: 2), hour < 24, scanner.take(":"),
      let minute = scanner.number(digits: 2), minute < 60, scanner.take(":"),
      let second = scanner.number(digits: 2), second <= 60,
      let fraction = scanner.fraction(),
      let offset = scanner.offset(), scanner.rest.isEmpty
    else { return nil }
    let days = CivilDate(year: year, month: month, day: day).daysSince1970
    return (((days * 24 + hour) * 60 + minute - offset) * 60 + second) * 1000 + fraction
  }

  /// Returns the time in UTC with milliseconds: `2026-12-01T09:00:00.000Z`. A time outside ``range`` becomes the
  /// nearest end of the range.
  public static func format(milliseconds: Int) -> String {
    var bytes: [UInt8] = []
    append(milliseconds: milliseconds, to: &bytes)
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Appends the 24 bytes of ``format(milliseconds:)``.
  public static func append(milliseconds: Int, to bytes: inout [UInt8]) {
    let clamped = min(max(milliseconds, range.lowerBound), range.upperBound)
    let (days, time) = clamped.floorDivided(by: 86_400_000)
    let date = CivilDate(daysSince1970: days)
    appendNumber(date.year, digits: 4, to: &bytes)
    bytes.append(UInt8(ascii: "-"))
    appendNumber(date.month, digits: 2, to: &bytes)
    bytes.append(UInt8(ascii: "-"))
    appendNumber(date.day, digits: 2, to: &bytes)
    bytes.append(UInt8(ascii: "T"))
    appendNumber(time / 3_600_000, digits: 2, to: &bytes)
    bytes.append(UInt8(ascii: ":"))
    appendNumber(time / 60_000 % 60, digits: 2, to: &bytes)
    bytes.append(UInt8(ascii: ":"))
    appendNumber(time / 1000 % 60, digits: 2, to: &bytes)
    bytes.append(UInt8(ascii: "."))
    appendNumber(time % 1000, digits: 3, to: &bytes)
    bytes.append(UInt8(ascii: "Z"))
  }

  /// Returns the date and the time of day in UTC.
  static func civil(milliseconds: Int) -> (year: Int, month: Int, day: Int, hour: Int, minute: Int) {
    let (days, time) = milliseconds.floorDivided(by: 86_400_000)
    let date = CivilDate(daysSince1970: days)
    return (date.year, date.month, date.day, time / 3_600_000, time / 60_000 % 60)
  }

  private static func appendNumber(_ value: Int, digits: Int, to bytes: inout [UInt8]) {
    var divisor = 1
    for _ in 1..<digits { divisor *= 10 }
    while divisor > 0 {
      bytes.append(UInt8(ascii: "0") + UInt8(value / divisor % 10))
      divisor /= 10
    }
  }

  /// Scanner that removes the parts of a date-time from the front of a text.
  private struct Scanner {
    var rest: ArraySlice<UInt8>

    mutating func take(_ character: Unicode.Scalar) -> Bool {
      guard rest.first == UInt8(ascii: character) else { return false }
      rest.removeFirst()
      return true
    }

    mutating func digit() -> Int? {
      guard let byte = rest.first, byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") else { return nil }
      rest.removeFirst()
      return Int(byte - UInt8(ascii: "0"))
    }

    mutating func number(digits: Int) -> Int? {
      var number = 0
      for _ in 0..<digits {
        guard let digit = digit() else { return nil }
        number = number * 10 + digit
      }
      return number
    }

    /// Returns the milliseconds of the fraction; 0 if there is none.
    mutating func fraction() -> Int? {
      guard take(".") else { return 0 }
      guard var digit = digit() else { return nil }
      var value = 0
      var weight = 100
      while true {
        value += digit * weight
        weight /= 10
        guard let next = self.digit() else { return value }
        digit = next
      }
    }

    /// Returns the minutes east of UTC.
    mutating func offset() -> Int? {
      if take("Z") || take("z") { return 0 }
      let sign = take("-") ? -1 : 1
      if sign == 1, !take("+") { return nil }
      guard let hours = number(digits: 2), hours < 24, take(":"), let minutes = number(digits: 2), minutes < 60 else {
        return nil
      }
      return sign * (hours * 60 + minutes)
    }
  }
}
