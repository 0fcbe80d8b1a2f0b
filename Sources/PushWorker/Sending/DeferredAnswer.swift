import PushCore

/// A final answer that is not recorded yet, because it would change the device.
struct DeferredAnswer {
  var index: Int
  var record: LedgerRecord
  var fate: Disposition.TokenFate
  /// Time at which the service found the token dead, in ms since the epoch; 0 if the service names none.
  var timestamp: UInt64
  /// The text of a reason for which the service has no code.
  var unknownReason: String?
  /// The number of the report to the fleet that it waits for; 0 while it waits for the guard's decision.
  var report = 0
}
