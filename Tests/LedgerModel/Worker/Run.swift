/// A slice that a worker holds.
struct Run: Sendable {
  /// The call that is in progress or comes next.
  enum Stage: UInt8, Sendable {
    case none, look, claim, append, seal, study, drive, reconcile, close, finish, release, requeue, park, postpone,
      dismiss
  }

  /// The use of the slice: the worker sends, or gives the slice up.
  enum Intent: UInt8, Sendable {
    case send, leave, cancel, lost
  }

  /// The progress of the current call.
  enum Transit: UInt8, Sendable {
    case none, issued, answered, failed
  }

  var stage = Stage.none
  var intent = Intent.send
  var slice = 0
  var claim = 0
  /// Time of the claim call.
  var claimedAt = 0
  var seal = 0
  /// The last known values of ``SliceState/seq`` and ``SliceState/replays``.
  var seq = 0
  var replays = 0
  var order = SIMD8<UInt8>()
  var count = 0
  /// Number of departures from the partition at the time of the claim.
  var departures = 0
  /// Number of departures that the worker has processed since (-2: the number in the seal). The next two properties:
  /// the targets, by number, of these departures; whether the user of any target may have departed.
  var known = -2
  var departed = SmallSet()
  var isAnybody = false
  var granted = 0
  /// Credit of the worker's window that this slice holds.
  var credit = 0
  /// The part of the credit that was requested in commits with an unknown result.
  var limbo = 0
  /// The part of the credit that was requested in the current commit.
  var asked = 0
  /// Granted targets that were not handed to APNs.
  var unsent = SmallSet()
  /// The unsent targets that must be checked before sending, because their users may have departed.
  var unchecked = SmallSet()
  /// Targets in flight, with the result of each.
  var underWay = SmallSet()
  var fate = SIMD8<UInt8>()
  var attempt = SIMD8<UInt8>()
  /// Targets with an attempt that was sent and not answered, possibly by an earlier owner.
  var ambiguous = SmallSet()
  /// Outcomes that Redis has not acknowledged. ``batch`` has those in the current commit.
  var pending = RecordRow()
  var batch = SmallSet()
  /// Inherited targets in doubt: granted to an earlier owner, which may have sent them.
  var doubt = SmallSet()
  var doubtAttempt = SIMD8<UInt8>()
  var resent = 0
  var resentInCall = 0
  var waiting = 0
  /// Due time of the next retry.
  var nextRetry = 0
  /// Whether the worker must read the granted targets before it requests more.
  var mustReconcile = false
  /// Whether an earlier owner may have sent the targets that the next read finds.
  var inherits = false
  var renewAt = 0
  var cancels = false
  var ticks = 0
  var tally = SIMD8<Int16>()
  var transit = Transit.none
  var call = StoreCall(.look)
  var reply = StoreReply()

  /// Returns whether the user of a target may have departed.
  func mayHaveDeparted(_ index: Int) -> Bool { isAnybody || departed.contains(Int(order[index])) }

  /// Targets that this worker must account for.
  var inHand: SmallSet { unsent.union(underWay).union(pending.indexes) }
}

/// Journal of one claim, for a replay after Redis lost writes.
struct JournalEntry: Sendable {
  /// Progress of the entry's replay.
  enum Progress: UInt8, Sendable {
    case commit, claim, append, seal, close, finish, release, done
  }

  var slice = 0
  var claim = 0
  var seal = 0
  var highWater = 0
  var highWaterAt = 0
  var records = RecordRow()
  var recordsAt = SIMD8<Int32>()
  var grants = RecordRow()
  var grantsAt = SIMD8<Int32>()
  /// Time when this claim sealed the slice, and the sealed list; -1 for never.
  var sealedAt = -1
  var order = SIMD8<UInt8>()
  var count = 0
  var departures = 0
  /// Time when this claim closed the slice; -1 for never.
  var closedAt = -1
  var cancels = false
  var tally = SIMD8<Int16>()
  /// Whether this claim closed an unsealed slice.
  var closesUnsealed: Bool { closedAt >= 0 && cancels && seal == 0 }
  var progress = Progress.done
  var mustRelease = false
  var hasClaimed = false
}
