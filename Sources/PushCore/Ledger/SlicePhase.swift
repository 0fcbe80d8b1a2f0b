/// Where a slice is in its life, as its hash says.
public enum SlicePhase: String, CaseIterable, Sendable {
  /// Its targets are being found.
  case expanding
  /// Its targets are fixed and are being sent.
  case sealed
  /// Every target has an outcome in the ledger.
  case done
  /// Its campaign was cancelled: a target without an outcome in the ledger gets one by the phase.
  case cancelled
}
