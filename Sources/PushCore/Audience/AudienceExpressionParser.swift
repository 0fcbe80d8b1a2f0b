/// Recursive descent parser for the grammar
///
///     union        = intersection *( "|" intersection )
///     intersection = factor *( "&" factor )
///     factor       = "!" factor / "(" union ")" / "*" / segment
///     segment      = 1*64( ALPHA / DIGIT / "." / "_" / "-" )
///
/// Blanks are allowed between all symbols.
struct AudienceExpressionParser {
  private let characters: [Unicode.Scalar]
  private var position = 0
  private var depth = 0
  private var terms = 0

  init(_ text: String) {
    characters = Array(text.unicodeScalars)
  }

  mutating func parse() throws(AudienceExpressionError) -> AudienceExpression.Node {
    let root = try parseUnion()
    guard peek() == nil else { throw error("expected '&', '|' or the end, found \(found)") }
    return root
  }

  private mutating func parseUnion() throws(AudienceExpressionError) -> AudienceExpression.Node {
    var node = try parseIntersection()
    while take("|") { node = .or(node, try parseIntersection()) }
    return node
  }

  private mutating func parseIntersection() throws(AudienceExpressionError) -> AudienceExpression.Node {
    var node = try parseFactor()
    while take("&") { node = .and(node, try parseFactor()) }
    return node
  }

  private mutating func parseFactor() throws(AudienceExpressionError) -> AudienceExpression.Node {
    guard depth < AudienceExpression.maximumNesting else {
      throw error("nested more than \(AudienceExpression.maximumNesting) deep")
    }
    depth += 1
    defer { depth -= 1 }
    if take("!") { return .not(try parseFactor()) }
    if take("(") {
      let node = try parseUnion()
      guard take(")") else { throw error("expected '&', '|' or ')', found \(found)") }
      return node
    }
    guard terms < AudienceExpression.maximumTerms else {
      throw error("more than \(AudienceExpression.maximumTerms) segments in one expression")
    }
    terms += 1
    if take("*") { return .everybody }
    return .segment(try parseName())
  }

  private mutating func parseName() throws(AudienceExpressionError) -> String {
    let start = position
    while position < characters.count, Self.isNameCharacter(characters[position]) { position += 1 }
    guard position > start else { throw error("expected a segment name, '!', '(' or '*', found \(found)") }
    guard position - start <= PlainName.maximumLength else {
      position = start
      throw error("a segment name has at most \(PlainName.maximumLength) characters")
    }
    var name = ""
    name.unicodeScalars.append(contentsOf: characters[start..<position])
    return name
  }

  private static func isNameCharacter(_ character: Unicode.Scalar) -> Bool {
    character.isASCII && PlainName.isLetter(UInt8(truncatingIfNeeded: character.value))
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

  private func error(_ message: String) -> AudienceExpressionError {
    AudienceExpressionError(column: position + 1, message: message)
  }
}
