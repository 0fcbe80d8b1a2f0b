/// Text of somebody else's, made fit for a message of ours.
public enum Excerpt {
  /// The text in single quotes: at most 48 characters of it, control characters (which could drive a terminal) replaced.
  public static func quoted(_ text: some StringProtocol) -> String {
    var shown = "'"
    var count = 0
    for scalar in text.unicodeScalars {
      guard count < 48 else {
        shown += "…"
        break
      }
      shown.unicodeScalars.append(isControl(scalar) ? "\u{FFFD}" : scalar)
      count += 1
    }
    return shown + "'"
  }

  /// The whole text on one line, control characters replaced.
  public static func harmless(_ text: String) -> String {
    guard text.unicodeScalars.contains(where: isControl) else { return text }
    var result = ""
    for scalar in text.unicodeScalars { result.unicodeScalars.append(isControl(scalar) ? "\u{FFFD}" : scalar) }
    return result
  }

  /// The same without the quotes: a name of the producer's in a path.
  public static func bare(_ text: some StringProtocol) -> String { String(quoted(text).dropFirst().dropLast()) }

  /// C0, DEL, C1, and the line and paragraph separators.
  public static func isControl(_ scalar: Unicode.Scalar) -> Bool {
    scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value) || scalar.value == 0x2028 || scalar.value == 0x2029
  }
}
