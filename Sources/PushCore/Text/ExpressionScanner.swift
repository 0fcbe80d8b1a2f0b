/// Reader of the characters of an audience expression or a condition.
struct ExpressionScanner {
  let characters: [Unicode.Scalar]
  /// The index of the next character.
  var position = 0

  init(_ text: String) {
    characters = Array(text.unicodeScalars)
  }

  /// Skips blanks and returns the next character; `nil` at the end.
  mutating func peek() -> Unicode.Scalar? {
    while position < characters.count, [" ", "\t", "\n", "\r"].contains(characters[position]) { position += 1 }
    return position < characters.count ? characters[position] : nil
  }

  /// Moves past blanks and this character if it is next. Returns whether the character was found.
  mutating func take(_ character: Unicode.Scalar) -> Bool {
    guard peek() == character else { return false }
    position += 1
    return true
  }

  /// Returns the next word and moves past it; empty if there is none. A word consists of the letters, digits and marks
  /// of a ``PlainName``.
  ///
  /// - Parameter orSign: whether the word may begin with `+`.
  mutating func takeWord(orSign: Bool = false) -> String {
    var word = ""
    while position < characters.count {
      let character = characters[position]
      let isWord = character.isASCII && PlainName.isLetter(UInt8(truncatingIfNeeded: character.value))
      guard isWord || orSign && word.isEmpty && character == "+" else { break }
      word.unicodeScalars.append(character)
      position += 1
    }
    return word
  }

  /// The next character in quotes, for error messages.
  var found: String {
    position < characters.count ? Excerpt.quoted(String(characters[position])) : "the end"
  }

  /// Returns an error at a position.
  ///
  /// - Parameter place: the index of the character; `nil` for the next character.
  func error(_ message: String, at place: Int? = nil) -> AudienceExpressionError {
    AudienceExpressionError(column: (place ?? position) + 1, message: message)
  }
}
