/// Text of somebody else's, made fit for a message of ours.
public enum Excerpt {
  /// The text in single quotes: at most 48 characters of it, characters replaced that could mislead, see ``misleads(_:)``.
  public static func quoted(_ text: some StringProtocol) -> String {
    var shown = "'"
    var count = 0
    for scalar in text.unicodeScalars {
      guard count < 48 else {
        shown += "…"
        break
      }
      shown.unicodeScalars.append(misleads(scalar) ? "\u{FFFD}" : scalar)
      count += 1
    }
    return shown + "'"
  }

  /// The whole text on one line, characters replaced that could mislead, see ``misleads(_:)``.
  public static func harmless(_ text: String) -> String { replacing(in: text, misleads) }

  /// Replaces the characters of a text for which a condition holds by U+FFFD.
  static func replacing(in text: String, _ condition: (Unicode.Scalar) -> Bool) -> String {
    guard text.unicodeScalars.contains(where: condition) else { return text }
    var result = ""
    for scalar in text.unicodeScalars { result.unicodeScalars.append(condition(scalar) ? "\u{FFFD}" : scalar) }
    return result
  }

  /// The same without the quotes: a name of the producer's in a path.
  public static func bare(_ text: some StringProtocol) -> String { String(quoted(text).dropFirst().dropLast()) }

  /// Whether a person may read something else than what is there: a control character can drive a terminal, and a
  /// bidirectional control character changes the order in which the characters around it are shown.
  ///
  /// Source: Unicode Standard Annex #9, section 2, "Directional Formatting Characters".
  static func misleads(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x061C, 0x200E...0x200F, 0x202A...0x202E, 0x2066...0x2069: true
    default: isControl(scalar)
    }
  }

  /// C0, DEL, C1, and the line and paragraph separators.
  public static func isControl(_ scalar: Unicode.Scalar) -> Bool {
    scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value) || scalar.value == 0x2028 || scalar.value == 0x2029
  }
}
