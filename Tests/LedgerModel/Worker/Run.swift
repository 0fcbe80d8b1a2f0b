/// A slice in a worker's hands.
struct Run: Sendable {
  /// The call that is next, or under way.
  enum Stage: UInt8, Sendable {
    case none, look, claim, append, seal, study, drive, reconcile, close, finish, release, requeue, park, postpone,
      dismiss
  }

  /// What it is held for.
  enum Intent: UInt8, Sendable {
    case send, leave, cancel, lost
  }

  /// Where its call is.
  enum Transit: UInt8, Sendable {
    case none, issued, answered, failed
  }

  var stage = Stage.none
  var intent = Intent.send
  var slice = 0
  var claim = 0
  /// When it was asked for.
  var claimedAt = 0
  var seal = 0
  /// As Redis last acknowledged.
  var seq = 0
  var replays = 0
  var order = SIMD8<UInt8>()
  var count = 0
  /// How many had departed from the partition when it was claimed.
  var departures = 0
  /// How many departures it has taken account of since (-2: as many as the seal noted), the targets, by number, whose users
  /// these were, and whether it may be any.
  var known = -2
  var departed = SmallSet()
  var isAnybody = false
  var granted = 0
  /// Credit of the worker's window that this slice holds.
  var credit = 0
  /// Of it: asked for in commits of which nobody knows whether they were applied.
  var limbo = 0
  /// Of it: asked for in the commit under way.
  var asked = 0
  /// Granted and not handed to APNs.
  var unsent = SmallSet()
  /// Of them: to be asked about before they are sent, as their users may have departed.
  var unchecked = SmallSet()
  /// Handed over and not answered, and what will come of each.
  var underWay = SmallSet()
  var fate = SIMD8<UInt8>()
  var attempt = SIMD8<UInt8>()
  /// Targets of which an attempt was sent and not answered, or may have been by an earlier owner.
  var ambiguous = SmallSet()
  /// Outcomes that Redis has not acknowledged, and those of them in the commit under way.
  var pending = RecordRow()
  var batch = SmallSet()
  /// Inherited: granted, and perhaps sent, by somebody else.
  var doubt = SmallSet()
  var doubtAttempt = SIMD8<UInt8>()
  var resent = 0
  var resentInCall = 0
  var waiting = 0
  /// When the nearest retry is due.
  var nextRetry = 0
  /// What Redis has granted is to be read before more is asked for.
  var mustReconcile = false
  /// What will be found so may have been sent by somebody else.
  var inherits = false
  var renewAt = 0
  var cancels = false
  var ticks = 0
  var tally = SIMD8<Int16>()
  var transit = Transit.none
  var call = StoreCall(.look)
  var reply = StoreReply()

  /// Whether the user of a target may have departed.
  func mayHaveDeparted(_ index: Int) -> Bool { isAnybody || departed.contains(Int(order[index])) }

  /// What the worker knows to be its own to answer for.
  var inHand: SmallSet { unsent.union(underWay).union(pending.indexes) }
}

/// What a worker remembers of one claim, to tell Redis again should it forget.
struct JournalEntry: Sendable {
  /// How far a replay of it has come.
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
  /// When this claim sealed the slice, and what; -1 for never.
  var sealedAt = -1
  var order = SIMD8<UInt8>()
  var count = 0
  var departures = 0
  /// When this claim closed the slice; -1 for never.
  var closedAt = -1
  var cancels = false
  var tally = SIMD8<Int16>()
  /// Whether this claim closed a slice that had not been sealed.
  var closesUnsealed: Bool { closedAt >= 0 && cancels && seal == 0 }
  var progress = Progress.done
  var mustRelease = false
  var hasClaimed = false
}
