/// The faults that are counted, each under the name of the knob that brings it about.
enum FaultKind: String {
  case refusedShare, resetShare, withheldShare, resetAfterRequests, closeAfterRequests, goAwayUnprocessed, streamLimit
  case connectResetShare, connectsPerMinute, handshakeDelayMilliseconds, silentAfterRequests, stallShare
  case idleSeconds, connectionSeconds
  case settingsDelayMilliseconds, lingersAfterGoAway
  /// PINGs that were not acknowledged.
  case answersPings
  case tokenFailures, tokenBurst, errorBudget
  /// Connections whose certificate is for the other environment.
  case wrongCertificate
  /// Requests that were under way when a GOAWAY said that they will not be looked at.
  case goAwayAfterRequests
}
