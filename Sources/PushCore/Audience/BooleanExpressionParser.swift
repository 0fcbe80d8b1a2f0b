/// A node of an expression with `!`, `&` and `|`.
protocol BooleanNode {
  static func not(_ node: Self) -> Self
  static func and(_ left: Self, _ right: Self) -> Self
  static func or(_ left: Self, _ right: Self) -> Self
}

/// Recursive descent over the grammar
///
///     union        = intersection *( "|" intersection )
///     intersection = factor *( "&" factor )
///     factor       = "!" factor / "(" union ")" / operand
///
/// with blanks anywhere between them. The conforming type reads the operands.
protocol BooleanExpressionParser {
  associatedtype Node: BooleanNode

  /// How deep parentheses and `!` may nest.
  static var maximumNesting: Int { get }
  /// How many operands one expression may have.
  static var maximumOperands: Int { get }
  /// The operands in the error for too many of them, such as "segments in one expression".
  static var operands: String { get }

  var scanner: ExpressionScanner { get set }
  /// How deep the next operand is.
  var depth: Int { get set }
  /// How many operands have been read.
  var operandCount: Int { get set }

  mutating func parseOperand() throws(AudienceExpressionError) -> Node
}

extension BooleanExpressionParser {
  mutating func parse() throws(AudienceExpressionError) -> Node {
    let root = try parseUnion()
    guard scanner.peek() == nil else { throw scanner.error("expected '&', '|' or the end, found \(scanner.found)") }
    return root
  }

  private mutating func parseUnion() throws(AudienceExpressionError) -> Node {
    var node = try parseIntersection()
    while scanner.take("|") { node = .or(node, try parseIntersection()) }
    return node
  }

  private mutating func parseIntersection() throws(AudienceExpressionError) -> Node {
    var node = try parseFactor()
    while scanner.take("&") { node = .and(node, try parseFactor()) }
    return node
  }

  private mutating func parseFactor() throws(AudienceExpressionError) -> Node {
    guard depth < Self.maximumNesting else { throw scanner.error("nested more than \(Self.maximumNesting) deep") }
    depth += 1
    defer { depth -= 1 }
    if scanner.take("!") { return .not(try parseFactor()) }
    if scanner.take("(") {
      let node = try parseUnion()
      guard scanner.take(")") else { throw scanner.error("expected '&', '|' or ')', found \(scanner.found)") }
      return node
    }
    guard operandCount < Self.maximumOperands else {
      throw scanner.error("more than \(Self.maximumOperands) \(Self.operands)")
    }
    operandCount += 1
    return try parseOperand()
  }
}
