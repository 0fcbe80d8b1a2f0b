/// Wall times: times as clocks show them, without a zone.
public enum WallTime {
  /// Description of a valid wall time, for error messages.
  public static let form = "a local time without a zone, such as 2026-12-01T09:00:00"

  /// Returns the seconds since 1970 at which UTC shows a wall time: `2026-12-01T09:00:00`. `nil` for any other text,
  /// including a time with a zone.
  public static func seconds(_ text: String) -> Int? {
    // A text that is a valid timestamp has a zone.
    guard Timestamp.milliseconds(text) == nil, let milliseconds = Timestamp.milliseconds(text + "Z"),
      milliseconds % 1000 == 0
    else { return nil }
    return milliseconds / 1000
  }

  /// Returns the text that ``seconds(_:)`` reads as this number.
  public static func format(_ seconds: Int) -> String {
    String(Timestamp.format(milliseconds: seconds * 1000).prefix(19))
  }

  /// Returns the seconds after midnight for a time of day, `HH:MM`; `nil` for any other text.
  public static func timeOfDay(_ text: String) -> Int? {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 2, 1...2 ~= parts[0].utf8.count, parts[1].utf8.count == 2, let hour = number(parts[0]),
      hour < 24, let minute = number(parts[1]), minute < 60
    else { return nil }
    return hour * 3600 + minute * 60
  }

  private static func number(_ digits: Substring) -> Int? {
    digits.utf8.allSatisfy { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 } ? Int(digits) : nil
  }
}
