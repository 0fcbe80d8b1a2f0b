/// Parser of conditions on devices. An operand has this grammar:
///
///     operand = field ( "exists" / "prefix" text / "in" "(" value *( "," value ) ")" / comparison value )
///     field   = name / DQUOTE 1*64 DQUOTE
///     value   = text / number / duration / "true" / "false"
///     text    = "'" *( any but "'" / "''" ) "'"
///
/// Blanks are allowed between all symbols.
struct DevicePredicateParser: BooleanExpressionParser {
  typealias Node = DevicePredicate.Node
  private typealias Field = DevicePredicate.Field

  static let maximumNesting = DevicePredicate.maximumNesting
  static let maximumOperands = DevicePredicate.maximumTests
  static let operands = "tests in one condition"

  var scanner: ExpressionScanner
  var depth = 0
  var operandCount = 0
  private(set) var attributes: [String] = []

  init(_ text: String) {
    scanner = ExpressionScanner(text)
  }

  mutating func parseOperand() throws(AudienceExpressionError) -> Node {
    let field = try parseField()
    return .test(field, try parseTest(of: field))
  }

  // MARK: Fields

  private mutating func parseField() throws(AudienceExpressionError) -> Field {
    let next = scanner.peek()
    let start = scanner.position
    if next == "\"" {
      let text = try parseQuoted("\"", what: "the name of an attribute")
      do throws(IdentifierError) {
        return attribute(try AttributeName.read(text))
      } catch {
        throw scanner.error(error.description, at: start)
      }
    }
    let name = scanner.takeWord()
    guard !name.isEmpty else { throw scanner.error("expected a field, '!' or '(', found \(scanner.found)") }
    if let field = DevicePredicate.TextField(rawValue: name) { return .text(field) }
    if let field = DevicePredicate.VersionField(rawValue: name) { return .version(field) }
    if let field = DevicePredicate.TimeField(rawValue: name) { return .time(field) }
    if let column = DeviceColumn(rawValue: name) {
      throw scanner.error(
        "'\(column.rawValue)' can't be tested: the fields of devices are \(Self.fieldNames)", at: start)
    }
    if let column = DeviceVocabulary.column(near: name) {
      throw scanner.error(
        "there is no field \(Excerpt.quoted(name)): did you mean '\(column.rawValue)'? "
          + "write an attribute of that name in double quotes", at: start)
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
    _ = scanner.peek()
    let start = scanner.position
    if let comparison = takeComparison() {
      return .compare(comparison, try parseValue(of: field, comparison))
    }
    let word = scanner.takeWord()
    switch word {
    case "exists": return .exists
    case "prefix":
      if case .time = field { throw scanner.error("an instant has no prefix", at: start) }
      return .prefix(Array(try parseText().utf8))
    case "in":
      if case .time = field {
        throw scanner.error("an instant is compared with '<' or '>', not with a list", at: start)
      }
      return .isOneOf(try parseList(of: field))
    default:
      scanner.position = start
      throw scanner.error(
        "expected '=', '!=', '<', '<=', '>', '>=', 'in', 'prefix' or 'exists', found \(scanner.found)")
    }
  }

  private mutating func takeComparison() -> DevicePredicate.Comparison? {
    // Longer operators are tried first.
    for comparison in DevicePredicate.Comparison.allCases.sorted(by: { $0.rawValue.count > $1.rawValue.count }) {
      let scalars = Array(comparison.rawValue.unicodeScalars)
      guard scanner.position + scalars.count <= scanner.characters.count,
        scanner.characters[scanner.position..<(scanner.position + scalars.count)].elementsEqual(scalars)
      else { continue }
      scanner.position += scalars.count
      return comparison
    }
    return nil
  }

  /// Returns the literal for a text in a condition. A locale or a time zone is converted to the canonical form that
  /// device records use.
  private func textValue(
    _ value: String, of field: DevicePredicate.TextField, at start: Int
  ) throws(AudienceExpressionError) -> DevicePredicate.Literal {
    switch field {
    case .locale:
      do throws(LanguageTag.Problem) {
        return .language(try LanguageTag(checking: value))
      } catch {
        throw scanner.error("\(Excerpt.quoted(value)) \(error.message); \(error.hint)", at: start)
      }
    case .timezone:
      do throws(ZoneName.Problem) {
        return .text(Array(try ZoneName(checking: value).text.utf8))
      } catch {
        throw scanner.error("\(Excerpt.quoted(value)) \(error.message); \(error.hint)", at: start)
      }
    case .environment: return .text(Array(value.utf8))
    }
  }

  private mutating func parseList(of field: Field) throws(AudienceExpressionError) -> [DevicePredicate.Literal] {
    guard scanner.take("(") else { throw scanner.error("expected '(', found \(scanner.found)") }
    var values = [try parseValue(of: field, .equal)]
    while scanner.take(",") {
      guard values.count < DevicePredicate.maximumValues else {
        throw scanner.error("more than \(DevicePredicate.maximumValues) values in one list: make it a segment")
      }
      values.append(try parseValue(of: field, .equal))
    }
    guard scanner.take(")") else { throw scanner.error("expected ',' or ')', found \(scanner.found)") }
    return values
  }

  // MARK: Values

  private mutating func parseValue(
    of field: Field, _ comparison: DevicePredicate.Comparison
  ) throws(AudienceExpressionError) -> DevicePredicate.Literal {
    let isText = scanner.peek() == "'"
    let start = scanner.position
    let value = isText ? try parseText() : scanner.takeWord(orSign: true)
    guard isText || !value.isEmpty else { throw scanner.error("expected a value, found \(scanner.found)") }
    switch field {
    case .text(let field):
      guard isText else {
        throw scanner.error("expected a text in single quotes, found \(Excerpt.quoted(value))", at: start)
      }
      guard !comparison.isOrder else {
        throw scanner.error("this field has no order: use '=', 'in' or 'prefix'", at: start)
      }
      return try textValue(value, of: field, at: start)
    case .version:
      guard isText, let version = DevicePredicate.Version(value.utf8) else {
        throw scanner.error(
          "expected a version in single quotes, such as '5.2', found \(Excerpt.quoted(value))", at: start)
      }
      return .version(version)
    case .time:
      guard comparison.isOrder else { throw scanner.error("an instant is compared with '<' or '>'", at: start) }
      if let time = Self.time(value, isText: isText) { return time }
      throw scanner.error(
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
      throw scanner.error(
        "a text has no order: compare with a number, a duration such as 30d, or an instant such as '2026-12-01'",
        at: start)
    }
    if let bool = Bool(value) {
      guard !comparison.isOrder else { throw scanner.error("true and false have no order", at: start) }
      return .bool(bool)
    }
    if let number = Double(value), number.isFinite { return .number(number) }
    if comparison.isOrder, let time = Self.time(value, isText: false) { return time }
    throw scanner.error(
      "expected a text in single quotes, a number, true, false or a duration, found \(Excerpt.quoted(value))", at: start
    )
  }

  /// Parses a duration or a time. A date means midnight UTC.
  private static func time(_ value: String, isText: Bool) -> DevicePredicate.Literal? {
    guard isText else { return DurationText.seconds(value).map { .age($0 * 1000) } }
    return (Timestamp.milliseconds(value) ?? Timestamp.milliseconds(value + "T00:00:00Z")).map { .instant($0) }
  }

  private mutating func parseText() throws(AudienceExpressionError) -> String {
    guard scanner.peek() == "'" else { throw scanner.error("expected a text in single quotes, found \(scanner.found)") }
    // Attributes are stored in NFC, see ``DeviceRowDraft/setAttribute(_:to:)``.
    return Identifier.composed(try parseQuoted("'", what: "a text"))
  }

  /// Parses a quoted text. Two quotes in a row mean one quote character.
  private mutating func parseQuoted(_ quote: Unicode.Scalar, what: String) throws(AudienceExpressionError) -> String {
    let start = scanner.position
    scanner.position += 1
    var text = ""
    while scanner.position < scanner.characters.count {
      let character = scanner.characters[scanner.position]
      scanner.position += 1
      guard character == quote else {
        text.unicodeScalars.append(character)
        continue
      }
      guard scanner.position < scanner.characters.count, scanner.characters[scanner.position] == quote else {
        return text
      }
      scanner.position += 1
      text.unicodeScalars.append(quote)
    }
    throw scanner.error("\(what) is not closed: \(quote) is missing", at: start)
  }
}
