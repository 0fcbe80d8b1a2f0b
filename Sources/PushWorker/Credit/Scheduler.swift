import PushCore

/// Decides which slice gets credit next, and how much. The type does no I/O.
///
/// Higher lanes come first. While a slice of a higher lane could use credit, lower lanes of the same pool get none.
/// Lower lanes of other pools get credit only if the budget allows no more credit for the slice of the higher lane.
/// Within a lane and a pool, campaigns take turns: the campaign with the smallest number of sent pushes goes first
/// (start-time fair queueing: Goyal, Vin and Cheng, 1996). A single target therefore never waits for a million targets
/// of another campaign.
enum Scheduler {
  /// The facts that the scheduler needs about a held slice.
  struct Entry {
    var slot: Int
    var campaign: String
    var account: CreditBudget.Account
    var condition: Condition
    /// Number of pushes of its campaign that were passed to the pool, counted from the initial value
    /// ``start(of:among:)``.
    var served: Int
    var targets: Targets
    /// Whether the slice counts in the number of held slices. A batch of slices counts as one slice.
    var counts = true
  }

  /// The parts of a slice's state that affect its credit.
  struct Condition {
    /// Whether the slice's pool can't send now.
    var isStuck: Bool
    /// Whether the slice's targets are known.
    var isReady: Bool
    /// Whether the worker holds the slice to send it, and not to release or close it.
    var isSending: Bool
    /// Whether the slice waits only for the guard of its campaign.
    var isOnlyDeferred: Bool
    /// Whether the worker searches for a poison target in the slice: a target that kills every worker that sends it.
    var isBisecting: Bool
  }

  /// Numbers of targets of a slice.
  struct Targets {
    /// Targets that the slice could send immediately if it had enough credit.
    var wants: Int
    /// Targets that were never granted.
    var ungranted: Int
    /// Pushes without an answer.
    var unanswered: Int
    /// Credit that the slice's next commit frees.
    var returning: Int
    /// Number of targets that the worker needs to hold for the slice's campaign, because a rate limits the campaign;
    /// `nil` without a rate limit. ``ahead`` counts no targets beyond this number.
    var enough: Int?

    /// Ungranted targets that count as work for this worker, when it decides whether to take further slices.
    var ahead: Int { enough.map { min($0, ungranted) } ?? ungranted }
  }

  // MARK: Credit

  /// Returns the slices in the order in which they are served.
  static func order(_ entries: [Entry]) -> [Entry] {
    entries.sorted { ($0.account.lane, $0.served, $0.slot) < ($1.account.lane, $1.served, $1.slot) }
  }

  /// The demand of all held slices, by campaign. The demand determines which slice goes first.
  struct Demand {
    private struct Campaign {
      var id: String
      var account: CreditBudget.Account
      var served: Int
      /// Targets that the campaign's slices could send. Each slice counts at most one full grant.
      var wants = 0
    }

    private var campaigns: [Campaign] = []
    /// The slot of the first slice in which the worker searches for a poison target.
    private var bisecting: Int?

    init(_ entries: [Entry]) {
      for entry in entries where entry.condition.isSending {
        if entry.condition.isBisecting { bisecting = min(bisecting ?? entry.slot, entry.slot) }
        guard entry.targets.wants > 0, !entry.condition.isStuck else { continue }
        let wants = min(entry.targets.wants, SliceSituation.fullBatch)
        // There are few campaigns, and slices of the same campaign are adjacent.
        let known = campaigns.lastIndex {
          $0.served == entry.served && $0.account == entry.account && $0.id == entry.campaign
        }
        if let known {
          campaigns[known].wants += wants
        } else {
          campaigns.append(
            Campaign(id: entry.campaign, account: entry.account, served: entry.served, wants: wants))
        }
      }
    }

