/// The next step of a held slice. Pure: ``SliceSituation`` determines the step from facts, and other types run it.
enum SliceStep: Equatable {
  /// Replay the writes that Redis lost.
  case replay
  /// Make a commit: record outcomes, ask for grants up to this credit, and renew the lease.
  case commit(credit: Int)
  /// Send this many of the targets in doubt again.
  case resend(Int)
  /// Record outcomes for this many of the next targets. These targets can't be sent now, and were not granted.
  case skip(Int)
  /// Send the next part of the targets in doubt, to find the target that kills its workers.
  case bisect
  /// Let the guard decide now about the answers that wait for it, because no more answers will come.
  case flush
  /// Close the slice: every target has its outcome.
  case finish
  /// Close the slice: the campaign was cancelled, and nothing is in flight.
  case cancel
  /// Park the slice: release it until the first of its waiting targets is due, in this many ms. Only retries and
  /// targets with a later send time are left.
  case park(Int)
  /// Give the slice back: the campaign is paused, or the worker stops.
  case leave
  /// Drop the slice: another worker owns it, and all answers are recorded.
  case abandon
  /// Wait for an event.
  case wait
}

/// The facts that determine the next step of a slice.
struct SliceSituation: Equatable {
  /// The purpose for which the worker holds the slice.
  enum Intent: Equatable {
    case send
    /// Give the slice back when nothing is in flight.
    case leave
    /// Close the slice as cancelled when nothing is in flight.
    case cancel
    /// Another worker owns the lease: only record answers.
    case lost
  }

  /// Targets that remain to be sent.
  struct Backlog: Equatable {
    /// Targets in doubt that must be sent again.
    var doubt = 0
    /// Targets that were never granted and can be granted.
    var ungranted = 0
    /// Ungranted targets that come next and can't be sent now.
    var blocked = 0
    /// Targets that wait for a retry, or for their own send time.
    var waiting = 0
    /// Time in ms until the first of the waiting targets is due; `nil` for none.
    var nextRetry: Int?
  }

  /// Pushes and outcomes that are not recorded.
  struct Pending: Equatable {
    /// Outcomes that are not recorded yet.
    var outcomes = 0
    /// Age of the oldest unrecorded outcome, in ms.
    var age = 0
    /// Credit that the next commit frees.
    var returning = 0
    /// Pushes without an answer.
    var unanswered = 0
    /// Answers that wait for the decision of the guard.
    var deferred = 0
  }

  /// The credit that the slice may get.
  struct Credit: Equatable {
    /// Credit that could be allocated with a commit.
    var amount = 0
    /// The maximum credit that the pool of the slice could hold while other pools keep theirs.
    var reach = 1000
    /// Whether the slice can get little credit at a time, so that a commit for little credit is useful. This is the
    /// case if the guard is undecided, the pool can't send, or the campaign has a rate.
    var isScarce = false
  }

  var intent = Intent.send
  /// Whether Redis lost a write that it had acknowledged.
  var isForgotten = false
  var backlog = Backlog()
  var pending = Pending()
  var credit = Credit()
  /// Whether other slices may still get answers that let the guard decide.
  var mayGetMoreAnswers = false
  /// Whether the slice searches for a poison target. If so, it sends only the targets that are being tried.
  var isBisecting = false
  /// Whether the lease is due for renewal.
  var renews = false

  /// Number of outcomes that justify a commit. Large enough that a commit costs little per target, and small enough
  /// that it blocks Redis for at most half a millisecond. A script call handles at most 500.
  static let fullBatch = 400
  /// Time in ms that outcomes wait for further outcomes.
  static let outcomeDelay = 5
  /// Minimum credit that justifies a round trip. It is at most a quarter of ``Credit/reach``, so that this amount
  /// always becomes available.
  private var worthwhileCredit: Int { credit.isScarce ? 1 : min(64, max(1, credit.reach / 4)) }
  /// Maximum time in ms until a retry for which the worker keeps the slice. If the retry is due later, the slice is
  /// parked.
  static let shortWait = 200

  var next: SliceStep {
    // The replay comes first. Redis has lost writes of the slice, so its answers to other calls could be wrong.
    if isForgotten, intent != .lost { return .replay }
    let free = max(0, credit.amount - pending.returning)
    if intent == .send, backlog.doubt > 0, free > 0 { return .resend(min(backlog.doubt, free)) }
    let isBlocked = intent == .send && backlog.blocked > 0 && !isBisecting
    // A skip needs no credit, because nothing is sent. Other outcomes are recorded first, so that the outcomes of the
    // skipped targets form one batch.
    if isBlocked, pending.outcomes == 0 { return .skip(min(backlog.blocked, Self.fullBatch)) }
    let grantable = backlog.ungranted + (dueRetries ? backlog.waiting : 0)
    let wanted = intent == .send && !isBisecting && !isBlocked ? min(credit.amount, grantable, Self.fullBatch) : 0
    if pending.outcomes > 0,
      pending.outcomes >= Self.fullBatch || pending.unanswered == 0 || pending.age >= Self.outcomeDelay
    {
      return .commit(credit: wanted)
    }
    // Credit that the commit itself would return does not justify the commit, because more outcomes may still join it.
    if wanted > 0, min(wanted, free) >= min(worthwhileCredit, grantable) { return .commit(credit: wanted) }
    if pending.outcomes == 0, pending.unanswered == 0 {
      // The deferred answers come first, because all following steps end or park the slice and would lose them.
      if pending.deferred > 0, intent != .send || backlog.doubt == 0 && (backlog.ungranted == 0 || isBisecting) {
        return intent == .send && mayGetMoreAnswers ? renewal : .flush
      }
      // Without credit, the search does not continue: it would record targets as tried that the worker can't send, and
      // would blame them for a death.
      if intent == .send, isBisecting, backlog.doubt == 0 { return credit.amount > 0 ? .bisect : renewal }
      switch intent {
      case .lost: return .abandon
      case .leave: return .leave
      case .cancel: return .cancel
      case .send:
        if backlog.doubt == 0, backlog.ungranted == 0 {
          guard backlog.waiting > 0 else { return .finish }
          if let nextRetry = backlog.nextRetry, nextRetry > Self.shortWait { return .park(nextRetry) }
        }
      }
    }
    return renewal
  }

  private var renewal: SliceStep { renews && intent != .lost ? .commit(credit: 0) : .wait }

  private var dueRetries: Bool { backlog.nextRetry.map { $0 <= 0 } ?? false }
}
