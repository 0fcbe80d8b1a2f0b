import PushCore
import TestKit
import TestSupport
import Testing

struct AudienceExpressionTests {
  @Test(arguments: [
    ("vip", "vip"),
    ("  *\t", "*"),
    ("a&b|c", "a & b | c"),
    ("a|b&c", "a | b & c"),
    ("(a|b)&c", "(a | b) & c"),
    ("vip & (sports | news) & !churned", "vip & (sports | news) & !churned"),
    ("!(a|b)", "!(a | b)"),
    ("!(a)", "!a"),
    ("! ! a", "!!a"),
    ("((((a))))", "a"),
    ("a & (b & (c & d))", "a & b & c & d"),
    ("everyone & !opted.out-2_x", "everyone & !opted.out-2_x"),
    ("a\n|\r\nb", "a | b"),
  ])
  func printsTheLeastParenthesesThatMeanTheSame(text: String, printed: String) throws {
    let expression = try AudienceExpression(parsing: text)
    expect(expression.description, is: printed)
    expect(try AudienceExpression(parsing: printed).description, is: printed)
  }

  @Test func bindsAndTighterThanOrAndNotTightest() throws {
    let expression = try AudienceExpression(parsing: "a | !b & c")
    expect(expression.root, is: .or(.segment("a"), .and(.not(.segment("b")), .segment("c"))))
  }

  @Test func namesEverySegmentOnce() throws {
    let expression = try AudienceExpression(parsing: "a & (b | !a) & * & c")
    expect(expression.segmentNames, is: ["a", "b", "c"])
  }

  @Test(arguments: [
    ("", 1, "expected a segment name, '!', '(' or '*', found the end"),
    ("   ", 4, "found the end"),
    ("vip &", 6, "found the end"),
    ("vip & & news", 7, "expected a segment name, '!', '(' or '*', found '&'"),
    ("vip news", 5, "expected '&', '|' or the end, found 'n'"),
    ("(vip | news", 12, "expected '&', '|' or ')', found the end"),
    ("vip)", 4, "expected '&', '|' or the end, found ')'"),
    ("vip && news", 6, "found '&'"),
    ("a | naïve", 7, "found 'ï'"),
    ("a and b", 3, "found 'a'"),
    ("!", 2, "found the end"),
    ("a*", 2, "found '*'"),
    ("a & " + String(repeating: "x", count: 65), 5, "at most 64"),
  ])
  func errorNamesTheColumn(text: String, column: Int, message: String) {
    let error = #expect(throws: AudienceExpressionError.self) { try AudienceExpression(parsing: text) }
    expect(error?.column, is: column)
    expect(error?.message.contains(message), is: true, "\(error?.message ?? "")")
  }

  @Test func nestingAndLengthAreBounded() throws {
    let deep = { (count: Int) in String(repeating: "(", count: count) + "a" + String(repeating: ")", count: count) }
    _ = try AudienceExpression(parsing: deep(31))
    #expect(throws: AudienceExpressionError.self) { try AudienceExpression(parsing: deep(32)) }
    #expect(throws: AudienceExpressionError.self) { try AudienceExpression(parsing: deep(100_000)) }
    #expect(throws: AudienceExpressionError.self) {
      try AudienceExpression(parsing: String(repeating: "!", count: 100_000) + "a")
    }
    let long = { (count: Int) in Array(repeating: "a", count: count).joined(separator: "|") }
    _ = try AudienceExpression(parsing: long(256))
    #expect(throws: AudienceExpressionError.self) { try AudienceExpression(parsing: long(257)) }
  }

  @Test func printedExpressionMeansTheSame() throws {
    var random = Seed("printedExpressionMeansTheSame")
    for _ in 0..<2000 {
      let root = randomNode(depth: 6, using: &random)
      let printed = try AudienceExpression(parsing: AudienceExpression(root: root).description).root
      for world in 0..<8 { expect(holds(root, in: world), is: holds(printed, in: world), "\(root)") }
    }
  }

  private func randomNode(depth: Int, using random: inout Seed) -> AudienceExpression.Node {
    switch depth == 0 ? 0 : Int.random(in: 0..<5, using: &random) {
    case 0: .segment(["a", "b", "c"].randomElement(using: &random) ?? "a")
    case 1: .allUsers
    case 2: .not(randomNode(depth: depth - 1, using: &random))
    case 3: .and(randomNode(depth: depth - 1, using: &random), randomNode(depth: depth - 1, using: &random))
    default: .or(randomNode(depth: depth - 1, using: &random), randomNode(depth: depth - 1, using: &random))
    }
  }

  /// Returns whether a user is in the audience. The bits of `world` are the user's membership in a, b and c.
  private func holds(_ node: AudienceExpression.Node, in world: Int) -> Bool {
    switch node {
    case .segment(let name): world >> (name == "a" ? 0 : name == "b" ? 1 : 2) & 1 == 1
    case .allUsers: true
    case .not(let node): !holds(node, in: world)
    case .and(let left, let right): holds(left, in: world) && holds(right, in: world)
    case .or(let left, let right): holds(left, in: world) || holds(right, in: world)
    }
  }
}
