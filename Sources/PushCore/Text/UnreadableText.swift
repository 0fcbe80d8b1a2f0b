import Foundation

/// A text that should be JSON and can't be read as JSON, because it is cut or malformed. The type tells whether the
/// text may contain an identifier, which may be cut at the end of the text. The answer may be "yes" for a text without
/// the identifier, and is never "no" for a text with it.
public struct UnreadableText {
  /// The text without escapes, in Normalization Form D: the beginning of a cut identifier is then the beginning of the
  /// whole identifier.
  private let text: [UInt8]
  /// ``text`` in lower case without blanks and angle brackets, which readers of tokens ignore.
  private let dense: [UInt8]

  /// Shortest beginning of a token that identifies a device: 32 bits of a token in hex.
  private static let shortestToken = 8

  /// Creates a text from bytes, which may end inside a character or an escape.
  public init(_ bytes: [UInt8]) {
    text = Self.decomposed(Self.unescaped(bytes))
    dense = Self.dense(text)
  }

  /// Returns whether the text may contain an identifier as a word. Words consist of ASCII letters, digits, `-`, `_` and
  /// `@`, so `ada` is neither in `nevada` nor in `ada-2`.
  ///
  /// - Parameter identifier: in the form of ``Identifier``.
  public func mayContain(_ identifier: String) -> Bool {
    Self.hasWord(Self.decomposed(Array(identifier.utf8)), in: text, shortest: 1, isBounded: true)
  }

  /// Returns whether the text may contain a token, in any case and with any blanks.
  ///
  /// - Parameter token: the text of the token.
  public func mayContain(token: String) -> Bool {
    Self.hasWord(Self.dense(Array(token.utf8)), in: dense, shortest: Self.shortestToken, isBounded: false)
  }

  /// Returns whether the text has the word, or ends with a beginning of the word.
  private static func hasWord(_ word: [UInt8], in text: [UInt8], shortest: Int, isBounded: Bool) -> Bool {
    guard let first = word.first else { return false }
    for start in text.indices where text[start] == first {
      if isBounded, start > 0, isWord(text[start - 1]) { continue }
      let common = zip(text[start...], word).prefix { $0 == $1 }.count
      let end = start + common
      if end == text.count, common >= min(shortest, word.count) { return true }
      if common == word.count, !isBounded || !isWord(text[end]) { return true }
    }
    return false
  }

  private static func isWord(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "@"):
      true
    default: false
    }
  }

  private static func decomposed(_ bytes: [UInt8]) -> [UInt8] {
    guard bytes.contains(where: { $0 >= 0x80 }) else { return bytes }
    var text = String(decoding: bytes, as: UTF8.self)
    // If a character is cut at the end of the text, its first bytes are decoded as U+FFFD.
    while text.unicodeScalars.last == "\u{FFFD}" { text.unicodeScalars.removeLast() }
    return Array(text.decomposedStringWithCanonicalMapping.utf8)
  }

  private static func dense(_ text: [UInt8]) -> [UInt8] {
    text.compactMap { byte in
      switch byte {
      case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "<"), UInt8(ascii: ">"): nil
      case UInt8(ascii: "A")...UInt8(ascii: "Z"): byte | 0x20
      default: byte
      }
    }
  }

  /// Returns the text with the characters that its escapes name (RFC 8259, section 7). An escape that is cut at the end
  /// is removed. Any other invalid escape stays.
  private static func unescaped(_ bytes: [UInt8]) -> [UInt8] {
    guard bytes.contains(UInt8(ascii: "\\")) else { return bytes }
    var (text, units): ([UInt8], [UInt16]) = ([], [])
    text.reserveCapacity(bytes.count)
    var place = 0
    /// Adds the characters of consecutive `\u` escapes, of which two may form one character.
    func flush() {
      text += String(decoding: units, as: UTF16.self).utf8
      units.removeAll()
    }
    while place < bytes.count {
      guard bytes[place] == UInt8(ascii: "\\") else {
        if !units.isEmpty { flush() }
        text.append(bytes[place])
        place += 1
        continue
      }
      guard place + 1 < bytes.count else { break }
      if bytes[place + 1] == UInt8(ascii: "u") {
        guard place + 6 <= bytes.count else { break }
        if let unit = hexUnit(bytes[(place + 2)..<(place + 6)]) {
          units.append(unit)
          place += 6
          continue
        }
      }
      if !units.isEmpty { flush() }
      text.append(character(ofEscape: bytes[place + 1]))
      place += 2
    }
    if !units.isEmpty { flush() }
    return text
  }

  private static func hexUnit(_ digits: ArraySlice<UInt8>) -> UInt16? {
    var unit: UInt16 = 0
    for digit in digits {
      guard let value = Hex.value(of: digit) else { return nil }
      unit = unit << 4 | UInt16(value)
    }
    return unit
  }

  /// Returns the character that a letter after a backslash names.
  private static func character(ofEscape letter: UInt8) -> UInt8 {
    switch letter {
    case UInt8(ascii: "b"): 8
    case UInt8(ascii: "f"): 12
    case UInt8(ascii: "n"): 10
    case UInt8(ascii: "r"): 13
    case UInt8(ascii: "t"): 9
    default: letter
    }
  }
}
