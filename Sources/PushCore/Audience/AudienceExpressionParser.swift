/// Parser of audience expressions. An operand has this grammar:
///
///     operand = "*" / segment
///     segment = 1*64( ALPHA / DIGIT / "." / "_" / "-" )
struct AudienceExpressionParser: BooleanExpressionParser {
  static let maximumNesting = AudienceExpression.maximumNesting
  static let maximumOperands = AudienceExpression.maximumTerms
  static let operands = "segments in one expression"

  var scanner: ExpressionScanner
  var depth = 0
  var operandCount = 0

  init(_ text: String) {
    scanner = ExpressionScanner(text)
  }

  mutating func parseOperand() throws(AudienceExpressionError) -> AudienceExpression.Node {
    if scanner.take("*") { return .allUsers }
    let start = scanner.position
    let name = scanner.takeWord()
    guard !name.isEmpty else { throw scanner.error("expected a segment name, '!', '(' or '*', found \(scanner.found)") }
    guard scanner.position - start <= PlainName.maximumLength else {
      throw scanner.error("a segment name has at most \(PlainName.maximumLength) characters", at: start)
    }
    return .segment(name)
  }
}
