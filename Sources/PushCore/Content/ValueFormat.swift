/// Format of a value in the convention of the device's language: `{{price:number.2}}`.
///
/// A value that is not a number or a time is copied unchanged.
struct ValueFormat: Hashable, Sendable {
  enum Style: Hashable, Sendable {
    /// Digits in groups, with this number of decimals; `nil` keeps the decimals of the value.
    case number(decimals: Int?)
    case date, longDate, time
  }

  let style: Style

  /// Maximum number of decimals.
  private static let maximumDecimals = 9
  /// Names of all formats, for error messages.
  static let names = "number, number.0 to number.\(maximumDecimals), date, date.long and time"

  /// - Returns: `nil` for an unknown name.
  init?(_ name: some StringProtocol) {
    switch name {
    case "number": style = .number(decimals: nil)
    case "date": style = .date
    case "date.long": style = .longDate
    case "time": style = .time
    default:
      guard name.hasPrefix("number."), let decimals = Int(name.dropFirst(7)), 0...Self.maximumDecimals ~= decimals,
        "\(decimals)" == name.dropFirst(7)
      else { return nil }
      style = .number(decimals: decimals)
    }
  }

  /// Appends a formatted value, escaped as in a JSON string.
  func write(_ value: UnsafeRawBufferPointer, by convention: LocaleConvention, to bytes: inout [UInt8]) {
    switch style {
    case .number(let decimals):
      guard let number = DecimalText(value, decimals: decimals) else { break }
      return convention.write(number, to: &bytes)
    case .date, .longDate, .time:
      guard let clock = WallClockText(value, needsTime: style == .time) else { break }
      return convention.write(clock, style, to: &bytes)
    }
    bytes.append(contentsOf: value)
  }
}

/// Decimal number as digits. Unlike a binary floating-point number, it represents the value exactly.
struct DecimalText {
  private(set) var isNegative = false
  private(set) var whole: ArraySlice<UInt8> = []
  private(set) var fraction: ArraySlice<UInt8> = []

  /// Maximum number of digits. A longer number is copied unchanged.
  private static let maximumDigits = 30

  /// - Parameter decimals: the number of decimals; the last one is rounded half away from zero. `nil` keeps all
  ///   decimals.
  /// - Returns: `nil` if the text is not a decimal number such as `12`, `-12` or `12.50`.
  init?(_ text: UnsafeRawBufferPointer, decimals: Int?) {
    guard text.count <= Self.maximumDigits + 2 else { return nil }
    var rest = Array(text)[...]
    if rest.first == UInt8(ascii: "-") {
      isNegative = true
      rest.removeFirst()
    }
    let parts = rest.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard 1...2 ~= parts.count, parts.allSatisfy({ !$0.isEmpty && $0.allSatisfy(Self.isDigit) }) else { return nil }
    whole = parts[0].drop { $0 == UInt8(ascii: "0") }
    if parts.count == 2 { fraction = parts[1] }
    if let decimals { round(to: decimals) }
    if whole.isEmpty { whole = [UInt8(ascii: "0")] }
    // A number that was rounded to zero has no sign.
    if whole == [UInt8(ascii: "0")], fraction.allSatisfy({ $0 == UInt8(ascii: "0") }) { isNegative = false }
  }

  private mutating func round(to decimals: Int) {
    guard fraction.count > decimals else {
      fraction += repeatElement(UInt8(ascii: "0"), count: decimals - fraction.count)
      return
    }
    let isUp = fraction[fraction.startIndex + decimals] >= UInt8(ascii: "5")
    var digits = Array(whole) + fraction.prefix(decimals)
    if isUp {
      var place = digits.count - 1
      while place >= 0, digits[place] == UInt8(ascii: "9") {
        digits[place] = UInt8(ascii: "0")
        place -= 1
      }
      if place >= 0 { digits[place] += 1 } else { digits.insert(UInt8(ascii: "1"), at: 0) }
    }
    whole = digits.dropLast(decimals)
    fraction = digits.suffix(decimals)
  }

  private static func isDigit(_ byte: UInt8) -> Bool { UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte }
}

/// Date and time of day. An RFC 3339 text is read as written, without conversion from its zone. Milliseconds since 1970
/// are converted to UTC.
struct WallClockText {
  private(set) var year = 0
  private(set) var month = 0
  private(set) var day = 0
  private(set) var hour = 0
  private(set) var minute = 0

  /// Length of `2026-12-01` and length of `2026-12-01T09:00`, in bytes.
  private static let (dateLength, minuteLength) = (10, 16)
  /// Maximum number of digits of the milliseconds since 1970.
  private static let maximumDigits = 15

  /// - Parameter needsTime: whether a date without a time is invalid.
  init?(_ text: UnsafeRawBufferPointer, needsTime: Bool) {
    if text.count > 4, text[4] == UInt8(ascii: "-") {
      guard text.count >= Self.dateLength, let year = Self.number(text[0..<4]), text[7] == UInt8(ascii: "-"),
        let month = Self.number(text[5..<7]), let day = Self.number(text[8..<10]),
        1...12 ~= month, 1...CivilDate.days(in: month, of: year) ~= day
      else { return nil }
      (self.year, self.month, self.day) = (year, month, day)
      if text.count == Self.dateLength, !needsTime { return }
      guard text.count > Self.minuteLength, text[13] == UInt8(ascii: ":"), let hour = Self.number(text[11..<13]),
        let minute = Self.number(text[14..<16]), hour < 24, minute < 60
      else { return nil }
      (self.hour, self.minute) = (hour, minute)
    } else {
      let isNegative = text.first == UInt8(ascii: "-")
      let digits = text.dropFirst(isNegative ? 1 : 0)
      guard 1...Self.maximumDigits ~= digits.count, let number = Self.number(digits) else { return nil }
      let milliseconds = isNegative ? -number : number
      guard Timestamp.range.contains(milliseconds) else { return nil }
      (year, month, day, hour, minute) = Timestamp.civil(milliseconds: milliseconds)
    }
  }

  private static func number(_ digits: Slice<UnsafeRawBufferPointer>) -> Int? {
    var number = 0
    for byte in digits {
      guard UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte else { return nil }
      number = number * 10 + Int(byte - UInt8(ascii: "0"))
    }
    return number
  }
}
