import PushCore

/// A final answer that may have to wait before it is recorded: for the guard's decision, or for a report to the fleet.
struct DeferredAnswer {
  var index: Int
  var record: LedgerRecord
  var tokenAction: Disposition.TokenAction
  /// The device keeps its token if it registered after this time, in ms since the epoch. The time is when the service
  /// found the token dead or, if the service gives no time, when the target was granted. 0 if the answer does not
  /// affect the token.
  var timestamp: UInt64
  /// The text of a reason for which the service has no code.
  var unknownReason: String?
  /// The number of the report to the fleet for which the answer waits; 0 while the answer waits for the guard's
  /// decision.
  var report = 0
}
