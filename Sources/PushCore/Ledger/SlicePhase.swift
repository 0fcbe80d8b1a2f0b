/// Phase in the life of a slice, as stored in the slice's Redis hash.
public enum SlicePhase: String, CaseIterable, Sendable {
  /// A worker is finding the targets of the slice.
  case expanding
  /// The targets of the slice are final, and a worker sends them.
  case sealed
  /// Every target has an outcome in the ledger.
  case done
  /// The campaign was cancelled. A target without an outcome in the ledger therefore has the outcome `cancelled` or
  /// `unknown`.
  case cancelled
}
