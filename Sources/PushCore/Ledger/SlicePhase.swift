/// Phase in the life of a slice, as stored in its hash.
public enum SlicePhase: String, CaseIterable, Sendable {
  /// A worker is finding the targets of the slice.
  case expanding
  /// Its targets are fixed, and a worker sends them.
  case sealed
  /// Every target has an outcome in the ledger.
  case done
  /// Its campaign was cancelled. If a target has no outcome in the ledger, this phase determines its outcome.
  case cancelled
}
