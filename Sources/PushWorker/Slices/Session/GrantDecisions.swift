import CampaignStore
import PushCore

/// What was decided about the granted targets of a slice, by index. Takes no memory before a decision says more than that
/// a target is sent.
struct GrantDecisions {
  /// From the first target on; empty if every target is sent, and none with a badge of its own.
  private(set) var decisions: [GrantDecision] = []

  subscript(index: Int) -> GrantDecision { index < decisions.count ? decisions[index] : .send }

  /// Whether every target is sent, and none with a badge of its own.
  var isEmpty: Bool { decisions.isEmpty }

  /// Takes note of decisions about targets that follow each other.
  ///
  /// - Parameter count: of targets of the slice.
  mutating func note(_ new: some Sequence<GrantDecision>, from first: Int, of count: Int) {
    for (index, decision) in zip(first..., new) { note(decision, index, of: count) }
  }

  /// Takes note of a decision about one target.
  mutating func note(_ decision: GrantDecision, _ index: Int, of count: Int) {
    guard index < count, decision != self[index] else { return }
    if decisions.isEmpty { decisions = Array(repeating: .send, count: count) }
    decisions[index] = decision
  }
}
