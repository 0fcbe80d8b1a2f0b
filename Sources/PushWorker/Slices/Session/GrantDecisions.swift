import CampaignStore
import PushCore

/// What Redis decided about each granted target of a slice: to send it, with a badge or without, or to withhold it
/// (``GrantDecision``). The type uses no memory while all targets are sent without a badge.
struct GrantDecisions {
  /// The decision for each target; empty if all targets are sent without a badge.
  private(set) var decisions: [GrantDecision] = []

  subscript(index: Int) -> GrantDecision { index < decisions.count ? decisions[index] : .send }

  /// Whether all targets are sent without a badge.
  var isEmpty: Bool { decisions.isEmpty }

  /// Records decisions about consecutive targets.
  ///
  /// - Parameter count: Number of targets of the slice.
  mutating func record(_ new: some Sequence<GrantDecision>, from first: Int, of count: Int) {
    for (index, decision) in zip(first..., new) { record(decision, index, of: count) }
  }

  /// Records a decision about one target.
  mutating func record(_ decision: GrantDecision, _ index: Int, of count: Int) {
    guard index < count, decision != self[index] else { return }
    if decisions.isEmpty { decisions = Array(repeating: .send, count: count) }
    decisions[index] = decision
  }
}
