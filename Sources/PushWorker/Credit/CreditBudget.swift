/// The worker's window, lent out by pool and lane: how many targets it may have granted without a recorded answer.
///
/// Credit comes back when an answer is recorded, and not before, so what is in doubt when the worker dies is never more
/// than the window. What a dead, frozen or slow push service has of it comes back late or not at all; so where there is
/// more than one pool, none may take everything: it takes more only while it has less than ``share`` times what it
/// leaves. One alone gets three quarters of the window, two get three sevenths each, and the next to come always finds
/// something. (Dynamic thresholds: Choudhury and Hahne, "Dynamic queue length thresholds for shared-memory packet
/// switches", 1998.) What lower lanes hold does not count against a higher one. Pure.
struct CreditBudget: Equatable {
  /// Whom credit is lent to.
  struct Account: Hashable {
    /// The pool's number.
    var pool: Int
    /// Position in ``PushCore/Lane/allCases``; 0 is served first.
    var lane: Int
  }

  /// Targets in doubt at most.
  let window: Int
  /// Whether there is another pool to leave something to.
  var isShared = false
  /// What is lent, over all accounts.
  private(set) var lent = 0
  private var accounts: [Account: Int] = [:]

  /// Of what is lent to nobody, a pool may come to have so many times as much as it leaves.
  private static let share = 3

  init(window: Int) {
    self.window = window
  }

  /// What is lent to nobody.
  var free: Int { max(0, window - lent) }

  /// What a pool holds in all its lanes.
  func held(by pool: Int) -> Int { accounts.reduce(0) { $0 + ($1.key.pool == pool ? $1.value : 0) } }

  /// What may be lent to an account now.
  ///
  /// - Parameter returning: what the account gives back in the same step.
  func allowance(_ account: Account, returning: Int = 0) -> Int {
    let free = max(0, window - lent + returning)
    guard free > 0, isShared else { return free }
    var (own, all) = held(inLanesUpTo: account)
    own -= returning
    all -= returning
    let more = (Self.share * (window - all) - own) / (1 + Self.share)
    // Whoever has nothing gets one, however small the window.
    return min(free, max(more, own == 0 ? 1 : 0))
  }

  /// What an account could come to hold if nobody else moved: with less than a good part of that, asking is not worth a
  /// round trip.
  func reach(_ account: Account) -> Int {
    isShared ? held(inLanesUpTo: account).own + allowance(account) : window
  }

  mutating func lend(_ amount: Int, to account: Account) {
    assert(amount >= 0, "credit was asked for that others have")
    lent += amount
    accounts[account, default: 0] += amount
  }

  mutating func giveBack(_ amount: Int, of account: Account) {
    lent -= amount
    accounts[account, default: 0] -= amount
    assert(accounts[account, default: 0] >= 0, "credit came back that was never lent")
  }

  /// What the pool of an account, and what all pools, hold in its lane and the higher ones.
  private func held(inLanesUpTo account: Account) -> (own: Int, all: Int) {
    var (own, all) = (0, 0)
    for (other, amount) in accounts where other.lane <= account.lane {
      all += amount
      if other.pool == account.pool { own += amount }
    }
    return (own, all)
  }
}
