/// The faults that are counted, each under the name of the knob that brings it about.
enum FaultKind: String {
  case refusedShare, resetShare, withheldShare, resetAfterRequests, closeAfterRequests, goAwayDisowns, streamLimit
  case tokenFailures
  /// Requests that were under way when a GOAWAY said that they will not be looked at.
  case goAwayAfterRequests
}
