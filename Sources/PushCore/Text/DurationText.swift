/// Durations in the notation for people: a whole number and one unit, such as `90s`, `30m`, `4h` or `2d`.
public enum DurationText {
  /// Maximum duration in seconds: ten years. No useful duration is longer, and the number fits into 32 bits.
  public static let maximumSeconds = 3650 * 86400

  /// Description of a valid duration, for error messages.
  public static let form = "a whole number with s, m, h or d, such as 90s, 30m, 4h or 2d"

  /// Description of a valid duration that may have the unit `ms`, for error messages.
  public static let formWithMilliseconds = "a whole number with ms, s, m, h or d, such as 500ms, 90s, 30m or 4h"

  /// Returns the seconds of a duration, 0 to ``maximumSeconds``; `nil` for any other text.
  public static func seconds(_ text: some StringProtocol) -> Int? {
    guard let milliseconds = milliseconds(text), !text.hasSuffix("ms") else { return nil }
    return milliseconds / 1000
  }

  /// Returns the milliseconds of a duration, which may also have the unit `ms`; `nil` for any other text.
  public static func milliseconds(_ text: some StringProtocol) -> Int? {
    let digits = text.utf8.prefix { $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }
    guard !digits.isEmpty, let unit = unitMilliseconds(text.utf8.dropFirst(digits.count)) else { return nil }
    var number = 0
    for digit in digits {
      number = number * 10 + Int(digit - UInt8(ascii: "0"))
      // The check after each digit prevents an overflow of the product.
      guard number * unit <= maximumSeconds * 1000 else { return nil }
    }
    return number * unit
  }

  /// Returns the shortest text that ``milliseconds(_:)`` reads as this number.
  public static func format(milliseconds: Int) -> String {
    let units = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1000, "s")]
    for (unit, letter) in units where milliseconds != 0 && milliseconds % unit == 0 {
      return "\(milliseconds / unit)\(letter)"
    }
    return milliseconds == 0 ? "0s" : "\(milliseconds)ms"
  }

  private static func unitMilliseconds(_ unit: some Sequence<UInt8>) -> Int? {
    switch String(decoding: Array(unit), as: UTF8.self) {
    case "ms": 1
    case "s": 1000
    case "m": 60_000
    case "h": 3_600_000
    case "d": 86_400_000
    default: nil
    }
  }
}
