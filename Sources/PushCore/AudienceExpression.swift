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
}
