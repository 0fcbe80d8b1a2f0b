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

  var intent = Intent.send
  /// Whether Redis has forgotten something that it had acknowledged.
  var isForgotten = false
  /// Outcomes not recorded yet.
  var pending = 0
  /// ms since the oldest of them came.
  var pendingAge = 0
  /// Pushes without an answer.
  var unanswered = 0
  /// Answers that the guard holds back.
  var held = 0
  /// Whether the campaign's guard has not decided, its pool can't send, or it has a rate: then credit is scarce.
  var isScarce = false
  /// Whether other slices' answers may yet let it decide.
  var mayMoreCome = false
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
  /// Credit that could be lent to this slice with a commit.
  var credit = 0
  /// How much of it comes back with that commit.
  var returning = 0
  /// What its pool could come to hold of the window.
  var reach = 1000
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
  private var worthwhileCredit: Int { isScarce ? 1 : min(64, max(1, reach / 4)) }
  /// ms: a retry nearer than this is waited for, a later one lets the slice be parked.
  static let shortWait = 200

  var next: SliceStep {
    // Whatever else is asked of Redis, it would answer for a slice that it knows less of than we do.
    if isForgotten, intent != .lost { return .replay }
    let free = max(0, credit - returning)
    if intent == .send, doubt > 0, free > 0 { return .resend(min(doubt, free)) }
    let isBlocked = intent == .send && blocked > 0 && !isBisecting
    // It takes no credit: nothing is sent. What else is to be recorded comes first, so that it is one batch.
    if isBlocked, pending == 0 { return .passOver(min(blocked, Self.fullBatch)) }
    let grantable = ungranted + (dueRetries ? waiting : 0)
    let wanted = intent == .send && !isBisecting && !isBlocked ? min(credit, grantable, Self.fullBatch) : 0
    if pending > 0, pending >= Self.fullBatch || unanswered == 0 || pendingAge >= Self.patience {
      return .commit(credit: wanted)
    }
    // What comes back with a commit is no reason for one: more outcomes may come with it.
    if wanted > 0, min(wanted, free) >= min(worthwhileCredit, grantable) { return .commit(credit: wanted) }
    if pending == 0, unanswered == 0 {
      // Whatever follows ends or parks the slice, and what is held must not be forgotten.
      if held > 0, intent != .send || doubt == 0 && (ungranted == 0 || isBisecting) {
        return intent == .send && mayMoreCome ? renewal : .flush
      }
      // Without credit nothing is tried, and who is not tried is not to blame for a death.
      if intent == .send, isBisecting, doubt == 0 { return credit > 0 ? .bisect : renewal }
      switch intent {
      case .lost: return .abandon
      case .leave: return .leave
      case .cancel: return .cancel
      case .send:
        if doubt == 0, ungranted == 0 {
          guard waiting > 0 else { return .finish }
          if let nextRetry, nextRetry > Self.shortWait { return .park(nextRetry) }
        }
      }
    }
    return renewal
  }

  private var renewal: SliceStep { renews && intent != .lost ? .commit(credit: 0) : .wait }

  private var dueRetries: Bool { nextRetry.map { $0 <= 0 } ?? false }
}
