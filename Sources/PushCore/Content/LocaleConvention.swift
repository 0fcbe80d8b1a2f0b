/// Notation of numbers and dates in a language, with the functions that write them. The only data source is
/// ``ConventionTable``.
struct LocaleConvention: Sendable {
  /// Grouping of digits.
  enum Grouping: String {
    case thousands
    /// Groups of three digits, but a number of four digits has no groups.
    case fromTenThousand
    /// The last three digits, and groups of two before them.
    case indian
  }

  /// Part of a date or time pattern.
  private enum Part {
    case text([UInt8])
    case year, month, day, hour, minute, monthName, half
    /// Hour of the 12-hour clock.
    case halfHour
    case twoDigits(month: Bool)
    case twoDigitHour
  }

  /// Locale of the convention.
  let tag: LanguageTag?
  private let group: [UInt8]
  private let decimal: [UInt8]
  let grouping: Grouping
  private let minus: [UInt8]
  private let date: [Part]
  private let long: [Part]
  private let time: [Part]
  private let halves: (morning: [UInt8], afternoon: [UInt8])
  private let months: [[UInt8]]

  /// Number of fields of a row of ``ConventionTable/rows``.
  private static let fields = 11

  /// - Parameters:
  ///   - row: a row of ``ConventionTable/rows``. Dates and times are CLDR patterns with `d` `dd` `M` `MM` `MMMM` `y`
  ///     `H` `HH` `h` `mm` `a` and text in `'…'`. Everything else is copied.
  ///   - months: the names of the months, by locale.
  private init?(row: some StringProtocol, months: [Substring: [[UInt8]]]) {
    let fields = row.split(separator: ";", omittingEmptySubsequences: false).map { Substring($0) }
    guard fields.count == Self.fields else { return nil }
    tag = LanguageTag(fields[0].utf8)
    group = Array(fields[1].utf8)
    decimal = Array(fields[2].utf8)
    grouping = Grouping(rawValue: String(fields[3])) ?? .thousands
    minus = Array(fields[4].utf8)
    date = Self.parts(fields[5])
    long = Self.parts(fields[6])
    time = Self.parts(fields[7])
    halves = (Array(fields[8].utf8), Array(fields[9].utf8))
    self.months = months[fields[10]] ?? []
  }

  /// Convention for a device whose language has no row in the table. Numbers have a decimal point and no groups of
  /// digits. Dates and times look like `2026-12-01` and `09:00`.
  static let neutral = LocaleConvention()

  private init() {
    (tag, group, decimal, grouping, minus) = (nil, [], [UInt8(ascii: ".")], .thousands, [UInt8(ascii: "-")])
    (date, long, time) = (Self.parts("y-MM-dd"), Self.parts("y-MM-dd"), Self.parts("HH:mm"))
    (halves, months) = (([], []), [])
  }

  /// Rows of ``ConventionTable``.
  static let table: [LocaleConvention] = {
    var months: [Substring: [[UInt8]]] = [:]
    for line in ConventionTable.months.split(separator: "\n") {
      let parts = line.split(separator: ";")
      if parts.count == 2 { months[parts[0]] = parts[1].split(separator: "|").map { Array($0.utf8) } }
    }
    return ConventionTable.rows.split(separator: "\n").compactMap { LocaleConvention(row: $0, months: months) }
  }()

  /// Returns the position in ``table`` of a language tag or its nearest parent; `nil` if ``neutral`` applies.
  static func index(for tag: LanguageTag?) -> Int? { tag?.nearest(in: table, \.tag) }

  private static func parts(_ pattern: some StringProtocol) -> [Part] {
    var parts: [Part] = []
    var rest = Array(pattern.unicodeScalars)[...]
    func text(_ scalar: Unicode.Scalar) {
      let bytes = Array(String(scalar).utf8)
      if case .text(let before)? = parts.last {
        parts[parts.count - 1] = .text(before + bytes)
      } else {
        parts.append(.text(bytes))
      }
    }
    while let first = rest.first {
      if first == "'" {
        rest.removeFirst()
        while let next = rest.popFirst(), next != "'" { text(next) }
        continue
      }
      let count = rest.prefix { $0 == first }.count
      switch first {
      case "y": parts.append(.year)
      case "M": parts.append(count == 4 ? .monthName : count == 2 ? .twoDigits(month: true) : .month)
      case "d": parts.append(count == 2 ? .twoDigits(month: false) : .day)
      case "H": parts.append(count == 2 ? .twoDigitHour : .hour)
      case "h": parts.append(.halfHour)
      case "m": parts.append(.minute)
      case "a": parts.append(.half)
      default:
        text(first)
        rest.removeFirst()
        continue
      }
      rest.removeFirst(count)
    }
    return parts
  }

  // MARK: Writing

  /// Writes a date or time.
  func write(_ clock: WallClockText, _ style: ValueFormat.Style, to bytes: inout [UInt8]) {
    for part in style == .time ? time : style == .longDate ? long : date {
      switch part {
      case .text(let text): bytes += text
      case .year: Self.append(clock.year, to: &bytes)
      case .month: Self.append(clock.month, to: &bytes)
      case .day: Self.append(clock.day, to: &bytes)
      case .hour: Self.append(clock.hour, to: &bytes)
      case .minute: Self.append(clock.minute, digits: 2, to: &bytes)
      case .twoDigits(let month): Self.append(month ? clock.month : clock.day, digits: 2, to: &bytes)
      case .twoDigitHour: Self.append(clock.hour, digits: 2, to: &bytes)
      case .halfHour: Self.append((clock.hour + 11) % 12 + 1, to: &bytes)
      case .half: bytes += clock.hour < 12 ? halves.morning : halves.afternoon
      case .monthName: bytes += months.count == 12 ? months[clock.month - 1] : []
      }
    }
  }

  /// Writes a number.
  func write(_ number: DecimalText, to bytes: inout [UInt8]) {
    if number.isNegative { bytes += minus }
    let count = number.whole.count
    for (place, digit) in number.whole.enumerated() {
      if place > 0, isGroupBefore(count - place, of: count) { bytes += group }
      bytes.append(digit)
    }
    guard !number.fraction.isEmpty else { return }
    bytes += decimal
    bytes += number.fraction
  }

  private func isGroupBefore(_ left: Int, of count: Int) -> Bool {
    switch grouping {
    case .thousands: left % 3 == 0
    case .fromTenThousand: left % 3 == 0 && count > 4
    case .indian: left == 3 || left > 3 && left % 2 == 1
    }
  }

  private static func append(_ number: Int, digits: Int = 1, to bytes: inout [UInt8]) {
    if number >= 10 || digits > 1 { append(number / 10, digits: digits - 1, to: &bytes) }
    bytes.append(UInt8(ascii: "0") + UInt8(number % 10))
  }
}
