/// Instants of files, commands, requests and events: milliseconds since 1970, or RFC 3339.
public enum InstantText {
  /// The first instant that can be meant, in ms since 1970: 2001-09-09. A smaller number is one of seconds.
  public static let earliest = 1_000_000_000_000
  /// The time by which an instant may be ahead of the clock, in ms: a day, as a phone in the wrong time zone is. A later
  /// instant would undo everything that is said until then, or keep a device from ever being pruned.
  public static let mostAhead = 86_400_000
  /// The first number that is too large for milliseconds of this century: it is one of microseconds or nanoseconds.
  private static let microseconds = 100_000_000_000_000

  /// Returns the instant in ms since 1970.
  ///
  /// - Parameters:
  ///   - text: the input.
  ///   - field: the name of the field, for messages.
  ///   - now: ms since 1970.
  /// - Throws: for a text that is no instant, a number in another unit than ms, and an instant more than a day ahead.
  public static func read(_ text: String, _ field: String, now: Int) throws(IdentifierError) -> Int {
    let number = WholeNumber.text(text).flatMap { Int($0) }
    guard let instant = number ?? Timestamp.milliseconds(text), instant >= 0 else {
      throw IdentifierError(
        description: "\(field): \(Excerpt.quoted(text)) is neither milliseconds since 1970 nor \(Timestamp.form)")
    }
    guard instant >= earliest else {
      throw IdentifierError(
        description: "\(field): \(Excerpt.quoted(text)) is of before 2001"
          + (number == nil ? "" : " in milliseconds since 1970; are these seconds? multiply by 1000"))
    }
    guard instant <= now + mostAhead else {
      throw IdentifierError(
        description: "\(field): \(Excerpt.quoted(text)) is more than a day ahead of the clock"
          + (number.map { $0 >= microseconds } == true ? "; are these microseconds? divide by 1000" : ""))
    }
    return instant
  }
}
