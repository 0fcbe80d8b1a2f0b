import CampaignStore
import PushCore

/// The campaigns whose slices this worker holds or whose jobs it has read, and recent pauses and cancellations of
/// campaigns. Confined to the worker's loop. Time is an argument.
///
/// A pause, a resume and a cancellation raise the control epoch in Redis. A worker publishes the epoch that it has
/// applied.
final class CampaignTable {
  /// The contexts by campaign, for campaigns that were active when this worker last read their states.
  private(set) var contexts: [String: CampaignContext] = [:]
  /// The epoch that this worker has applied; `nil` before the first read.
  private(set) var epoch: Int?
  /// Campaigns that this worker is pausing.
  private var pausing: Set<String> = []
  /// The latest known round of each resumed campaign. The round is the number of resumes.
  private var rounds: [String: Int] = [:]
  /// Maximum number of entries in ``rounds``. A fleet rarely has so many resumed campaigns at a time. When the limit is
  /// reached, ``rounds`` is emptied, and a resume may be logged twice.
  private static let maximumRounds = 1000
  /// Campaigns that were paused or cancelled in the last seconds, with the time at which this worker read the new
  /// state. Redis may lose these writes.
  private var recentStops: [String: (state: CampaignState, at: UInt64)] = [:]

  /// Whether the table has no campaign.
  var isIdle: Bool { contexts.isEmpty && recentStops.isEmpty }

  /// Returns the context of a campaign, unless the campaign was resumed after the context was made.
  func context(_ id: String, round: Int) -> CampaignContext? {
    contexts[id].flatMap { $0.facts.round >= round ? $0 : nil }
  }

  func add(_ context: CampaignContext) { contexts[context.campaign.id] = context }

  func drop(_ id: String) { contexts[id] = nil }

  /// Removes this context from the table, unless the table has a newer context of the campaign.
  func drop(_ context: CampaignContext) {
    if contexts[context.campaign.id] === context { contexts[context.campaign.id] = nil }
  }

  /// Records that this worker is pausing a campaign.
  ///
  /// - Returns: `false` if this worker is pausing the campaign already.
  func beginPause(_ id: String) -> Bool { pausing.insert(id).inserted }

  func endPause(_ id: String) { pausing.remove(id) }

  /// Resets the epoch, so that this worker publishes it again. Necessary after Redis has removed this worker, with its
  /// published epoch, from the list of workers.
  func forgetEpoch() { epoch = nil }

  /// Records that this worker has applied the changes up to an epoch.
  ///
  /// - Returns: `false` if the epoch is unchanged, so that there was nothing to do.
  func sync(_ epoch: Int) -> Bool {
    guard epoch != self.epoch else { return false }
    self.epoch = epoch
    return true
  }

  /// Records a campaign's state.
  ///
  /// - Returns: Whether an operator or another worker has paused or cancelled a campaign that this worker was sending.
  @discardableResult
  func record(_ state: CampaignState?, of id: String, at now: UInt64) -> Bool {
    let context = contexts[id]
    if state != .active {
      contexts[id] = nil
    } else if !pausing.contains(id) {
      // Redis has lost the pause. The next refused push pauses the campaign again.
      context?.progress.isPaused = false
    }
    switch state {
    case .paused?, .cancelled?:
      if let state, recentStops[id]?.state != state { recentStops[id] = (state, now) }
    default: recentStops[id] = nil
    }
    guard let context, state == .paused || state == .cancelled else { return false }
    return !context.progress.isPaused && !pausing.contains(id)
  }

  /// Records the round in which a campaign is sent.
  ///
  /// - Returns: Whether the campaign was resumed after the last call for it.
  func recordRound(_ round: Int, of id: String) -> Bool {
    // Removes all entries, because most of these campaigns have ended.
    if rounds.count >= Self.maximumRounds { rounds.removeAll() }
    guard round > 0 else { return false }
    return rounds.updateValue(round, forKey: id) != round
  }

  /// The pauses and cancellations of the last seconds, to repeat if Redis has lost them.
  var recent: [(id: String, verb: ControlVerb)] {
    recentStops.map { ($0.key, $0.value.state == .cancelled ? .cancel : .pause) }
  }

  /// Removes pauses and cancellations that are so old that Redis can't lose them any more.
  func removeDurable(before now: UInt64) {
    recentStops = recentStops.filter { now - $0.value.at <= SliceJournal.memory }
  }
}
