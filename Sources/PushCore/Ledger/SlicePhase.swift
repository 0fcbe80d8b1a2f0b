/// Phase in the life of a slice, as stored in its hash.
public enum SlicePhase: String, CaseIterable, Sendable {
  /// A worker is finding its targets.
  case expanding
  /// Its targets are fixed, and a worker sends them.
  case sealed
  /// Every target has an outcome in the ledger.
  case done
  /// Its campaign was cancelled. The phase determines the outcome of a target without one in the ledger.
  case cancelled
}
