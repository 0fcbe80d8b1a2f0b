/// Text of a payload with placeholders.
///
/// - `{{name}}` is replaced by the user's value of that name.
/// - `{{name|fallback}}` is replaced by the value, or by the fallback if the user has no value.
/// - `{{name:format}}` writes the value in a ``ValueFormat``. The fallback is not formatted.
/// - `{{|text}}` is replaced by the text. Use it to write two braces.
///
/// The parser reads UTF-8 bytes. Swift joins a combining character to the brace before it, so a search by `Character`
/// would miss `}}` before such a character.
struct TemplateText: Equatable {
  /// Part of the text: literal text or a placeholder.
  enum Part: Equatable {
    case text(String)
    case value(name: String, format: ValueFormat?, fallback: String)
  }

  /// Reason why a text is invalid.
  struct Problem: Error {
    var message: String
    var hint: String
  }

  /// Parts in the order of the text.
  private(set) var parts: [Part] = []

  /// - Parameter text: the text in the payload.
  /// - Throws: ``Problem`` for a placeholder that is not closed, has no name, or uses the syntax of another tool.
  init(_ text: String) throws(Problem) {
    let bytes = Array(text.utf8)
    var (start, at) = (0, 0)
    // The end of the last tag of another template tool is searched only once, so that a text with many unclosed tags
    // takes linear time.
    lazy var lastTagEnd = Self.lastIndex(of: [UInt8(ascii: "%"), UInt8(ascii: "}")], in: bytes)
    while at + 1 < bytes.count {
      switch (bytes[at], bytes[at + 1]) {
      case (UInt8(ascii: "{"), UInt8(ascii: "{")):
        guard let end = Self.closing(in: bytes, from: at + 2) else { throw Self.unclosed(bytes[at...]) }
        add(bytes[start..<at])
        try add(placeholder: bytes[(at + 2)..<end])
        at = end + 2
        start = at
      case (UInt8(ascii: "{"), UInt8(ascii: "%")):
        if Self.isTag(bytes[(at + 2)...]), let end = lastTagEnd, end > at { throw Self.tag(bytes[at...]) }
        at += 2
      default: at += 1
      }
    }
    add(bytes[start...])
  }

  /// Returns a payload that Carillon sends as given, although it contains `{{` or `{%`. Each such pair of characters is
  /// quoted, so that it does not begin a placeholder or a tag. In JSON, such a pair occurs only within a string.
  static func quoted(_ payload: [UInt8]) -> [UInt8] {
    var quoted: [UInt8] = []
    var rest = payload[...]
    while let first = rest.popFirst() {
      guard first == UInt8(ascii: "{"), let second = rest.first,
        second == first || second == UInt8(ascii: "%")
      else {
        quoted.append(first)
        continue
      }
      rest.removeFirst()
      quoted += Array("{{|".utf8) + [first, second] + Array("}}".utf8)
    }
    return quoted
  }

  private mutating func add(_ text: ArraySlice<UInt8>) {
    if !text.isEmpty { parts.append(.text(String(decoding: text, as: UTF8.self))) }
  }

  private mutating func add(placeholder: ArraySlice<UInt8>) throws(Problem) {
    let bar = placeholder.firstIndex(of: UInt8(ascii: "|"))
    let head = placeholder[..<(bar ?? placeholder.endIndex)]
    let fallback = bar.map { placeholder[($0 + 1)...] }
    let colon = head.firstIndex(of: UInt8(ascii: ":"))
    let name = String(decoding: Self.trimmed(head[..<(colon ?? head.endIndex)]), as: UTF8.self)
    if name.isEmpty, colon == nil, let fallback { return add(fallback) }
    if let problem = ForeignSyntax.problem(name: name, fallback: fallback, in: placeholder) { throw problem }
    let maximum = DeviceRowDraft.maximumAttributeName
    guard (1...maximum).contains(name.utf8.count), !name.unicodeScalars.contains(where: Self.isBrace) else {
      throw Problem(
        message: "\(Self.shown(placeholder)) has no valid name: a name has 1 to \(maximum) bytes, and no braces",
        hint: "write {{name|fallback}}; to write literal braces: {{|{{}}")
    }
    if let scalar = name.unicodeScalars.first(where: Self.isInvisible) ?? Self.leadingMark(of: name) {
      let code = String(scalar.value, radix: 16, uppercase: true)
      throw Problem(
        message: "\(Self.shown(placeholder)) has \(scalar == " " ? "a blank" : "the character U+\(code)") in its name",
        hint: "write the attribute's name alone, as in {{firstName|there}}; without blanks and invisible characters")
    }
    var format: ValueFormat?
    if let colon {
      format = ValueFormat(String(decoding: Self.trimmed(head[(colon + 1)...]), as: UTF8.self)[...])
      guard format != nil else {
        throw Problem(
          message: "\(Self.shown(placeholder)) has an unknown format",
          hint: "known formats: \(ValueFormat.names)")
      }
    }
    parts.append(
      .value(
        name: Identifier.composed(name), format: format,
        fallback: fallback.map { String(decoding: $0, as: UTF8.self) } ?? ""))
  }

