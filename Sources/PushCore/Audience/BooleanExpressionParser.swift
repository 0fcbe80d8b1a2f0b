/// A node of the tree of an expression with `!`, `&` and `|`.
protocol BooleanNode {
  static func not(_ node: Self) -> Self
  static func and(_ left: Self, _ right: Self) -> Self
  static func or(_ left: Self, _ right: Self) -> Self
}

/// Recursive descent parser for expressions with this grammar:
///
///     union        = intersection *( "|" intersection )
///     intersection = factor *( "&" factor )
///     factor       = "!" factor / "(" union ")" / operand
///
/// Blanks are allowed between all symbols. The conforming type reads the operands.
protocol BooleanExpressionParser {
  associatedtype Node: BooleanNode

  /// Maximum nesting of parentheses and `!`.
  static var maximumNesting: Int { get }
  /// Maximum number of operands in one expression.
  static var maximumOperands: Int { get }
  /// Name of the operands in the error for too many operands, such as "segments in one expression".
  static var operands: String { get }

  var scanner: ExpressionScanner { get set }
  /// Nesting depth of the next operand.
  var depth: Int { get set }
  /// Number of operands that have been read.
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
