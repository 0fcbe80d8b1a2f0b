/// Rules of a time zone for the changes to and from summer time in every year. They are read from a POSIX `TZ` string
/// with the extension of RFC 8536, 3.3.1 (hours from -167 to 167).
struct YearlyRules: Sendable, Equatable {
  /// Day of the year.
  enum Day: Sendable, Equatable {
    /// `Jn`: 1 to 365; the 29th of February is never counted.
    case julian(Int)
    /// `n`: 0 to 365; the 29th of February is counted.
    case ofYear(Int)
    /// `Mm.w.d`: a weekday (0 is Sunday) in a week of a month, from 1; week 5 is the last.
    case ofMonth(Int, week: Int, weekday: Int)
  }

  /// Time of a change, as the clock shows it before the change.
  struct Rule: Sendable, Equatable {
    var day: Day
    /// Seconds after midnight of ``day``. The time may be on an earlier or later day.
    var time: Int
  }

  /// Offset of standard time: seconds ahead of UTC.
  let standard: Int
  /// Offset of summer time, with its beginning and end. `nil` if clocks do not change.
  let summer: Summer?

  struct Summer: Sendable, Equatable {
    var offset: Int
    var start: Rule
    var end: Rule
  }

  /// Returns the offset at an instant, in seconds.
  func offset(at instant: Int) -> Int {
    guard summer != nil else { return standard }
    let year = CivilDate(daysSince1970: instant.floorDivided(by: 86400).quotient).year
    return candidates(from: year - 1, to: year + 1).last { $0.at <= instant }?.offset ?? standard
  }

  /// Returns the changes in a period.
  func changes(in range: Range<Int>) -> [ZoneRules.Change] {
    guard summer != nil, !range.isEmpty else { return [] }
    let first = CivilDate(daysSince1970: range.lowerBound.floorDivided(by: 86400).quotient).year
    let last = CivilDate(daysSince1970: range.upperBound.floorDivided(by: 86400).quotient).year
    var offset = offset(at: range.lowerBound - 1)
    var found: [ZoneRules.Change] = []
    for change in candidates(from: first - 1, to: last + 1) where range.contains(change.at) {
      if change.offset != offset { found.append(change) }
      offset = change.offset
    }
    return found
  }

  /// Returns the changes from the year `first` to the year `last` in their order, at most one for each instant.
  private func candidates(from first: Int, to last: Int) -> [ZoneRules.Change] {
    guard let summer else { return [] }
    var changes: [ZoneRules.Change] = []
    for year in first...last {
      let start = ZoneRules.Change(at: summer.start.instant(in: year, offset: standard), offset: summer.offset)
      let end = ZoneRules.Change(at: summer.end.instant(in: year, offset: summer.offset), offset: standard)
      // In the southern hemisphere, summer time ends earlier in a year than it begins. If the end of one summer time is
      // the start of the next, summer time never ends (RFC 8536).
      changes += start.at < end.at ? [start, end] : [end, start]
    }
    var ordered: [ZoneRules.Change] = []
    for change in changes.sorted(by: { ($0.at, $0.offset == standard ? 0 : 1) < ($1.at, $1.offset == standard ? 0 : 1) }
    ) {
      if ordered.last?.at == change.at { ordered.removeLast() }
      ordered.append(change)
    }
    return ordered
  }
}

extension YearlyRules.Rule {
  /// Returns the instant of the change in a year, for clocks that are ahead of UTC by `offset`.
  fileprivate func instant(in year: Int, offset: Int) -> Int {
    let newYear = CivilDate(year: year, month: 1, day: 1).daysSince1970
    let day: Int
    switch self.day {
    case .julian(let number): day = newYear + number - 1 + (CivilDate.isLeap(year) && number >= 60 ? 1 : 0)
    case .ofYear(let number): day = newYear + number
    case .ofMonth(let month, let week, let weekday):
      let first = CivilDate(year: year, month: month, day: 1).daysSince1970
      let ahead = (weekday - CivilDate.weekday(daysSince1970: first) + 7) % 7
      let length = CivilDate.days(in: month, of: year)
      var inMonth = ahead + (week - 1) * 7
      while inMonth >= length { inMonth -= 7 }
      day = first + inMonth
    }
    return day * 86400 + time - offset
  }
}

