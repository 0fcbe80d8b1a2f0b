import PushCore

/// Which slice is served next, and with how much credit. Pure.
///
/// Lanes come first: while a slice of a higher one could use credit, a lower one gets none, but for what the higher one's
/// pool may not have. Within a lane and a pool campaigns take turns by pushes: whoever was served least goes first
/// (start-time fair queueing: Goyal, Vin and Cheng, 1996), so one target never waits behind a neighbour's million.
enum Scheduler {
  /// What the scheduler has to know of a slice in hand.
  struct Entry {
    var slot: Int
    var campaign: String
    var account: CreditBudget.Account
    /// Whether its pool can't send just now.
    var isStuck: Bool
    /// Whether its targets are known.
    var isReady: Bool
    /// Whether it is held in order to send; not to be given back or closed.
    var isSending: Bool
    /// Whether it waits for nothing but its campaign's guard.
    var isOnlyDeferred: Bool
    /// Whether the target that kills its workers is being searched for.
    var isBisecting: Bool
    /// Pushes that its campaign was granted, as ``start(of:among:)`` counts.
    var served: Int
    /// Targets that it could send at once, if it had the credit.
    var wants: Int
    /// Targets that were never granted.
    var ungranted: Int
    /// Pushes without an answer.
    var unanswered: Int
    /// Credit that comes back with its next commit.
    var returning: Int
    /// Targets of its campaign that are enough to have in hand, where its rate says so: it keeps nobody busy.
    var enough: Int?
    /// Whether it counts where slices are counted: of those that are driven as a bunch one does.
    var counts = true

    /// Targets that were never granted and keep this worker busy.
    var ahead: Int { enough.map { min($0, ungranted) } ?? ungranted }
  }

  // MARK: Credit

  /// The slices in the order in which they are served.
  static func order(_ entries: [Entry]) -> [Entry] {
    entries.sorted { ($0.account.lane, $0.served, $0.slot) < ($1.account.lane, $1.served, $1.slot) }
  }

  /// What all slices in hand could send, campaign by campaign: who goes before whom follows from that.
  struct Demand {
    private struct Campaign {
      var id: String
      var account: CreditBudget.Account
      var served: Int
      /// Targets, of each slice no more than it could be granted at a time.
      var wants = 0
    }

    private var campaigns: [Campaign] = []
    /// The first slice in which the target that kills its workers is being searched for.
    private var bisecting: Int?

    init(_ entries: [Entry]) {
      for entry in entries where entry.isSending {
        if entry.isBisecting { bisecting = min(bisecting ?? entry.slot, entry.slot) }
        guard entry.wants > 0, !entry.isStuck else { continue }
        let wants = min(entry.wants, SliceSituation.fullBatch)
        // There are few campaigns, and slices of one stand side by side.
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

    /// Credit that a slice may ask for, with a commit of the outcomes that it has: what they free it may have again in the
    /// same step, if nobody goes before it.
    func credit(for entry: Entry, _ budget: CreditBudget) -> Int {
      let allowance = budget.allowance(entry.account, returning: entry.returning)
      guard entry.isSending, allowance > 0 else { return 0 }
      // One push after the other is enough to find out when the pool can send again.
      if entry.isStuck { return entry.unanswered == 0 ? 1 : 0 }
      // Two searches at once would take each other's deaths for their own.
      if entry.isBisecting, let bisecting, bisecting < entry.slot { return 0 }
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
      // Half of it at most: who is served least may be busy with something else, and must not hold everybody up.
      return allowance - min(reserved, allowance / 2)
    }
  }

  /// Credit that a slice may ask for, see ``Demand/credit(for:_:)``.
  ///
  /// - Parameters:
  ///   - entry: the slice, one of `entries`.
  ///   - entries: all slices in hand.
  static func credit(for entry: Entry, among entries: [Entry], _ budget: CreditBudget) -> Int {
    Demand(entries).credit(for: entry, budget)
  }

  /// Where the count of a campaign's pushes starts when it comes into hand: with the least that others of its lane and pool
  /// have, so that it is served next, and not before everybody else until it has caught up with them.
  static func start(of account: CreditBudget.Account, among entries: [Entry]) -> Int {
    entries.lazy.filter { $0.account == account && $0.wants > 0 }.map(\.served).min() ?? 0
  }

  // MARK: Giving back

  /// From which slices pushes that no connection has taken are to be taken back, and how many each may keep.
  ///
  /// What waits for a pool that can't send is of no use to it. What waits in a lower lane, or beyond a pool's equal part of
  /// the window, gives way as soon as a slice finds no credit that it has a right to.
  static func reclaims(_ entries: [Entry], _ budget: CreditBudget) -> [(slot: Int, keeping: Int)] {
    var reclaims: [(slot: Int, keeping: Int)] = []
    let pools = Set(entries.lazy.filter { $0.isSending && !$0.isStuck && $0.wants > 0 }.map(\.account.pool))
    let part = budget.window / max(1, pools.count)
    // Slices are many, accounts are few.
    let wanting = Set(
      entries.lazy.filter { $0.wants > 0 && $0.isSending && !$0.isStuck }.map(\.account)
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
    for entry in entries where entry.isSending && entry.unanswered > 0 {
      if entry.isStuck {
        // With one the pool may be tried.
        if entry.unanswered > 1 { reclaims.append((entry.slot, 1)) }
      } else if isOutranked(entry.account) {
        reclaims.append((entry.slot, 0))
      }
    }
    return reclaims
  }
}
