internal import PushCore

/// Values in YAML.
public enum YAMLText {
  /// Returns a value as YAML reads it back: plain, or in single quotes.
  public static func quoted(_ text: String) -> String {
    let isPlain = text.utf8.allSatisfy {
      PlainName.isLetter($0) || [UInt8(ascii: "/"), UInt8(ascii: ":")].contains($0)
    }
    // YAML takes other words for something else than text.
    let isWord = text.utf8.first.map { !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ?? false
    let isOther = ["true", "false", "null", "yes", "no", "on", "off"].contains(text.lowercased())
    if isPlain, isWord, !isOther, !text.hasPrefix("-"), !text.hasSuffix(":"), !text.contains(": ") { return text }
    return "'" + text.replacing("'", with: "''") + "'"
  }
}
