import PushCore

/// A final answer that may have to wait before it is recorded: for the guard's decision, or for a report to the fleet.
struct DeferredAnswer {
  var index: Int
  var record: LedgerRecord
  var tokenAction: Disposition.TokenAction
  /// The time at which the service found the token dead, in ms since the epoch. If the service gives no time: the time
  /// of the grant. If the device registered after this time, it keeps its token. 0 if the answer does not affect the
  /// token.
  var timestamp: UInt64
  /// The service's text of the reason, if Carillon has no code for this reason.
  var unknownReason: String?
  /// The number of the report to the fleet for which the answer waits; 0 while the answer waits for the guard's
  /// decision.
  var report = 0
}
