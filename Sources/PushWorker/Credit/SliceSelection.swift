import PushCore

/// Selects the slices that a worker takes next, and how many at a time. Confined to the worker's loop.
final class SliceSelection {
  /// The slices that may be taken from the lanes.
  struct Opening: Equatable {
    /// The lanes, highest first; empty for none.
    var lanes: ArraySlice<Lane>
    /// Campaigns of which the worker takes no further slice, because it holds enough.
    var excluded: Set<String>
  }

  /// Number of slices that may be prepared at the same time. It depends on the number of remaining slices of the
  /// campaign from which the worker last claimed a slice.
  private(set) var preparable = 1

  /// Maximum number of slices that one worker prepares at the same time. With four, the next slice is ready when the
  /// present one is finished.
  static let maximumPreparable = 4
  /// For each pool and lane, the maximum number of held slices in this lane and the higher lanes together. Enough to
  /// keep the window busy at the end of a slice; few enough to limit memory.
  static let maximumSlices = 16
  /// Maximum number of held slices of all pools and lanes: enough for several pools.
  static let maximumInHand = 4 * maximumSlices
  /// Maximum number of held slices of campaigns with a rate limit, in addition to ``maximumInHand``. Such a slice costs
  /// almost nothing, and its campaign would stop if no worker held it.
  static let maximumLimited = maximumInHand

  /// Records the number of remaining slices of a campaign. A worker prepares at most half of its share of these slices
  /// at a time. All workers therefore share the end of a campaign, and each gets work even if there are few slices per
  /// worker.
  ///
  /// - Returns: Whether more slices may be prepared than before.
  func record(unfinished: Int, fleet: Int) -> Bool {
    let before = preparable
    preparable =
      fleet == 1 ? Self.maximumPreparable : max(1, min(unfinished / (2 * fleet), Self.maximumPreparable))
    return preparable > before
  }

  /// Returns whether the worker may prepare (claim and expand) another slice, in addition to those in preparation.
  func mayPrepare(_ entries: [Scheduler.Entry], beginning: [String]) -> Bool {
    beginning.count + entries.count { $0.counts && !$0.condition.isReady } < preparable
  }

  /// Returns the lanes from which the worker may take a slice, and the campaigns of which it needs no further slice.
  ///
  /// - Parameters:
  ///   - beginning: for each slice that was taken and is not in `entries` yet, its campaign.
  ///   - window: The worker's window.
  func opening(_ entries: [Scheduler.Entry], beginning: [String], window: Int) -> Opening {
    let counted = entries.lazy.filter(\.counts)
    let preparing = beginning.count + counted.count { !$0.condition.isReady }
    // A slice of a campaign without a held slice may be prepared even if ``preparable`` slices are in preparation.
    // Twice ``maximumPreparable`` limits the number of all slices in preparation.
    let busy = counted.count { $0.targets.enough == nil }
    guard busy + beginning.count < Self.maximumInHand, preparing < 2 * Self.maximumPreparable else {
      return Opening(lanes: [], excluded: [])
    }
    var excluded = Set(beginning.filter { campaign in beginning.count { $0 == campaign } >= preparable })
    var seen: Set<String> = []
    for entry in counted where seen.insert(entry.campaign).inserted && !excluded.contains(entry.campaign) {
      if let enough = entry.targets.enough {
        let inHand = entries.reduce(0) { $0 + ($1.campaign == entry.campaign ? $1.targets.ungranted : 0) }
        let isPreparing =
          beginning.contains(entry.campaign)
          || counted.contains { !$0.condition.isReady && $0.campaign == entry.campaign }
        if isPreparing || inHand >= enough || counted.count - busy >= Self.maximumLimited {
          excluded.insert(entry.campaign)
        }
        continue
      }
      let ahead =
        beginning.count { $0 == entry.campaign }
        + counted.count { !$0.condition.isReady && $0.account.lane <= entry.account.lane }
      if ahead >= preparable || isEnough(entry, entries, window) { excluded.insert(entry.campaign) }
    }
    return Opening(lanes: Lane.allCases[...], excluded: excluded)
  }

  /// Returns whether the worker holds enough slices of a slice's pool, in its lane and the higher lanes.
  private func isEnough(_ entry: Scheduler.Entry, _ entries: [Scheduler.Entry], _ window: Int) -> Bool {
    // The held slices are enough to find out when the pool can send again.
    if entry.condition.isStuck { return true }
    var (busy, remaining) = (0, 0)
    for other in entries where other.account.pool == entry.account.pool && other.account.lane <= entry.account.lane {
      // A slice that only waits for its guard does not keep the worker busy. The window bounds the number of such
      // slices.
      if other.counts, !other.condition.isOnlyDeferred, other.targets.enough == nil { busy += 1 }
      remaining += other.targets.ahead
    }
    // Targets for twice the window keep the connections busy while further slices are prepared.
    return busy >= Self.maximumSlices || remaining >= 2 * window
  }

  /// Maximum number of slices of one dequeue call. With this number, the round trip costs each slice almost nothing.
  static let maximumBatch = 128
  /// Maximum average number of targets of a slice in a batch. With more targets, round trips are not the main cost.
  static let fewTargets = 32

  /// Returns the number of slices of a campaign to take with one call. The number is one, unless the slices have few
  /// targets. It is at most half of the worker's share of the remaining slices, because all workers share the end of a
  /// campaign.
  ///
  /// - Parameters:
  ///   - targets: Estimated targets of a slice of the campaign; `nil` if unknown.
  ///   - unfinished: Remaining slices of the campaign.
  ///   - fleet: Live workers, including this one.
  ///   - room: Targets that the worker can still hold.
  func batchSize(targets: Int?, unfinished: Int, fleet: Int, room: Int) -> Int {
    guard let targets, targets <= Self.fewTargets else { return 1 }
    return max(1, min(Self.maximumBatch, unfinished / (2 * fleet), room / max(1, targets)))
  }
}