  // MARK: Problems

  /// Maximum length in bytes of an excerpt in an error message: long enough to find the place in the job.
  private static let maximumShown = 60

  private static func unclosed(_ text: ArraySlice<UInt8>) -> Problem {
    Problem(
      message: "\(Excerpt.quoted(excerpt(text))) opens a placeholder that is not closed",
      hint: "close it with }}; to write literal braces: {{|{{}}")
  }

  private static func tag(_ text: ArraySlice<UInt8>) -> Problem {
    Problem(
      message:
        "\(Excerpt.quoted(excerpt(text))) is a tag of another template language, which Carillon does not support",
      hint: "use variants, localized or {{name|fallback}}; to write a literal tag: {{|{%}}")
  }

  private static func excerpt(_ text: ArraySlice<UInt8>) -> String {
    String(decoding: text.prefix(maximumShown), as: UTF8.self)
  }

  /// Returns a placeholder as error messages show it.
  static func shown(_ placeholder: ArraySlice<UInt8>) -> String {
    "{{\(Excerpt.bare(String(decoding: placeholder, as: UTF8.self)))}}"
  }

  // MARK: Characters

  private static func isBrace(_ scalar: Unicode.Scalar) -> Bool { scalar == "{" || scalar == "}" }

  /// Returns whether the character is invisible or blank. Source: Unicode Standard Annex 44,
  /// Default_Ignorable_Code_Point, White_Space and the general categories Cc and Cf.
  private static func isInvisible(_ scalar: Unicode.Scalar) -> Bool {
    let properties = scalar.properties
    return properties.isWhitespace || properties.isDefaultIgnorableCodePoint
      || properties.generalCategory == .control || properties.generalCategory == .format
  }

  /// Returns the first character of a name if it combines with the brace before the name; `nil` otherwise.
  private static func leadingMark(of name: String) -> Unicode.Scalar? {
    guard let first = name.unicodeScalars.first, first.properties.canonicalCombiningClass != .notReordered else {
      return nil
    }
    return first
  }

  private static func trimmed(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    var text = text
    while text.first == UInt8(ascii: " ") { text.removeFirst() }
    while text.last == UInt8(ascii: " ") { text.removeLast() }
    return text
  }

  private static func closing(in bytes: [UInt8], from start: Int) -> Int? {
    guard start < bytes.count else { return nil }
    return (start..<(bytes.count - 1)).first {
      bytes[$0] == UInt8(ascii: "}") && bytes[$0 + 1] == UInt8(ascii: "}")
    }
  }

  private static func lastIndex(of pair: [UInt8], in bytes: [UInt8]) -> Int? {
    bytes.indices.dropLast().last { bytes[$0] == pair[0] && bytes[$0 + 1] == pair[1] }
  }

  /// Returns whether the text begins with a tag of another template tool, as in `{% if x %}` and `{%- endif -%}`.
  private static func isTag(_ text: ArraySlice<UInt8>) -> Bool {
    var text = text
    if text.first == UInt8(ascii: "-") { text.removeFirst() }
    while text.first == UInt8(ascii: " ") { text.removeFirst() }
    return text.prefix(2).count == 2
      && text.prefix(2).allSatisfy { UInt8(ascii: "a")...UInt8(ascii: "z") ~= $0 | 0x20 }
  }
}
