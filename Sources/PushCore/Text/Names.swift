/// Id of a user, chosen by the application's own backend.
public enum UserID {
  /// Maximum length of an id in bytes of UTF-8: longer than any UUID, mail address or hash. Ten million ids of this
  /// length take 2.6 GB.
  public static let maximumLength = 256

  /// Returns the user id that a text contains, in canonical form, see ``Identifier``. All code that reads user ids uses
  /// this function.
  ///
  /// - Throws: an error for an id that is empty, longer than ``maximumLength``, or has invisible characters.
  public static func read(_ text: String) throws(IdentifierError) -> String {
    // Ids are lines of files and arguments of redis-cli, which must not contain a line feed.
    try Identifier.read(text, as: "a user id", maximumLength: maximumLength)
  }

  /// Returns the user id that a JSON value contains: a string, or a whole number such as `4711` or `4711.0`.
  ///
  /// - Throws: an error for a fraction, a number with an exponent, a boolean, and every id that ``read(_:)-(String)``
  ///   refuses.
  public static func read(_ value: JSONValue) throws(IdentifierError) -> String {
    switch value.kind {
    case .string(let text): return try read(text)
    case .number(let number):
      if let id = WholeNumber.text(number) { return try read(id) }
      throw IdentifierError(
        description:
          "a user id in JSON is a string or a whole number, not \(Excerpt.bare(number)); write the id as a string")
    case .bool, .object, .array, .null:
      throw IdentifierError(description: "a user id must be a string or a whole number, not \(value.kindName)")
    }
  }
}

/// Name of an attribute of users.
public enum AttributeName {
  /// Returns the attribute name that a text contains, in canonical form, see ``Identifier``.
  ///
  /// - Throws: an error for a name that is empty, longer than 64 bytes, or has invisible characters.
  public static func read(_ text: String) throws(IdentifierError) -> String {
    try Identifier.read(text, as: "an attribute name", maximumLength: DeviceRowDraft.maximumAttributeName)
  }
}

/// Names that Carillon uses in keys, expressions and URLs, such as campaign ids and names of segments.
public enum PlainName {
  /// Maximum length of a name in bytes.
  public static let maximumLength = 64

  /// Description of a valid name, for error messages.
  public static let form = "1 to 64 of A-Z a-z 0-9 . _ -"

  /// Returns the name in a text: the text without white space at both ends (``Identifier/trimmed(_:)``).
  ///
  /// - Returns: `nil` for a text that is not a valid name.
  public static func read(_ text: String) -> String? {
    let name = Identifier.trimmed(text)
    return isValid(name) ? name : nil
  }

  /// Returns whether a text consists of 1 to ``maximumLength`` characters of `A-Za-z0-9._-`. None of these characters
  /// has a meaning in a key, an expression, a shell or a URL.
  public static func isValid(_ name: some StringProtocol) -> Bool {
    (1...maximumLength).contains(name.utf8.count) && name.utf8.allSatisfy(isLetter)
  }

  /// Returns whether an ASCII character is allowed in a plain name.
  public static func isLetter(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
      true
    default: false
    }
  }
}

/// Name of a person who submits or approves campaigns.
public enum PersonName {
  /// Maximum length of a name in bytes of UTF-8.
  public static let maximumLength = 256

  /// Returns the problem with a name; `nil` if it is valid.
  public static func problem(_ name: String) -> String? {
    if name.isEmpty { return "a name must not be empty" }
    if name.utf8.count > maximumLength { return "a name has at most \(maximumLength) bytes" }
    // The name is stored in a line with tabs between the fields.
    if name.unicodeScalars.contains(where: Excerpt.isControl) { return "a name must not have control characters" }
    return nil
  }
}
