/// Recursive descent parser for the grammar
///
///     union        = intersection *( "|" intersection )
///     intersection = factor *( "&" factor )
///     factor       = "!" factor / "(" union ")" / test
///     test         = field ( "exists" / "prefix" text / "in" "(" value *( "," value ) ")" / comparison value )
///     field        = name / DQUOTE 1*64 DQUOTE
///     value        = text / number / duration / "true" / "false"
///     text         = "'" *( any but "'" / "''" ) "'"
///
/// Blanks are allowed between all symbols.
struct DevicePredicateParser {
  private typealias Node = DevicePredicate.Node
  private typealias Field = DevicePredicate.Field

  private let characters: [Unicode.Scalar]
  private var position = 0
  private var depth = 0
  private var tests = 0
  private(set) var attributes: [String] = []

  init(_ text: String) {
    characters = Array(text.unicodeScalars)
  }

  mutating func parse() throws(AudienceExpressionError) -> DevicePredicate.Node {
    let root = try parseUnion()
    guard peek() == nil else { throw error("expected '&', '|' or the end, found \(found)") }
    return root
  }

  private mutating func parseUnion() throws(AudienceExpressionError) -> Node {
    var node = try parseIntersection()
    while take("|") { node = .or(node, try parseIntersection()) }
    return node
  }

  private mutating func parseIntersection() throws(AudienceExpressionError) -> Node {
    var node = try parseFactor()
    while take("&") { node = .and(node, try parseFactor()) }
    return node
  }

  private mutating func parseFactor() throws(AudienceExpressionError) -> Node {
    guard depth < DevicePredicate.maximumNesting else {
      throw error("nested more than \(DevicePredicate.maximumNesting) deep")
    }
    depth += 1
    defer { depth -= 1 }
    if take("!") { return .not(try parseFactor()) }
    if take("(") {
      let node = try parseUnion()
      guard take(")") else { throw error("expected '&', '|' or ')', found \(found)") }
      return node
    }
    guard tests < DevicePredicate.maximumTests else {
      throw error("more than \(DevicePredicate.maximumTests) tests in one condition")
    }
    tests += 1
    let field = try parseField()
    return .test(field, try parseTest(of: field))
  }

  // MARK: Fields

  private mutating func parseField() throws(AudienceExpressionError) -> Field {
    let next = peek()
    let start = position
    if next == "\"" {
      let text = try parseQuoted("\"", what: "the name of an attribute")
      do throws(IdentifierError) {
        return attribute(try AttributeName.read(text))
      } catch {
        throw self.error(error.description, at: start)
      }
    }
    let name = takeWord()
    guard !name.isEmpty else { throw error("expected a field, '!' or '(', found \(found)") }
    if let field = DevicePredicate.TextField(rawValue: name) { return .text(field) }
    if let field = DevicePredicate.VersionField(rawValue: name) { return .version(field) }
    if let field = DevicePredicate.TimeField(rawValue: name) { return .time(field) }
    if let column = DeviceColumn(rawValue: name) {
      throw error("'\(column.rawValue)' can't be asked for: the fields of devices are \(Self.fieldNames)", at: start)
    }
    if let column = DeviceVocabulary.column(near: name) {
      throw error(
        "there is no field \(Excerpt.quoted(name)): did you mean '\(column.rawValue)'? "
          + "an attribute of that name stands in double quotes", at: start)
    }
    return attribute(name)
  }

  private static var fieldNames: String {
    (DevicePredicate.TextField.allCases.map(\.rawValue) + DevicePredicate.VersionField.allCases.map(\.rawValue)
      + DevicePredicate.TimeField.allCases.map(\.rawValue)).joined(separator: ", ")
  }

  private mutating func attribute(_ name: String) -> Field {
    if let place = attributes.firstIndex(of: name) { return .attribute(place) }
    attributes.append(name)
    return .attribute(attributes.count - 1)
  }

  // MARK: Tests

  private mutating func parseTest(of field: Field) throws(AudienceExpressionError) -> DevicePredicate.Test {
    _ = peek()
    let start = position
    if let comparison = takeComparison() {
      return .compare(comparison, try parseValue(of: field, comparison))
    }
    let word = takeWord()
    switch word {
    case "exists": return .exists
    case "prefix":
      if case .time = field { throw error("an instant has no prefix", at: start) }
      return .prefix(Array(try parseText().utf8))
    case "in":
      if case .time = field { throw error("an instant is compared with '<' or '>', not with a list", at: start) }
      return .isOneOf(try parseList(of: field))
    default:
      position = start
      throw error("expected '=', '!=', '<', '<=', '>', '>=', 'in', 'prefix' or 'exists', found \(found)")
    }
  }

  private mutating func takeComparison() -> DevicePredicate.Comparison? {
    // Longer operators are tried first.
    for comparison in DevicePredicate.Comparison.allCases.sorted(by: { $0.rawValue.count > $1.rawValue.count }) {
      let scalars = Array(comparison.rawValue.unicodeScalars)
      guard position + scalars.count <= characters.count,
        characters[position..<(position + scalars.count)].elementsEqual(scalars)
      else { continue }
      position += scalars.count
      return comparison
    }
    return nil
  }

