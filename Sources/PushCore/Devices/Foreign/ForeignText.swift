/// Notation of a value in a foreign export, and the conversion of the value to a column of Carillon.
enum ForeignText: Sendable {
  /// The text itself.
  case plain
  /// A time: seconds or milliseconds since 1970, RFC 3339, `2026-12-01 09:00:00 UTC`, or an object with `seconds`.
  case instant
  /// Seconds ahead of UTC, in whole minutes.
  case offset
  /// An id. The prefix names the system and is added in front of the id.
  case prefixed(String)

  /// Explanation for people, shown after the column's name.
  var explanation: String {
    switch self {
    case .plain, .instant: ""
    case .offset: ", from seconds ahead of UTC"
    case .prefixed(let words): ", as \(words)…"
    }
  }

  /// Converts a value to the text of a column of Carillon.
  ///
  /// - Returns: `nil` if the value is empty or invalid.
  func text(_ value: JSONValue) -> String? {
    switch self {
    case .plain: return value.scalarText
    case .instant:
      if case .object(let members) = value.kind {
        let seconds = members.value("_seconds") ?? members.value("seconds")
        return seconds?.scalarText.flatMap(Self.milliseconds)
      }
      guard let text = value.scalarText else { return nil }
      return Self.milliseconds(text) ?? Self.timestamp(text)
    case .offset:
      guard let seconds = value.scalarText.flatMap({ Int($0) }), seconds % 60 == 0 else { return nil }
      return ZoneOffset.text(seconds)
    case .prefixed(let words): return value.scalarText.map { words + $0 }
    }
  }

  /// Returns a time in milliseconds since 1970 for a number of seconds or milliseconds. A number counts as milliseconds
  /// if it is then a time after 2001.
  private static func milliseconds(_ text: String) -> String? {
    guard let number = Double(text), number >= 0, number < 1e15 else { return nil }
    return String(Int(number < 1e12 ? number * 1000 : number))
  }

  /// Returns the time in RFC 3339 for a text without a zone, or with the zone `UTC` or `+0000`. All of them mean UTC.
  private static func timestamp(_ text: String) -> String {
    var text = text
    for zone in [" UTC", " +0000", "+0000"] where text.hasSuffix(zone) { text = text.dropLast(zone.utf8.count) + "Z" }
    if text.utf8.count == 10 { text += "T00:00:00" }
    return Timestamp.milliseconds(text) == nil && Timestamp.milliseconds(text + "Z") != nil ? text + "Z" : text
  }
}

extension JSONValue {
  /// Text of a string, a number or a bool; for a list of such values, the texts of its elements with commas between
  /// them. `nil` for an empty or nested value.
  var scalarText: String? {
    switch kind {
    case .string(let text): text.isEmpty ? nil : text
    case .number(let digits): digits
    case .bool(let bool): bool ? "true" : "false"
    case .null, .object: nil
    case .array(let elements):
      elements.isEmpty ? nil : elements.compactMap(\.scalarText).joined(separator: ",")
    }
  }
}
