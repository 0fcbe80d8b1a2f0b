/// Text of an address in a message: the URL of an image, or the URL that the app opens.
enum AddressText {
  /// Returns whether a text is an absolute URL: a scheme, a colon and at least one more character, without blanks and
  /// control characters. Source: RFC 3986, 3 and 3.1.
  ///
  /// Placeholders may be anywhere in the text. A text that begins with a placeholder counts as a URL, because the value
  /// may contain the scheme.
  static func isAddress(_ text: String) -> Bool {
    guard !text.hasPrefix("{{") else { return true }
    var rest = Substring(text)
    var plain = ""
    while let begin = rest.firstRange(of: "{{"), let end = rest[begin.upperBound...].firstRange(of: "}}") {
      plain += rest[..<begin.lowerBound] + "x"
      rest = rest[end.upperBound...]
    }
    plain += rest
    guard let colon = plain.firstIndex(of: ":"), plain.index(after: colon) != plain.endIndex else { return false }
    let scheme = plain[..<colon].utf8
    guard let first = scheme.first, isLetter(first), scheme.allSatisfy({ isLetter($0) || isOther($0) }) else {
      return false
    }
    return !plain.unicodeScalars.contains { $0.properties.isWhitespace || Excerpt.isControl($0) }
  }

  private static func isLetter(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
  }

  /// Returns whether a byte is a digit, `+`, `-` or `.`, which may follow the first letter of a scheme.
  private static func isOther(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || [0x2B, 0x2D, 0x2E].contains(byte)
  }
}
