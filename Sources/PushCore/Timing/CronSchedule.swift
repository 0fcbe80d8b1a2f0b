/// Recurring schedule: five fields as in crontab(5): minute, hour, day of the month, month, weekday.
///
/// The fields are wall times: times as clocks show them. If clocks skip the time of a run, the run begins at the moment
/// of the skip. If clocks show the time twice, the run begins at the first occurrence. So a change of the clocks
/// neither skips a run nor repeats one.
public struct CronSchedule: Sendable, Equatable {
  /// Bits of the allowed values of each field.
  private let minutes: UInt64
  private let hours: UInt64
  private let days: UInt64
  private let months: UInt64
  private let weekdays: UInt64
  /// Whether both day fields must allow a day: `true` if one of them begins with `*`. Otherwise, a day is allowed if
  /// one of the fields allows it (crontab(5)).
  private let needsBoth: Bool

  /// Description of a valid schedule, for error messages.
  public static let form =
    "minute, hour, day, month and weekday, such as '0 9 * * mon-fri': each *, a number, a range, or a list of these, "
    + "with /n for every n-th"

  /// Maximum number of characters of a schedule. A list of all sixty minutes is shorter.
  public static let longest = 512

  /// Number of days within which every valid schedule has a time. The longest interval is eight years, between two
  /// 29ths of February.
  private static let horizon = 8 * 366 + 1

  /// - Parameter text: five fields with blanks between them.
  /// - Throws: an error with the problem.
  public init(parsing text: String) throws(CronError) {
    guard !text.hasPrefix("@") else {
      throw CronError(message: "\(Excerpt.quoted(text)) is not supported: use five fields")
    }
    guard text.utf8.count <= Self.longest else {
      throw CronError(message: "it has more than \(Self.longest) characters")
    }
    let fields = text.split(whereSeparator: { $0 == " " || $0 == "\t" })
    guard fields.count == 5 else { throw CronError(message: "it has \(fields.count) fields instead of five") }
    minutes = try Field.minute.bits(fields[0])
    hours = try Field.hour.bits(fields[1])
    days = try Field.day.bits(fields[2])
    months = try Field.month.bits(fields[3])
    let weekdays = try Field.weekday.bits(fields[4])
    // Both 0 and 7 mean Sunday.
    self.weekdays = (weekdays | weekdays >> 7) & 0x7f
    needsBoth = fields[2].hasPrefix("*") || fields[4].hasPrefix("*")
    guard nextDay(from: 0) != nil else {
      throw CronError(message: "there is no such day: day \(fields[2]) of month \(fields[3]) never comes")
    }
  }

  /// Returns the first time of the schedule after an instant; `nil` if there is none.
  ///
  /// - Parameters:
  ///   - instant: UNIX seconds.
  ///   - zone: the zone of the wall times.
  public func next(after instant: Int, in zone: ZoneRules) -> Int? {
    // Later wall times never belong to earlier instants. The search therefore skips all wall times before the present
    // one.
    var wall = zone.wall(at: instant).floorDivided(by: 60).quotient * 60
    while let match = nextWall(after: wall) {
      let found = zone.instant(ofWall: match)
      if found > instant { return found }
      wall = match
    }
    return nil
  }

  /// Returns the last time of the schedule that is after `start` and not after `instant`, all in UNIX seconds; `nil` if
  /// there is none.
  public func last(until instant: Int, after start: Int, in zone: ZoneRules) -> Int? {
    // The search begins with short periods before `instant`, because a schedule for every minute has too many times in
    // a long period.
    for stretch in [3600, 86400, 32 * 86400, Int.max] {
      let from = stretch == .max ? start : max(start, instant - stretch)
      var found: Int?
      while let next = next(after: found ?? from, in: zone), next <= instant { found = next }
      if found != nil || from == start { return found }
    }
    return nil
  }

  /// Returns the first allowed wall time after the given wall time.
  private func nextWall(after wall: Int) -> Int? {
    let (day, time) = (wall + 60).floorDivided(by: 86400)
    if allows(day: day), let found = nextTime(from: time) { return day * 86400 + found }
    guard let next = nextDay(from: day + 1), let found = nextTime(from: 0) else { return nil }
    return next * 86400 + found
  }

