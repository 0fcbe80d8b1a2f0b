import Foundation

/// An error in an identifier.
public struct IdentifierError: Error, Equatable, Sendable, CustomStringConvertible {
  /// One sentence without the place of the error.
  public var description: String
}

/// Canonical form in which Carillon stores and looks up identifiers: ids of users and names of attributes.
///
/// Two texts that a person can't distinguish must be the same identifier in every file, event, job, command and
/// request. Otherwise, a user who opted out with one text would still get pushes with the other text.
public enum Identifier {
  /// Returns the form of an identifier that Carillon stores: without white space at both ends, and in NFC.
  ///
  /// An identifier of plain ASCII is returned unchanged. In large imports, most identifiers are of this kind.
  ///
  /// - Parameters:
  ///   - text: the input.
  ///   - noun: the kind of identifier in error messages, such as `a user id`.
  ///   - maximumLength: the maximum length of an identifier in bytes of UTF-8.
  /// - Throws: an error if the identifier is empty or too long, has control characters, or has an invisible character
  ///   at its beginning or end.
  static func read(_ text: String, as noun: String, maximumLength: Int) throws(IdentifierError) -> String {
    let identifier = isPlain(text) ? text : try normalized(text, noun)
    guard !identifier.isEmpty else { throw IdentifierError(description: "\(noun) must not be empty") }
    guard identifier.utf8.count <= maximumLength else {
      throw IdentifierError(
        description: "\(noun) has at most \(maximumLength) bytes, this one has \(identifier.utf8.count)")
    }
    return identifier
  }

  /// Returns the text without ASCII white space at both ends: space, tab, line feed and carriage return.
  public static func trimmed(_ text: String) -> String {
    guard let first = text.utf8.first, let last = text.utf8.last, isBlank(first) || isBlank(last) else { return text }
    let bytes = text.utf8
    guard let start = bytes.firstIndex(where: { !isBlank($0) }), let end = bytes.lastIndex(where: { !isBlank($0) })
    else { return "" }
    return String(text[start...end])
  }

  /// Returns the text in Normalization Form C, so that texts that look the same have the same bytes.
  ///
  /// Source: Unicode Standard Annex #15.
  public static func composed(_ text: String) -> String {
    // UAX #15, section 9: every character below U+0300 is in NFC. In UTF-8 it has no byte above 0xCB.
    text.utf8.contains { $0 >= 0xCC } ? text.precomposedStringWithCanonicalMapping : text
  }

  /// Returns whether the text is printable ASCII without blanks at its beginning or end.
  private static func isPlain(_ text: String) -> Bool {
    text.utf8.first != UInt8(ascii: " ") && text.utf8.last != UInt8(ascii: " ")
      && text.utf8.allSatisfy { 0x20...0x7E ~= $0 }
  }

  private static func isBlank(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") || byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r")
  }

  private static func normalized(_ text: String, _ noun: String) throws(IdentifierError) -> String {
    let text = trimmed(text)
    guard !text.unicodeScalars.contains(where: Excerpt.isControl) else {
      throw IdentifierError(description: "\(noun) must not have control characters")
    }
    for (edge, verb) in [(text.unicodeScalars.first, "begin"), (text.unicodeScalars.last, "end")] {
      guard let edge, isInvisible(edge) else { continue }
      let code = String(edge.value, radix: 16, uppercase: true)
      let digits = String(repeating: "0", count: max(0, 4 - code.count)) + code
      throw IdentifierError(
        description: "\(noun) must not \(verb) with the invisible character U+\(digits); remove it from the export")
    }
    return composed(text)
  }

  /// Returns whether a text has only white space and invisible characters.
  public static func isBlank(_ text: String) -> Bool {
    text.unicodeScalars.allSatisfy { $0.properties.isWhitespace || isInvisible($0) }
  }

  /// Returns whether a character is invisible at the beginning or end of a text. A variation selector does not count,
  /// because it belongs to the emoji before it.
  private static func isInvisible(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .format, .spaceSeparator, .lineSeparator, .paragraphSeparator: true
    default:
      scalar.properties.isDefaultIgnorableCodePoint && !scalar.properties.isVariationSelector
        // BRAILLE PATTERN BLANK is a symbol without dots.
        || scalar.value == 0x2800
    }
  }
}
