/// The counted faults. Each has the name of the knob that causes it.
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
  /// Requests in flight that a GOAWAY declared unprocessed.
  case goAwayAfterRequests
  /// Connections to FCM that ended because of too many PINGs.
  case mostPings
}
