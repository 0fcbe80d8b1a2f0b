/// What a slice does next. Pure: decided from what is known of it, executed elsewhere.
enum SliceStep: Equatable {
  /// Tell Redis again what it has forgotten.
  case replay
  /// Record outcomes, ask for this much credit, renew the lease.
  case commit(credit: Int)
  /// Send this many of the targets in doubt again.
  case resend(Int)
  /// Record what becomes of this many targets that are next and can't be sent now; none of them was granted.
  case passOver(Int)
  /// Something in the slice kills its workers: try the next part of what is in doubt.
  case bisect
  /// Record what the guard holds back: nothing more will come.
  case flush
  /// Every target has its outcome.
  case finish
  /// The campaign was cancelled and nothing is under way any more.
  case cancel
  /// Only retries, and targets whose time has yet to come, are left, the nearest in this many ms.
  case park(Int)
  /// Give the slice back: it is paused, or the worker stops.
  case leave
  /// The slice is somebody else's, and all that was ours to say has been said.
  case abandon
  /// Nothing until something happens.
  case wait
}

/// What is known of a slice when its next step is decided.
struct SliceSituation: Equatable {
  /// What the slice is being held for.
  enum Intent: Equatable {
    case send
    /// Give it back when nothing is under way.
    case leave
    /// Close it as cancelled when nothing is under way.
    case cancel
    /// The lease is another's: only report what was answered.
    case lost
  }

  /// Targets that are left to be sent.
  struct Backlog: Equatable {
    /// Targets in doubt that are yet to be sent again.
    var doubt = 0
    /// Targets never granted that could be.
    var ungranted = 0
    /// Of them, how many are next and can't be sent now.
    var blocked = 0
    /// Targets that wait for a retry, or for their own time.
    var waiting = 0
    /// ms until the nearest of them is due; `nil` for none.
    var nextRetry: Int?
  }

  /// Pushes and outcomes that are not recorded.
  struct Pending: Equatable {
    /// Outcomes not recorded yet.
    var outcomes = 0
    /// ms since the oldest of them came.
    var age = 0
    /// How much credit comes back with the next commit.
    var returning = 0
    /// Pushes without an answer.
    var unanswered = 0
    /// Answers that the guard defers.
    var deferred = 0
  }

  /// What may be lent to the slice.
  struct Credit: Equatable {
    /// Credit that could be lent with a commit.
    var amount = 0
    /// What its pool could come to hold of the window.
    var reach = 1000
    /// Whether the campaign's guard has not decided, its pool can't send, or it has a rate.
    var isScarce = false
  }

  var intent = Intent.send
  /// Whether Redis has forgotten something that it had acknowledged.
  var isForgotten = false
  var backlog = Backlog()
  var pending = Pending()
  var credit = Credit()
  /// Whether other slices' answers may yet let the guard decide.
  var mayMoreCome = false
  /// Whether something in the slice kills its workers: then nothing is sent but what is being tried.
  var isBisecting = false
  /// Whether the lease is due to be renewed.
  var renews = false

  /// Outcomes that make a commit worth its round trip: so many that what each commit costs is little a target, so few
  /// that Redis is held up for half a millisecond, not more. A script call handles at most 500.
  static let fullBatch = 400
  /// ms that outcomes wait for others to come with them.
  static let patience = 5
  /// Credit below which asking for more is not worth a round trip of its own; at most a quarter of what its pool
  /// can have, so that it always comes together.
  private var worthwhileCredit: Int { credit.isScarce ? 1 : min(64, max(1, credit.reach / 4)) }
  /// ms: a retry nearer than this is waited for, a later one lets the slice be parked.
  static let shortWait = 200

  var next: SliceStep {
    // Whatever else is asked of Redis, it would answer for a slice that it knows less of than we do.
    if isForgotten, intent != .lost { return .replay }
    let free = max(0, credit.amount - pending.returning)
    if intent == .send, backlog.doubt > 0, free > 0 { return .resend(min(backlog.doubt, free)) }
    let isBlocked = intent == .send && backlog.blocked > 0 && !isBisecting
    // It takes no credit: nothing is sent. What else is to be recorded comes first, so that it is one batch.
    if isBlocked, pending.outcomes == 0 { return .passOver(min(backlog.blocked, Self.fullBatch)) }
    let grantable = backlog.ungranted + (dueRetries ? backlog.waiting : 0)
    let wanted = intent == .send && !isBisecting && !isBlocked ? min(credit.amount, grantable, Self.fullBatch) : 0
    if pending.outcomes > 0,
      pending.outcomes >= Self.fullBatch || pending.unanswered == 0 || pending.age >= Self.patience
    {
      return .commit(credit: wanted)
    }
    // What comes back with a commit is no reason for one: more outcomes may come with it.
    if wanted > 0, min(wanted, free) >= min(worthwhileCredit, grantable) { return .commit(credit: wanted) }
    if pending.outcomes == 0, pending.unanswered == 0 {
      // Whatever follows ends or parks the slice, and what is held must not be forgotten.
      if pending.deferred > 0, intent != .send || backlog.doubt == 0 && (backlog.ungranted == 0 || isBisecting) {
        return intent == .send && mayMoreCome ? renewal : .flush
      }
      // Without credit nothing is tried, and who is not tried is not to blame for a death.
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
