/// Dates in header fields of HTTP, such as `Sun, 06 Nov 1994 08:49:37 GMT`.
///
/// Only the form that senders must generate is read (IMF-fixdate, RFC 9110 section 5.6.7).
public enum HTTPDate {
  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  /// Returns the UNIX seconds of a date.
  ///
  /// - Returns: `nil` for another text. The name of the weekday is not compared with the date.
  public static func seconds(_ text: some StringProtocol) -> Int? {
    let parts = text.split(separator: " ", omittingEmptySubsequences: false)
    guard parts.count == 6, parts[0].utf8.count == 4, parts[0].hasSuffix(","), parts[5] == "GMT",
      let day = digits(parts[1], 2), let month = months.firstIndex(where: { $0 == parts[2] }),
      let year = digits(parts[3], 4)
    else { return nil }
    let time = parts[4].split(separator: ":", omittingEmptySubsequences: false)
    guard time.count == 3, let hour = digits(time[0], 2), let minute = digits(time[1], 2),
      let second = digits(time[2], 2), hour < 24, minute < 60, second <= 60, day >= 1,
      day <= CivilDate.days(in: month + 1, of: year)
    else { return nil }
    let days = CivilDate(year: year, month: month + 1, day: day).daysSince1970
    return days * 86_400 + hour * 3600 + minute * 60 + second
  }

  private static func digits(_ text: some StringProtocol, _ count: Int) -> Int? {
    guard text.utf8.count == count, text.utf8.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }) else {
      return nil
    }
    return Int(text)
  }
}
