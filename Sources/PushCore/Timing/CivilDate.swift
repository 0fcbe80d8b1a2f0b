/// Day of the Gregorian calendar.
///
/// The calculation uses the calendar's cycle of 400 years. Source: Howard Hinnant, "chrono-Compatible Low-Level Date
/// Algorithms". Years begin in March, so that the leap day is the last day of a year.
struct CivilDate: Sendable, Equatable {
  var year: Int
  /// Month, from 1.
  var month: Int
  /// Day, from 1.
  var day: Int

  /// Creates an instance with these values.
  init(year: Int, month: Int, day: Int) {
    self.year = year
    self.month = month
    self.day = day
  }

  init(daysSince1970 days: Int) {
    let (era, dayOfEra) = (days + 719_468).floorDivided(by: 146_097)
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shifted = (5 * dayOfYear + 2) / 153
    month = shifted < 10 ? shifted + 3 : shifted - 9
    year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    day = dayOfYear - (153 * shifted + 2) / 5 + 1
  }

  var daysSince1970: Int {
    let (era, yearOfEra) = (month > 2 ? year : year - 1).floorDivided(by: 400)
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }

  static func isLeap(_ year: Int) -> Bool { year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) }

  static func days(in month: Int, of year: Int) -> Int {
    switch month {
    case 2: isLeap(year) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }

  /// Returns the weekday; 0 for Sunday. The first day of 1970 was a Thursday.
  static func weekday(daysSince1970 days: Int) -> Int { (days + 4).floorDivided(by: 7).remainder }
}

extension Int {
  /// Returns the quotient, rounded down, and the remainder, which is never negative.
  func floorDivided(by divisor: Int) -> (quotient: Int, remainder: Int) {
    let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
  }
}
