/// The kinds of fault.
public enum FaultKind: UInt8, CaseIterable, Sendable {
  /// A process dies. Another one starts later, possibly with the same name.
  case crash
  /// A process stalls for longer than its lease, then continues.
  case pause
  /// A call never arrives.
  case callLost
  /// A call is executed, but its answer never arrives.
  case replyLost
  /// A worker gives up a call, and Redis executes it later.
  case callLate
  /// APNs' answer is lost. The worker does not know whether APNs accepted the push.
  case answerLost
  /// APNs provably did not process a push.
  case notProcessed
  /// Redis loses the writes of the last ticks.
  case rollback
  /// One slot of a cluster loses its last writes.
  case partialRollback
  /// Redis loses writes, and a process that could replay them dies or stalls.
  case rollbackAndCrash
  case campaignPaused
  case campaignCancelled
  /// A reference to a slice is lost.
  case referenceLost
  /// A held or finished slice gets another reference.
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

/// Counts of each kind of fault.
public struct FaultCounts: Sendable {
  /// This is not a SIMD vector, because Swift 6.3 writes beyond the end of the task's memory if an async function has
  /// one.
  private var counts = InlineArray<16, UInt32>(repeating: 0)

  init() {}

  /// Returns the count of one kind.
  public subscript(kind: FaultKind) -> Int { Int(counts[Int(kind.rawValue)]) }

  mutating func add(_ kind: FaultKind) { counts[Int(kind.rawValue)] += 1 }

  static func += (left: inout FaultCounts, right: FaultCounts) {
    for kind in left.counts.indices { left.counts[kind] &+= right.counts[kind] }
  }
}
