import PushCore

/// A final answer that is not recorded yet, as it would touch the device.
struct HeldAnswer {
  var index: Int
  var record: LedgerRecord
  var fate: Disposition.TokenFate
  /// With 410: when APNs found the token dead, in ms since the epoch; 0 when absent.
  var timestamp: UInt64
  /// The text of a reason that ``PushCore/Reason`` doesn't know.
  var unknownReason: String?
}
