internal import PushCore

/// Writer for values in YAML.
public enum YAMLText {
  /// Returns the YAML notation of a text: the text itself if YAML reads it unchanged, otherwise the text in single
  /// quotes.
  public static func quoted(_ text: String) -> String {
    let isPlain = text.utf8.allSatisfy {
      PlainName.isLetter($0) || [UInt8(ascii: "/"), UInt8(ascii: ":")].contains($0)
    }
    // YAML may read a text with a digit at its start as a number, and some words as booleans or null.
    let isWord = text.utf8.first.map { !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ?? false
    let isOther = ["true", "false", "null", "yes", "no", "on", "off"].contains(text.lowercased())
    if isPlain, isWord, !isOther, !text.hasPrefix("-"), !text.hasSuffix(":"), !text.contains(": ") { return text }
    return "'" + text.replacing("'", with: "''") + "'"
  }
}
