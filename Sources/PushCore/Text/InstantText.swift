/// Times in files, commands, requests and events: milliseconds since 1970, or RFC 3339.
public enum InstantText {
  /// Earliest accepted time in ms since 1970: 2001-09-09. A smaller number is probably in seconds.
  public static let earliest = 1_000_000_000_000
  /// Maximum time ahead of the clock in ms: a day, to allow for a phone with a wrong time zone. A time in the future
  /// would do harm: Carillon would ignore all changes until that time, or would not prune the device.
  public static let maximumAhead = 86_400_000
  /// First number that counts as microseconds or nanoseconds. As milliseconds, it would be a time in the year 5138.
  private static let microseconds = 100_000_000_000_000

  /// Returns the time in ms since 1970.
  ///
  /// - Parameters:
  ///   - text: the input.
  ///   - field: the name of the field, for error messages.
  ///   - now: ms since 1970.
  /// - Throws: an error for a text that is not a time, a number in another unit than ms, and a time more than a day
  ///   ahead.
  public static func read(_ text: String, _ field: String, now: Int) throws(IdentifierError) -> Int {
    let number = WholeNumber.text(text).flatMap { Int($0) }
    guard let instant = number ?? Timestamp.milliseconds(text), instant >= 0 else {
      throw IdentifierError(
        description: "\(field): \(Excerpt.quoted(text)) is neither milliseconds since 1970 nor \(Timestamp.form)")
    }
    guard instant >= earliest else {
      throw IdentifierError(
        description: "\(field): \(Excerpt.quoted(text)) is before 2001"
          + (number == nil ? "" : " in milliseconds since 1970; are these seconds? multiply by 1000"))
    }
    guard instant <= now + maximumAhead else {
      throw IdentifierError(
        description: "\(field): \(Excerpt.quoted(text)) is more than a day ahead of the clock"
          + (number.map { $0 >= microseconds } == true ? "; are these microseconds? divide by 1000" : ""))
    }
    return instant
  }
}
