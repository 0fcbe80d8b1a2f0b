import PushCore

/// Which further slices a worker takes up, and how many at a time. Confined to the worker's loop.
final class SliceSelection {
  /// What may be taken off the lanes.
  struct Opening: Equatable {
    /// Highest first; empty for none.
    var lanes: ArraySlice<Lane>
    /// Campaigns of which there is enough in hand.
    var excluded: Set<String>
  }

  /// Slices that may be prepared at a time, by what was left of the campaign of which one was claimed last.
  private(set) var preparable = 1

  /// Slices that one worker prepares at a time at most: enough to have the next when one is sent.
  static let maximumPreparable = 4
  /// Slices of a pool in hand at most, of a lane and the higher ones: enough that the tail of one never idles the window,
  /// few enough to keep memory flat.
  static let maximumSlices = 16
  /// Slices in hand at most, whatever they wait for: a few pools' worth.
  static let maximumInHand = 4 * maximumSlices
  /// Slices in hand at most that wait for their rates, besides those: each keeps its campaign's pushes going, and costs
  /// next to nothing.
  static let maximumLimited = maximumInHand

  /// Takes note of how much is left of a campaign. A worker prepares half of its share of it at a time: the tail is
  /// everybody's, and a fleet that is large beside the number of slices has work for all.
  ///
  /// - Returns: whether more may be prepared than before.
  func note(unfinished: Int, fleet: Int) -> Bool {
    let before = preparable
    preparable =
      fleet == 1 ? Self.maximumPreparable : max(1, min(unfinished / (2 * fleet), Self.maximumPreparable))
    return preparable > before
  }

  /// Whether one more slice may be prepared, beside those that are.
  func mayPrepare(_ entries: [Scheduler.Entry], beginning: [String]) -> Bool {
    beginning.count + entries.count { $0.counts && !$0.isReady } < preparable
  }

  /// What another slice would be welcome of.
  ///
  /// - Parameters:
  ///   - beginning: the campaigns of slices that were taken and are not in `entries` yet, one for each slice.
  ///   - window: the worker's.
  func opening(_ entries: [Scheduler.Entry], beginning: [String], window: Int) -> Opening {
    let counted = entries.lazy.filter(\.counts)
    let preparing = beginning.count + counted.count { !$0.isReady }
    // A campaign that has nothing in hand is let in beside those that are being prepared, but not without end.
    let busy = counted.count { $0.enough == nil }
    guard busy + beginning.count < Self.maximumInHand, preparing < 2 * Self.maximumPreparable else {
      return Opening(lanes: [], excluded: [])
    }
    var excluded = Set(beginning.filter { campaign in beginning.count { $0 == campaign } >= preparable })
    var seen: Set<String> = []
    for entry in counted where seen.insert(entry.campaign).inserted && !excluded.contains(entry.campaign) {
      if let enough = entry.enough {
        let inHand = entries.reduce(0) { $0 + ($1.campaign == entry.campaign ? $1.ungranted : 0) }
        let isPreparing =
          beginning.contains(entry.campaign)
          || counted.contains { !$0.isReady && $0.campaign == entry.campaign }
        if isPreparing || inHand >= enough || counted.count - busy >= Self.maximumLimited {
          excluded.insert(entry.campaign)
        }
        continue
      }
      let ahead =
        beginning.count { $0 == entry.campaign }
        + counted.count { !$0.isReady && $0.account.lane <= entry.account.lane }
      if ahead >= preparable || isEnough(entry, entries, window) { excluded.insert(entry.campaign) }
    }
    return Opening(lanes: Lane.allCases[...], excluded: excluded)
  }

  /// Whether there is enough in hand of what a slice shares its pool with, in its lane and the higher ones.
  private func isEnough(_ entry: Scheduler.Entry, _ entries: [Scheduler.Entry], _ window: Int) -> Bool {
    // Those in hand are enough to find out when the pool can send again.
    if entry.isStuck { return true }
    var (busy, remaining) = (0, 0)
    for other in entries where other.account.pool == entry.account.pool && other.account.lane <= entry.account.lane {
      // What only waits for its guard keeps nobody busy; the window bounds how many there are.
      if other.counts, !other.isOnlyDeferred, other.enough == nil { busy += 1 }
      remaining += other.ahead
    }
    // Twice the window ahead keeps the connections busy while further slices are prepared.
    return busy >= Self.maximumSlices || remaining >= 2 * window
  }

  /// Slices that are taken at once at most: a round trip for so many costs each of them next to nothing.
  static let largestBunch = 128
  /// Targets that a slice of a bunch has at most, on average: with more of them, round trips are not what it costs.
  static let fewTargets = 32

  /// How many slices of a campaign to take at once: one, unless they have few targets; and no more than half of the
  /// worker's share of what is left, as the tail is everybody's.
  ///
  /// - Parameters:
  ///   - targets: of a slice of the campaign, at a guess; `nil` where nobody knows.
  ///   - unfinished: slices that are left of it.
  ///   - fleet: live workers, this one among them.
  ///   - room: targets of which there is not enough in hand yet.
  func bunch(targets: Int?, unfinished: Int, fleet: Int, room: Int) -> Int {
    guard let targets, targets <= Self.fewTargets else { return 1 }
    return max(1, min(Self.largestBunch, unfinished / (2 * fleet), room / max(1, targets)))
  }
}
