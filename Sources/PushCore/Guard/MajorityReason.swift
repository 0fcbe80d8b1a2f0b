/// Finds the reason that most refusals of a campaign have, in constant memory (Boyer–Moore majority vote).
///
/// If more than half of the counted refusals have the same reason, the result is this reason. Otherwise, the result is
/// one of the counted reasons.
struct MajorityReason: Sendable, Equatable {
  /// The reason; ``ReasonCode/none`` before the first refusal.
  private(set) var reason = ReasonCode.none
  private var lead = 0

  /// Counts a refusal.
  mutating func count(_ reason: ReasonCode) {
    if lead == 0 { self.reason = reason }
    lead += reason == self.reason ? 1 : -1
  }
}
