/// The worker's window (the number of targets that may be granted without a recorded answer), divided among pools and
/// lanes.
///
/// Credit is free again only after the answer is recorded. When a worker dies, the number of its targets in doubt
/// therefore never exceeds the window.
///
/// If a push service is slow or does not answer, the credit of its pool becomes free late or never. If there are
/// several pools, no pool may therefore take the whole window. A pool gets more only while it has less than ``share``
/// times the free credit. One busy pool gets three quarters of the window, two busy pools get three sevenths each, and
/// some credit is always free for the next pool. (Dynamic thresholds: Choudhury and Hahne, "Dynamic queue length
/// thresholds for shared-memory packet switches", 1998.) The credit of lower lanes does not limit a higher lane.
struct CreditBudget: Equatable {
  /// A pool and a lane. Each such pair has its own credit.
  struct Account: Hashable {
    /// The pool's number.
    var pool: Int
    /// Position in ``PushCore/Lane/allCases``; 0 is served first.
    var lane: Int
  }

  /// Maximum number of targets in doubt.
  let window: Int
  /// Whether there are several pools, so that other pools may need a part of the window.
  var isShared = false
  /// Allocated credit of all accounts.
  private(set) var assigned = 0
  private var accounts: [Account: Int] = [:]

  /// Limit of a pool's credit, as a multiple of the free credit.
  private static let share = 3

  init(window: Int) {
    self.window = window
  }

  /// Returns the credit of a pool in all its lanes.
  func held(by pool: Int) -> Int { accounts.reduce(0) { $0 + ($1.key.pool == pool ? $1.value : 0) } }

  /// Returns the credit that may be allocated to an account now.
  ///
  /// - Parameter returning: Credit that the account returns in the same step.
  func allowance(_ account: Account, returning: Int = 0) -> Int {
    let free = max(0, window - assigned + returning)
    guard free > 0, isShared else { return free }
    var (own, all) = held(inLanesUpTo: account)
    own -= returning
    all -= returning
    let more = (Self.share * (window - all) - own) / (1 + Self.share)
    // An account without credit gets at least one unit of the free credit, even if the window is small.
    return min(free, max(more, own == 0 ? 1 : 0))
  }

  /// Returns the maximum credit that an account could hold while the other accounts stay unchanged. A worker requests
  /// credit only if it gets a large part of this number, because a request costs a round trip.
  func maximumCredit(of account: Account) -> Int {
    isShared ? held(inLanesUpTo: account).own + allowance(account) : window
  }

  mutating func assign(_ amount: Int, to account: Account) {
    assert(amount >= 0, "assigned a negative amount of credit")
    assigned += amount
    accounts[account, default: 0] += amount
  }

  mutating func giveBack(_ amount: Int, of account: Account) {
    assigned -= amount
    accounts[account, default: 0] -= amount
    assert(accounts[account, default: 0] >= 0, "more credit was returned than was assigned")
  }

  /// Returns the credit held in the account's lane and the higher lanes: by the account's pool (`own`), and by all
  /// pools (`all`).
  private func held(inLanesUpTo account: Account) -> (own: Int, all: Int) {
    var (own, all) = (0, 0)
    for (other, amount) in accounts where other.lane <= account.lane {
      all += amount
      if other.pool == account.pool { own += amount }
    }
    return (own, all)
  }
}