extension YearlyRules {
  /// - Parameter text: a POSIX `TZ` string, such as `CET-1CEST,M3.5.0,M10.5.0/3`.
  /// - Returns: `nil` for any other text.
  init?(posix text: some Collection<UInt8>) {
    var rest = Array(text)[...]
    guard Self.takeName(&rest), let west = Self.takeTime(&rest, hours: 24) else { return nil }
    standard = -west
    guard !rest.isEmpty else {
      summer = nil
      return
    }
    guard Self.takeName(&rest) else { return nil }
    var offset = standard + 3600
    if let next = rest.first, next != UInt8(ascii: ",") {
      guard let west = Self.takeTime(&rest, hours: 24) else { return nil }
      offset = -west
    }
    // POSIX does not define when summer time begins if no rule follows. All files of the time zone database contain a
    // rule.
    guard let start = Self.takeRule(&rest), let end = Self.takeRule(&rest), rest.isEmpty else { return nil }
    summer = Summer(offset: offset, start: start, end: end)
  }

  private static func takeName(_ rest: inout ArraySlice<UInt8>) -> Bool {
    if rest.first == UInt8(ascii: "<") {
      guard let end = rest.firstIndex(of: UInt8(ascii: ">")) else { return false }
      let name = rest[rest.startIndex + 1..<end]
      rest = rest[(end + 1)...]
      return name.count >= 3
        && name.allSatisfy { isLetter($0) || isDigit($0) || $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "-") }
    }
    let name = rest.prefix(while: isLetter)
    rest = rest[name.endIndex...]
    return name.count >= 3
  }

  private static func takeRule(_ rest: inout ArraySlice<UInt8>) -> Rule? {
    guard rest.popFirst() == UInt8(ascii: ",") else { return nil }
    let day: Day
    switch rest.first {
    case UInt8(ascii: "J"):
      rest.removeFirst()
      guard let number = takeNumber(&rest), 1...365 ~= number else { return nil }
      day = .julian(number)
    case UInt8(ascii: "M"):
      rest.removeFirst()
      guard let month = takeNumber(&rest), 1...12 ~= month, rest.popFirst() == UInt8(ascii: "."),
        let week = takeNumber(&rest), 1...5 ~= week, rest.popFirst() == UInt8(ascii: "."),
        let weekday = takeNumber(&rest), 0...6 ~= weekday
      else { return nil }
      day = .ofMonth(month, week: week, weekday: weekday)
    default:
      guard let number = takeNumber(&rest), 0...365 ~= number else { return nil }
      day = .ofYear(number)
    }
    guard rest.first == UInt8(ascii: "/") else { return Rule(day: day, time: 2 * 3600) }
    rest.removeFirst()
    guard let time = takeTime(&rest, hours: 167) else { return nil }
    return Rule(day: day, time: time)
  }

  /// Removes a time of the form `[+-]hh[:mm[:ss]]` from the beginning and returns its seconds.
  private static func takeTime(_ rest: inout ArraySlice<UInt8>, hours most: Int) -> Int? {
    var sign = 1
    if let first = rest.first, first == UInt8(ascii: "-") || first == UInt8(ascii: "+") {
      if first == UInt8(ascii: "-") { sign = -1 }
      rest.removeFirst()
    }
    guard let hours = takeNumber(&rest), hours <= most else { return nil }
    var seconds = hours * 3600
    for unit in [60, 1] where rest.first == UInt8(ascii: ":") {
      rest.removeFirst()
      guard let number = takeNumber(&rest), number < 60 else { return nil }
      seconds += number * unit
    }
    return sign * seconds
  }

  /// Removes a number from the beginning and returns it. Numbers in rules have at most three digits.
  private static func takeNumber(_ rest: inout ArraySlice<UInt8>) -> Int? {
    let digits = rest.prefix(while: isDigit)
    guard 1...3 ~= digits.count else { return nil }
    rest = rest[digits.endIndex...]
    return digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
  }

  private static func isDigit(_ byte: UInt8) -> Bool { UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte }

  private static func isLetter(_ byte: UInt8) -> Bool {
    UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte | 0x20
  }
}
