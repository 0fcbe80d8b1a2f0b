/// Date in a header field, such as `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110 section 5.6.7).
public enum HTTPDate {
  private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

  /// Returns the UNIX seconds of a date in any of the three forms that a recipient must accept; `nil` for other text.
  ///
  /// A year of two digits is between 1970 and 2069. The name of the weekday is not compared with the date.
  public static func seconds(_ text: UnsafeBufferPointer<UInt8>) -> UInt32? {
    let parts = text.split(omittingEmptySubsequences: true) {
      $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: ",") || $0 == UInt8(ascii: "-")
    }.map { String(decoding: $0, as: UTF8.self) }
    switch parts.count {
    // Sun, 06 Nov 1994 08:49:37 GMT, or Sunday, 06-Nov-94 08:49:37 GMT
    case 6 where parts[5] == "GMT": return seconds(year: parts[3], month: parts[2], day: parts[1], time: parts[4])
    // Sun Nov  6 08:49:37 1994
    case 5: return seconds(year: parts[4], month: parts[1], day: parts[2], time: parts[3])
    default: return nil
    }
  }

  private static func seconds(year: String, month: String, day: String, time: String) -> UInt32? {
    let clock = time.split(separator: ":", omittingEmptySubsequences: false).map { number($0[...], 2...2) }
    guard clock.count == 3, let hour = clock[0], let minute = clock[1], let second = clock[2],
      hour < 24, minute < 60, second <= 60, let month = months.firstIndex(of: month),
      let day = number(day[...], 1...2), var year = number(year[...], 2...4)
    else { return nil }
    if year < 100 { year += year < 70 ? 2000 : 1900 }
    let first = days(year, month + 1, 1)
    let length = (month == 11 ? days(year + 1, 1, 1) : days(year, month + 2, 1)) - first
    guard (1...length).contains(day) else { return nil }
    return UInt32(exactly: (first + day - 1) * 86_400 + hour * 3600 + minute * 60 + second)
  }

  private static func number(_ text: Substring, _ length: ClosedRange<Int>) -> Int? {
    guard length.contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    return Int(text)
  }

  /// Returns the days from 1970-01-01 to a date of the Gregorian calendar. In this calculation, a year begins in March,
  /// so that a leap day is the last day of its year.
  private static func days(_ year: Int, _ month: Int, _ day: Int) -> Int {
    let shifted = month > 2 ? year : year - 1
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    return 365 * shifted + shifted / 4 - shifted / 100 + shifted / 400 + dayOfYear - 719_468
  }
}
