/// Durations as people write them: a whole number and one unit, such as `90s`, `30m`, `4h` or `2d`.
public enum DurationText {
  /// Ten years; far beyond any use, and seconds of it fit 32 bits.
  public static let maximumSeconds = 3650 * 86400

  /// What a duration has to look like, for messages.
  public static let form = "a whole number with s, m, h or d, such as 90s, 30m, 4h or 2d"

  /// The seconds, 0 to ``maximumSeconds``; `nil` for anything else.
  public static func seconds(_ text: some StringProtocol) -> Int? {
    let bytes = Array(text.utf8)
    guard bytes.count >= 2, let unit = bytes.last.flatMap(unitSeconds) else { return nil }
    var number = 0
    for byte in bytes.dropLast() {
      guard byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") else { return nil }
      number = number * 10 + Int(byte - UInt8(ascii: "0"))
      guard number <= maximumSeconds else { return nil }
    }
    let (seconds, overflow) = number.multipliedReportingOverflow(by: unit)
    return overflow || seconds > maximumSeconds ? nil : seconds
  }

  /// The shortest text that ``seconds(_:)`` reads as this many.
  public static func format(seconds: Int) -> String {
    for (unit, letter) in [(86400, "d"), (3600, "h"), (60, "m")] where seconds != 0 && seconds % unit == 0 {
      return "\(seconds / unit)\(letter)"
    }
    return "\(seconds)s"
  }

  private static func unitSeconds(_ letter: UInt8) -> Int? {
    switch letter {
    case UInt8(ascii: "s"): 1
    case UInt8(ascii: "m"): 60
    case UInt8(ascii: "h"): 3600
    case UInt8(ascii: "d"): 86400
    default: nil
    }
  }
}
