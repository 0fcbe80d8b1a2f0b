/// A text with placeholders, as it stands in a payload: `{{name}}` stands for the user's value of that name, and
/// `{{name|fallback}}` for it or, where the user has none, for the fallback. `{{name:format}}` writes the value as
/// ``ValueFormat`` says, the fallback stays as it is. `{{|text}}` is the text itself: a way to write two braces.
struct TemplateText: Equatable {
  /// A piece of it.
  enum Part: Equatable {
    case text(String)
    case value(name: String, format: ValueFormat?, fallback: String)
  }

  /// Why a text is none.
  struct Problem: Error {
    var message: String
    var hint: String
  }

  /// The pieces in their order.
  private(set) var parts: [Part] = []

  private static let open = "{{"
  private static let close = "}}"

  /// - Parameter text: what stands in the payload; braces that nothing closes stand for themselves.
  init(_ text: String) throws(Problem) {
    var rest = text[...]
    while let open = rest.firstRange(of: Self.open), let close = rest[open.upperBound...].firstRange(of: Self.close) {
      add(rest[..<open.lowerBound])
      try add(placeholder: rest[open.upperBound..<close.lowerBound])
      rest = rest[close.upperBound...]
    }
    add(rest)
  }

  /// A payload every text of which stands for itself: two braces, which are one text's in any JSON, are written as such.
  static func quoted(_ payload: [UInt8]) -> [UInt8] {
    var quoted: [UInt8] = []
    var rest = payload[...]
    while let first = rest.popFirst() {
      guard first == UInt8(ascii: "{"), rest.first == first else {
        quoted.append(first)
        continue
      }
      rest.removeFirst()
      quoted += Array("{{|{{}}".utf8)
    }
    return quoted
  }

  private mutating func add(_ text: some StringProtocol) {
    if !text.isEmpty { parts.append(.text(String(text))) }
  }

  private mutating func add(placeholder: Substring) throws(Problem) {
    let halves = placeholder.split(separator: "|", maxSplits: 1, omittingEmptySubsequences: false)
    let words = halves[0].split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    let name = Self.trimmed(words[0])
    if name.isEmpty, words.count == 1, halves.count == 2 { return add(halves[1]) }
    let maximum = DeviceRowDraft.maximumAttributeName
    guard (1...maximum).contains(name.utf8.count), !name.unicodeScalars.contains(where: Excerpt.isControl),
      !name.contains("{"), !name.contains("}")
    else {
      throw Problem(
        message: "{{\(Excerpt.bare(placeholder))}} names nothing: a name has 1 to \(maximum) bytes, and no braces",
        hint: "write {{name|fallback}}; braces that are meant as such: {{|{{}}")
    }
    var format: ValueFormat?
    if words.count == 2 {
      format = ValueFormat(Self.trimmed(words[1]))
      guard format != nil else {
        throw Problem(
          message: "{{\(Excerpt.bare(placeholder))}} names a format that there is not",
          hint: "behind the colon stands one of \(ValueFormat.names)")
      }
    }
    parts.append(
      .value(
        name: Identifier.composed(String(name)), format: format, fallback: halves.count == 2 ? String(halves[1]) : ""))
  }

  private static func trimmed(_ text: Substring) -> Substring {
    var text = text
    while text.first == " " { text.removeFirst() }
    while text.last == " " { text.removeLast() }
    return text
  }
}
