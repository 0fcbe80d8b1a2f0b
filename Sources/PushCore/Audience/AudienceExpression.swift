/// A set expression over segments, such as `vip & (sports | news) & !churned`.
public struct AudienceExpression: Sendable, Equatable {
  /// One node of the expression.
  public indirect enum Node: Sendable, Equatable {
    /// The users of a segment.
    case segment(String)
    /// `*`: every registered user.
    case everybody
    /// Every registered user but these.
    case not(Node)
    case and(Node, Node)
    case or(Node, Node)
  }

  /// The whole expression.
  public var root: Node

  /// - Parameter root: the whole expression.
  public init(root: Node) {
    self.root = root
  }

  /// How deep parentheses and `!` may nest; a bound for the stack of whoever walks the tree.
  public static let maximumNesting = 32

  /// How many segments one expression may name, with repetitions: each is a set operation in every partition, and the
  /// longest chain of `&` or `|` is this deep a tree.
  public static let maximumTerms = 256

  /// Parses `vip & (sports | news) & !churned`: `!` binds tighter than `&`, `&` tighter than `|`; `*` is everybody.
  ///
  /// - Throws: the first thing that is wrong, and its column.
  public init(parsing text: String) throws(AudienceExpressionError) {
    var parser = AudienceExpressionParser(text)
    root = try parser.parse()
  }

  /// Every segment that is named, once.
  public var segmentNames: Set<String> {
    var names: Set<String> = []
    root.collectNames(into: &names)
    return names
  }
}

extension AudienceExpression: CustomStringConvertible {
  /// The expression with as few parentheses as mean the same; ``init(parsing:)`` reads it back.
  public var description: String { root.text(within: .or) }
}

extension AudienceExpression.Node {
  /// How tightly an operator binds.
  fileprivate enum Binding: Int {
    case or, and, not
  }

  fileprivate func collectNames(into names: inout Set<String>) {
    switch self {
    case .segment(let name): names.insert(name)
    case .everybody: break
    case .not(let node): node.collectNames(into: &names)
    case .and(let left, let right), .or(let left, let right):
      left.collectNames(into: &names)
      right.collectNames(into: &names)
    }
  }

  /// The text, in parentheses where an operator around it binds tighter.
  fileprivate func text(within outer: Binding) -> String {
    let (text, binding): (String, Binding)
    switch self {
    case .segment(let name): return name
    case .everybody: return "*"
    case .not(let node): return "!" + node.text(within: .not)
    case .and(let left, let right):
      (text, binding) = (left.text(within: .and) + " & " + right.text(within: .and), .and)
    case .or(let left, let right):
      (text, binding) = (left.text(within: .or) + " | " + right.text(within: .or), .or)
    }
    return binding.rawValue < outer.rawValue ? "(" + text + ")" : text
  }
}
