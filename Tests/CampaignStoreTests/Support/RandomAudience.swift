import PushCore
import TestSupport

extension AudienceExpression.Node {
  /// Returns a random expression over these segments, with at most this depth.
  static func random(of names: [String], depth: Int, using seed: inout Seed) -> Self {
    func inner() -> Self { random(of: names, depth: depth - 1, using: &seed) }
    return switch Int.random(in: 0..<(depth > 0 ? 8 : 3), using: &seed) {
    case 0, 1: .segment(names.randomElement(using: &seed) ?? "a")
    case 2: .allUsers
    case 3: .not(inner())
    case 4, 5: .and(inner(), inner())
    default: .or(inner(), inner())
    }
  }

  /// Returns the members of the expression in plain Swift. Some may never have registered.
  func members(_ segments: [String: Set<String>], _ allUsers: Set<String>) -> Set<String> {
    switch self {
    case .segment(let name): segments[name] ?? []
    case .allUsers: allUsers
    case .not(let node): allUsers.subtracting(node.members(segments, allUsers))
    case .and(let left, let right): left.members(segments, allUsers).intersection(right.members(segments, allUsers))
    case .or(let left, let right): left.members(segments, allUsers).union(right.members(segments, allUsers))
    }
  }
}
