/// Excerpts of text from other sources, made safe for Carillon's error messages and log lines.
public enum Excerpt {
  /// Returns the text in single quotes: at most 48 characters, with misleading characters replaced, see
  /// ``isMisleading(_:)``.
  public static func quoted(_ text: some StringProtocol) -> String {
    var shown = "'"
    var count = 0
    for scalar in text.unicodeScalars {
      guard count < 48 else {
        shown += "…"
        break
      }
      shown.unicodeScalars.append(isMisleading(scalar) ? "\u{FFFD}" : scalar)
      count += 1
    }
    return shown + "'"
  }

  /// Returns the whole text on one line, with misleading characters replaced, see ``isMisleading(_:)``.
  public static func harmless(_ text: String) -> String { replacing(in: text, isMisleading) }

  /// Replaces each character that meets a condition by U+FFFD.
  static func replacing(in text: String, _ condition: (Unicode.Scalar) -> Bool) -> String {
    guard text.unicodeScalars.contains(where: condition) else { return text }
    var result = ""
    for scalar in text.unicodeScalars { result.unicodeScalars.append(condition(scalar) ? "\u{FFFD}" : scalar) }
    return result
  }

  /// Returns the result of ``quoted(_:)`` without the quotes, for names from a producer within a path.
  public static func bare(_ text: some StringProtocol) -> String { String(quoted(text).dropFirst().dropLast()) }

  /// Returns whether a character can make a person read something other than the text. A control character can control
  /// a terminal, and a bidirectional control character changes the order in which the characters around it are shown.
  ///
  /// Source: Unicode Standard Annex #9, section 2, "Directional Formatting Characters".
  static func isMisleading(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x061C, 0x200E...0x200F, 0x202A...0x202E, 0x2066...0x2069: true
    default: isControl(scalar)
    }
  }

  /// Returns whether a character is a C0 or C1 control, DEL, or a line or paragraph separator.
  public static func isControl(_ scalar: Unicode.Scalar) -> Bool {
    scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value) || scalar.value == 0x2028 || scalar.value == 0x2029
  }
}
