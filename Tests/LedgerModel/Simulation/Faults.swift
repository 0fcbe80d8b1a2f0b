/// What goes wrong.
public enum FaultKind: UInt8, CaseIterable, Sendable {
  /// A process is gone; another one starts later, perhaps under the same name.
  case crash
  /// A process stands still for longer than its lease, then goes on.
  case pause
  /// A call never arrives.
  case callLost
  /// A call is executed, its answer never arrives.
  case replyLost
  /// A call is given up by its worker and executed later.
  case callLate
  /// APNs' answer is lost: nobody knows whether it took the push.
  case answerLost
  /// APNs provably did not process a push.
  case notProcessed
  /// Redis loses the writes of the last ticks.
  case rollback
  /// One slot of a cluster does.
  case partialRollback
  /// Redis loses writes, and a process that could replay them is gone or stands still.
  case rollbackAndCrash
  case campaignPaused
  case campaignCancelled
  /// A reference gets lost.
  case referenceLost
  /// A slice that is held or finished has another reference.
  case referenceTwice
  /// A user loses a device, opts out, or is erased.
  case departure
}

/// A fault of a schedule.
struct Fault: Sendable {
  var kind: FaultKind
  var step: Int
  var number: UInt32
}

/// How often each kind of fault has happened.
public struct FaultCounts: Sendable {
  /// No SIMD vector: of one that an async function keeps, Swift 6.3 writes beyond the end of the task's memory.
  private var counts = InlineArray<16, UInt32>(repeating: 0)

  init() {}

  /// Of one kind.
  public subscript(kind: FaultKind) -> Int { Int(counts[Int(kind.rawValue)]) }

  mutating func add(_ kind: FaultKind) { counts[Int(kind.rawValue)] += 1 }

  static func += (left: inout FaultCounts, right: FaultCounts) {
    for kind in left.counts.indices { left.counts[kind] &+= right.counts[kind] }
  }
}
