/// Times as clocks show them, without a zone.
public enum WallTime {
  /// What a wall time has to look like, for messages.
  public static let form = "a local time without a zone, such as 2026-12-01T09:00:00"

  /// The seconds that UTC has counted since 1970 when its clocks show this: `2026-12-01T09:00:00`. `nil` for anything
  /// else, an instant with a zone too.
  public static func seconds(_ text: String) -> Int? {
    // A zone makes an instant of it, and nothing else does.
    guard Timestamp.milliseconds(text) == nil, let milliseconds = Timestamp.milliseconds(text + "Z"),
      milliseconds % 1000 == 0
    else { return nil }
    return milliseconds / 1000
  }

  /// The text that ``seconds(_:)`` reads as these.
  public static func format(_ seconds: Int) -> String {
    String(Timestamp.format(milliseconds: seconds * 1000).prefix(19))
  }

  /// Seconds after midnight of a time of day, `HH:MM`; `nil` for anything else.
  public static func timeOfDay(_ text: String) -> Int? {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 2, 1...2 ~= parts[0].utf8.count, parts[1].utf8.count == 2, let hour = number(parts[0]),
      hour < 24, let minute = number(parts[1]), minute < 60
    else { return nil }
    return hour * 3600 + minute * 60
  }

  /// `HH:MM` of seconds after midnight.
  public static func format(timeOfDay seconds: Int) -> String {
    let (hour, minute) = (seconds / 3600, seconds / 60 % 60)
    return (hour < 10 ? "0" : "") + "\(hour):" + (minute < 10 ? "0" : "") + "\(minute)"
  }

  private static func number(_ digits: Substring) -> Int? {
    digits.utf8.allSatisfy { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 } ? Int(digits) : nil
  }
}
