import PushCore

/// A final answer that is not recorded yet, as it would touch the device.
struct DeferredAnswer {
  var index: Int
  var record: LedgerRecord
  var fate: Disposition.TokenFate
  /// When the service found the token dead, in ms since the epoch; 0 when it doesn't say.
  var timestamp: UInt64
  /// The text of a reason that the service has no code for.
  var unknownReason: String?
  /// The report to the fleet that it waits for; 0 while it waits for the guard's decision.
  var report = 0
}