    /// Returns the credit that a slice may request when the worker records its outcomes. The slice may use the credit
    /// that these outcomes free in the same step, if no other slice goes first.
    func credit(for entry: Entry, _ budget: CreditBudget) -> Int {
      let allowance = budget.allowance(entry.account, returning: entry.targets.returning)
      guard entry.condition.isSending, allowance > 0 else { return 0 }
      // One push at a time is enough to find out when the pool can send again.
      if entry.condition.isStuck { return entry.targets.unanswered == 0 ? 1 : 0 }
      // Only one search runs at a time. If two searches ran and one of them crashed the worker, the other one would
      // also count this crash.
      if entry.condition.isBisecting, let bisecting, bisecting < entry.slot { return 0 }
      var reserved = 0
      for other in campaigns {
        let isSamePool = other.account.pool == entry.account.pool
        if other.account.lane < entry.account.lane {
          if isSamePool || budget.allowance(other.account) > 0 { return 0 }
        } else if isSamePool, other.account.lane == entry.account.lane, other.id != entry.campaign,
          other.served < entry.served
        {
          reserved += other.wants
        }
      }
      // At most half of the allowance is reserved for the campaigns that go first. They may be waiting for something
      // other than credit, and must not block the others.
      return allowance - min(reserved, allowance / 2)
    }
  }

  /// Returns the credit that a slice may request, see ``Demand/credit(for:_:)``.
  ///
  /// - Parameters:
  ///   - entry: the slice, one of `entries`.
  ///   - entries: All held slices.
  static func credit(for entry: Entry, among entries: [Entry], _ budget: CreditBudget) -> Int {
    Demand(entries).credit(for: entry, budget)
  }

  /// Returns the initial number of sent pushes of a campaign: the lowest number in its lane and pool. With this number,
  /// the campaign goes next. With 0, the campaign would block the others until its number reached theirs.
  static func start(of account: CreditBudget.Account, among entries: [Entry]) -> Int {
    entries.lazy.filter { $0.account == account && $0.targets.wants > 0 }.map(\.served).min() ?? 0
  }

  // MARK: Giving back

  /// Returns the slices whose waiting pushes the worker must take back from their pool. `keeping` is the number of
  /// pushes that the slice may leave there.
  ///
  /// Pushes that wait for a stuck pool only use up credit. If a slice can't get the credit to which it is entitled, it
  /// has priority over two kinds of waiting pushes: pushes of a lower lane of its pool, and pushes of another pool that
  /// has more than its equal part of the window.
  static func reclaims(_ entries: [Entry], _ budget: CreditBudget) -> [(slot: Int, keeping: Int)] {
    var reclaims: [(slot: Int, keeping: Int)] = []
    let pools = Set(
      entries.lazy.filter { $0.condition.isSending && !$0.condition.isStuck && $0.targets.wants > 0 }.map(
        \.account.pool))
    let part = budget.window / max(1, pools.count)
    // There are many slices and few accounts.
    let wanting = Set(
      entries.lazy.filter { $0.targets.wants > 0 && $0.condition.isSending && !$0.condition.isStuck }.map(\.account)
    ).filter { budget.allowance($0) == 0 }
    var outranked: [CreditBudget.Account: Bool] = [:]
    func isOutranked(_ account: CreditBudget.Account) -> Bool {
      if let known = outranked[account] { return known }
      let answer = wanting.contains { other in
        guard other != account, other.lane <= account.lane else { return false }
        return other.pool == account.pool
          || budget.held(by: other.pool) < part && budget.held(by: account.pool) > part
      }
      outranked[account] = answer
      return answer
    }
    for entry in entries where entry.condition.isSending && entry.targets.unanswered > 0 {
      if entry.condition.isStuck {
        // One push is enough to test the pool.
        if entry.targets.unanswered > 1 { reclaims.append((entry.slot, 1)) }
      } else if isOutranked(entry.account) {
        reclaims.append((entry.slot, 0))
      }
    }
    return reclaims
  }
}
