import Foundation

/// A text that should be JSON but is truncated or malformed. The functions tell whether the text may contain an
/// identifier, for example the id of a user who must be erased. The functions may return `true` for a text without the
/// identifier, but never return `false` for a text with it. An identifier at the end of the text may be truncated.
public struct UnreadableText {
  /// The text without escapes, in Normalization Form D. In this form, the bytes of a truncated identifier are always a
  /// prefix of the bytes of the whole identifier.
  private let text: [UInt8]
  /// ``text`` in lower case without blanks and angle brackets, which Carillon ignores in tokens.
  private let dense: [UInt8]

  /// Minimum number of characters of a truncated token that identify a device: 32 bits in hex.
  private static let shortestToken = 8

  /// Creates an instance from bytes, which may end inside a character or an escape.
  public init(_ bytes: [UInt8]) {
    text = Self.decomposed(Self.unescaped(bytes))
    dense = Self.dense(text)
  }

  /// Returns whether the text may contain an identifier as a word. Words consist of ASCII letters, digits, `-`, `_` and
  /// `@`, so `ada` is neither in `nevada` nor in `ada-2`.
  ///
  /// - Parameter identifier: the canonical form of the identifier (``Identifier``).
  public func mayContain(_ identifier: String) -> Bool {
    Self.hasWord(Self.decomposed(Array(identifier.utf8)), in: text, shortest: 1, isBounded: true)
  }

  /// Returns whether the text may contain a token, in upper or lower case and with blanks anywhere.
  ///
  /// - Parameter token: the text of the token.
  public func mayContain(token: String) -> Bool {
    Self.hasWord(Self.dense(Array(token.utf8)), in: dense, shortest: Self.shortestToken, isBounded: false)
  }

  /// Returns whether the text contains the word, or ends with a prefix of the word.
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
    // If the text ends inside a character, the first bytes of this character are decoded as U+FFFD.
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

  /// Returns the text with the characters that its escapes represent (RFC 8259, section 7). A truncated escape at the
  /// end is removed. Any other invalid escape is kept.
  private static func unescaped(_ bytes: [UInt8]) -> [UInt8] {
    guard bytes.contains(UInt8(ascii: "\\")) else { return bytes }
    var (text, units): ([UInt8], [UInt16]) = ([], [])
    text.reserveCapacity(bytes.count)
    var place = 0
    /// Adds the characters of consecutive `\u` escapes. Two escapes may form one character.
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

  /// Returns the character that a letter after a backslash represents.
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