  /// Returns the literal for a text in the form that devices have. A locale and a time zone are parsed like those of a
  /// device.
  private func textValue(
    _ value: String, of field: DevicePredicate.TextField, at start: Int
  ) throws(AudienceExpressionError) -> DevicePredicate.Literal {
    switch field {
    case .locale:
      do throws(LanguageTag.Problem) {
        return .language(try LanguageTag(checking: value))
      } catch {
        throw self.error("\(Excerpt.quoted(value)) \(error.message); \(error.hint)", at: start)
      }
    case .timezone:
      do throws(ZoneName.Problem) {
        return .text(Array(try ZoneName(checking: value).text.utf8))
      } catch {
        throw self.error("\(Excerpt.quoted(value)) \(error.message); \(error.hint)", at: start)
      }
    case .environment: return .text(Array(value.utf8))
    }
  }

  private mutating func parseList(of field: Field) throws(AudienceExpressionError) -> [DevicePredicate.Literal] {
    guard take("(") else { throw error("expected '(', found \(found)") }
    var values = [try parseValue(of: field, .equal)]
    while take(",") {
      guard values.count < DevicePredicate.maximumValues else {
        throw error("more than \(DevicePredicate.maximumValues) values in one list: make it a segment")
      }
      values.append(try parseValue(of: field, .equal))
    }
    guard take(")") else { throw error("expected ',' or ')', found \(found)") }
    return values
  }

  // MARK: Values

  private mutating func parseValue(
    of field: Field, _ comparison: DevicePredicate.Comparison
  ) throws(AudienceExpressionError) -> DevicePredicate.Literal {
    let isText = peek() == "'"
    let start = position
    let value = isText ? try parseText() : takeWord(orSign: true)
    guard isText || !value.isEmpty else { throw error("expected a value, found \(found)") }
    switch field {
    case .text(let field):
      guard isText else { throw error("expected a text in single quotes, found \(Excerpt.quoted(value))", at: start) }
      guard !comparison.isOrder else {
        throw error("this field has no order: ask for '=', 'in' or 'prefix'", at: start)
      }
      return try textValue(value, of: field, at: start)
    case .version:
      guard isText, let version = DevicePredicate.Version(value.utf8) else {
        throw error("expected a version in single quotes, such as '5.2', found \(Excerpt.quoted(value))", at: start)
      }
      return .version(version)
    case .time:
      guard comparison.isOrder else { throw error("an instant is compared with '<' or '>'", at: start) }
      if let time = Self.time(value, isText: isText) { return time }
      throw error(
        "expected a duration, such as 30d, or an instant in single quotes, such as '2026-12-01' or '2026-12-01T09:00:00Z', "
          + "found \(Excerpt.quoted(value))", at: start)
    case .attribute: return try attributeValue(value, isText: isText, comparison, at: start)
    }
  }

  private func attributeValue(
    _ value: String, isText: Bool, _ comparison: DevicePredicate.Comparison, at start: Int
  ) throws(AudienceExpressionError) -> DevicePredicate.Literal {
    if isText {
      if !comparison.isOrder { return .text(Array(value.utf8)) }
      if let time = Self.time(value, isText: true) { return time }
      throw error(
        "a text has no order: compare with a number, a duration such as 30d, or an instant such as '2026-12-01'",
        at: start)
    }
    if let bool = Bool(value) {
      guard !comparison.isOrder else { throw error("true and false have no order", at: start) }
      return .bool(bool)
    }
    if let number = Double(value), number.isFinite { return .number(number) }
    if comparison.isOrder, let time = Self.time(value, isText: false) { return time }
    throw error(
      "expected a text in single quotes, a number, true, false or a duration, found \(Excerpt.quoted(value))", at: start
    )
  }

  /// Parses a duration or a time. A date means midnight UTC.
  private static func time(_ value: String, isText: Bool) -> DevicePredicate.Literal? {
    guard isText else { return DurationText.seconds(value).map { .age($0 * 1000) } }
    return (Timestamp.milliseconds(value) ?? Timestamp.milliseconds(value + "T00:00:00Z")).map { .instant($0) }
  }

  private mutating func parseText() throws(AudienceExpressionError) -> String {
    guard peek() == "'" else { throw error("expected a text in single quotes, found \(found)") }
    // Attributes are stored in NFC, see ``DeviceRowDraft/setAttribute(_:to:)``.
    return Identifier.composed(try parseQuoted("'", what: "a text"))
  }

  /// Parses a quoted text. Two quotes in a row mean one quote character.
  private mutating func parseQuoted(_ quote: Unicode.Scalar, what: String) throws(AudienceExpressionError) -> String {
    let start = position
    position += 1
    var text = ""
    while position < characters.count {
      let character = characters[position]
      position += 1
      guard character == quote else {
        text.unicodeScalars.append(character)
        continue
      }
      guard position < characters.count, characters[position] == quote else { return text }
      position += 1
      text.unicodeScalars.append(quote)
    }
    throw error("\(what) has no end: \(quote) is missing", at: start)
  }

  // MARK: Characters

  private mutating func takeWord(orSign: Bool = false) -> String {
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

  /// Returns the next character that is not blank, and moves the position to it.
  private mutating func peek() -> Unicode.Scalar? {
    while position < characters.count, [" ", "\t", "\n", "\r"].contains(characters[position]) { position += 1 }
    return position < characters.count ? characters[position] : nil
  }

  private mutating func take(_ character: Unicode.Scalar) -> Bool {
    guard peek() == character else { return false }
    position += 1
    return true
  }

  private var found: String {
    position < characters.count ? Excerpt.quoted(String(characters[position])) : "the end"
  }

  private func error(_ message: String, at place: Int? = nil) -> AudienceExpressionError {
    AudienceExpressionError(column: (place ?? position) + 1, message: message)
  }
}