  /// Returns the first allowed time of day that is not before `seconds`, in seconds after midnight.
  private func nextTime(from seconds: Int) -> Int? {
    let start = (seconds + 59) / 60
    for hour in start / 60..<24 where hours >> UInt64(hour) & 1 == 1 {
      let first = hour == start / 60 ? start % 60 : 0
      let left = minutes >> UInt64(first)
      if left != 0 { return hour * 3600 + (first + left.trailingZeroBitCount) * 60 }
    }
    return nil
  }

  private func nextDay(from day: Int) -> Int? {
    let last = Timestamp.range.upperBound / 86_400_000
    return (day..<day + Self.horizon).first { $0 <= last && allows(day: $0) }
  }

  private func allows(day: Int) -> Bool {
    let date = CivilDate(daysSince1970: day)
    guard months >> UInt64(date.month) & 1 == 1 else { return false }
    let isDay = days >> UInt64(date.day) & 1 == 1
    let isWeekday = weekdays >> UInt64(CivilDate.weekday(daysSince1970: day)) & 1 == 1
    return needsBoth ? isDay && isWeekday : isDay || isWeekday
  }

  /// One of the five fields of a schedule.
  private struct Field {
    let name: String
    let range: ClosedRange<Int>
    /// Names of the numbers, such as `mon`; the first one is the name of the lower bound of ``range``.
    var names: [String] = []

    static let minute = Field(name: "minute", range: 0...59)
    static let hour = Field(name: "hour", range: 0...23)
    static let day = Field(name: "day", range: 1...31)
    static let month = Field(
      name: "month", range: 1...12,
      names: ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"])
    static let weekday = Field(
      name: "weekday", range: 0...7, names: ["sun", "mon", "tue", "wed", "thu", "fri", "sat"])

    func bits(_ text: Substring) throws(CronError) -> UInt64 {
      var bits: UInt64 = 0
      for part in text.split(separator: ",", omittingEmptySubsequences: false) {
        let pieces = part.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        var step = 1
        if pieces.count == 2 {
          guard let number = number(pieces[1]), number > 0 else {
            throw error(part, "a step is a number above 0")
          }
          step = number
        }
        let allowed: ClosedRange<Int>
        if pieces[0] == "*" {
          // `*` means the weekdays 0 to 6. Without this rule, it would include Sunday twice, as 0 and as 7.
          allowed = range.lowerBound...(range.upperBound == 7 ? 6 : range.upperBound)
        } else {
          let ends = pieces[0].split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
          guard let first = value(ends[0]), let last = ends.count == 2 ? value(ends[1]) : first else {
            throw error(
              part,
              "it must be \(range.lowerBound) to \(range.upperBound)\(names.isEmpty ? "" : ", or a name such as \(names[1])")"
            )
          }
          guard first <= last else { throw error(part, "a range must not go backwards") }
          guard pieces.count == 1 || ends.count == 2 else {
            throw error(part, "a step needs a range, such as \(first)-\(range.upperBound)/\(step)")
          }
          allowed = first...last
        }
        for number in stride(from: allowed.lowerBound, through: allowed.upperBound, by: step) {
          bits |= 1 << UInt64(number)
        }
      }
      return bits
    }

    private func value(_ text: Substring) -> Int? {
      if let index = names.firstIndex(of: text.lowercased()) { return range.lowerBound + index }
      return number(text).flatMap { range.contains($0) ? $0 : nil }
    }

    private func number(_ text: Substring) -> Int? {
      guard 1...3 ~= text.utf8.count, text.utf8.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }) else {
        return nil
      }
      return Int(text)
    }

    private func error(_ part: Substring, _ message: String) -> CronError {
      CronError(message: "\(Excerpt.quoted(String(part))) is not a valid \(name): \(message)")
    }
  }
}

/// Syntax error in a schedule.
public struct CronError: Error, Equatable, Sendable, CustomStringConvertible {
  /// Description of the error.
  public var message: String

  public var description: String { message }
}
