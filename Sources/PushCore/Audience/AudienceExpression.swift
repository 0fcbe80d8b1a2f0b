/// Set expression over segments, such as `vip & (sports | news) & !churned`.
public struct AudienceExpression: Sendable, Equatable {
  /// Node of the expression.
  public indirect enum Node: Sendable, Equatable, BooleanNode {
    /// The users of a segment.
    case segment(String)
    /// `*`: every registered user.
    case allUsers
    /// Every registered user except the users of the node.
    case not(Node)
    case and(Node, Node)
    case or(Node, Node)
  }

  /// Root node: the whole expression.
  public var root: Node

  /// - Parameter root: the whole expression.
  public init(root: Node) {
    self.root = root
  }

  /// Maximum nesting of parentheses and `!`, so that recursive functions need a limited stack.
  public static let maximumNesting = 32

  /// Maximum number of segments in one expression, with repetitions. Each segment costs a set operation in every
  /// partition. The limit also bounds the depth of the tree, because a chain of `&` or `|` has one level for each
  /// segment.
  public static let maximumTerms = 256

  /// Parses `vip & (sports | news) & !churned`: `!` binds tighter than `&`, and `&` tighter than `|`. `*` means all
  /// users.
  ///
  /// - Throws: the first error with its column.
  public init(parsing text: String) throws(AudienceExpressionError) {
    var parser = AudienceExpressionParser(text)
    root = try parser.parse()
  }

  /// Names of all segments in the expression.
  public var segmentNames: Set<String> {
    var names: Set<String> = []
    root.collectNames(into: &names)
    return names
  }
}

extension AudienceExpression: CustomStringConvertible {
  /// Text of the expression with the fewest parentheses that keep the meaning. ``init(parsing:)`` reads it back.
  public var description: String { root.text(within: .or) }
}

extension AudienceExpression.Node {
  /// Precedence of an operator.
  fileprivate enum Binding: Int {
    case or, and, not
  }

  fileprivate func collectNames(into names: inout Set<String>) {
    switch self {
    case .segment(let name): names.insert(name)
    case .allUsers: break
    case .not(let node): node.collectNames(into: &names)
    case .and(let left, let right), .or(let left, let right):
      left.collectNames(into: &names)
      right.collectNames(into: &names)
    }
  }

  /// Returns the text of the node, in parentheses if the operator around it binds tighter.
  fileprivate func text(within outer: Binding) -> String {
    let (text, binding): (String, Binding)
    switch self {
    case .segment(let name): return name
    case .allUsers: return "*"
    case .not(let node): return "!" + node.text(within: .not)
    case .and(let left, let right):
      (text, binding) = (left.text(within: .and) + " & " + right.text(within: .and), .and)
    case .or(let left, let right):
      (text, binding) = (left.text(within: .or) + " | " + right.text(within: .or), .or)
    }
    return binding.rawValue < outer.rawValue ? "(" + text + ")" : text
  }
}
