/// The id of a user, as the application's own backend chose it.
public enum UserID {
  /// The longest id in bytes of UTF-8: beyond any UUID, mail address or hash, and ten million of them still fit.
  public static let maximumLength = 256

  /// Returns the id that a text means, see ``Identifier``. Every reader of ids uses it.
  ///
  /// - Throws: for an id that is empty, longer than ``maximumLength``, or has invisible characters.
  public static func read(_ text: String) throws(IdentifierError) -> String {
    // Ids are lines of files and arguments of redis-cli: a line feed in one would break both.
    try Identifier.read(text, as: "a user id", maximumLength: maximumLength)
  }

  /// Returns the id that a JSON value means: a string, or a whole number such as `4711` or `4711.0`.
  ///
  /// - Throws: for a fraction, a number with an exponent, a boolean, and what ``read(_:)-(String)`` refuses.
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

/// The name of an attribute of users.
public enum AttributeName {
  /// Returns the name that a text means, see ``Identifier``.
  ///
  /// - Throws: for a name that is empty, longer than 64 bytes, or has invisible characters.
  public static func read(_ text: String) throws(IdentifierError) -> String {
    try Identifier.read(text, as: "an attribute name", maximumLength: DeviceRowDraft.maximumAttributeName)
  }
}

/// The names that Carillon itself gives meaning to: campaign ids and segments.
public enum PlainName {
  /// The longest name in bytes.
  public static let maximumLength = 64

  /// What a name has to look like, for messages.
  public static let form = "1 to 64 of A-Z a-z 0-9 . _ -"

  /// Returns the name that a text means: the text without white space at its edges, as for ``Identifier``.
  ///
  /// - Returns: `nil` for a text that is no such name.
  public static func read(_ text: String) -> String? {
    let name = Identifier.trimmed(text)
    return isValid(name) ? name : nil
  }

  /// Whether it is 1 to ``maximumLength`` of `A-Za-z0-9._-`: no character of it has a meaning in a key, an expression, a
  /// shell or a URL.
  public static func isValid(_ name: some StringProtocol) -> Bool {
    (1...maximumLength).contains(name.utf8.count) && name.utf8.allSatisfy(isLetter)
  }

  /// Whether an ASCII character may stand in such a name.
  public static func isLetter(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
      true
    default: false
    }
  }
}

/// The name of somebody who submits or approves campaigns, as people write it.
public enum PersonName {
  /// The longest name in bytes of UTF-8.
  public static let maximumLength = 256

  /// What is wrong with a name; `nil` when nothing is.
  public static func problem(_ name: String) -> String? {
    if name.isEmpty { return "a name must not be empty" }
    if name.utf8.count > maximumLength { return "a name has at most \(maximumLength) bytes" }
    // It stands in a line, apart from others by tabs.
    if name.unicodeScalars.contains(where: Excerpt.isControl) { return "a name must not have control characters" }
    return nil
  }
}
