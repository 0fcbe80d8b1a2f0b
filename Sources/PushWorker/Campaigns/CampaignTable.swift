import CampaignStore
import PushCore

/// The campaigns of which a worker has slices or knows the job, and what people do to them. Confined to the worker's loop. Time is
/// an argument.
///
/// A pause, a resume and a cancellation raise the control epoch in Redis. A worker publishes the epoch that it has reached.
final class CampaignTable {
  /// By id; of campaigns that were active when last looked at.
  private(set) var contexts: [String: CampaignContext] = [:]
  /// The epoch that this worker has reached; `nil` before its first look.
  private(set) var epoch: Int?
  /// Campaigns that are being paused on this worker's word.
  private var pausing: Set<String> = []
  /// In which round campaigns that were resumed were sent last.
  private var rounds: [String: Int] = [:]
  /// More resumed campaigns than a fleet has at a time; beyond it, one may be told of twice.
  private static let maximumRounds = 1000
  /// Campaigns that were paused or cancelled in the last seconds, and when that was seen: Redis may forget it.
  private var lately: [String: (state: CampaignState, at: UInt64)] = [:]

  /// Whether there is no campaign of which anything is known.
  var isIdle: Bool { contexts.isEmpty && lately.isEmpty }

  /// What is known of a campaign, unless it was resumed since.
  func context(_ id: String, round: Int) -> CampaignContext? {
    contexts[id].flatMap { $0.facts.round >= round ? $0 : nil }
  }

  func add(_ context: CampaignContext) { contexts[context.campaign.id] = context }

  func drop(_ id: String) { contexts[id] = nil }

  /// Lets go of a context that is outdated, unless there is a newer one.
  func drop(_ context: CampaignContext) {
    if contexts[context.campaign.id] === context { contexts[context.campaign.id] = nil }
  }

  /// - Returns: false when the campaign is being paused already.
  func beginPause(_ id: String) -> Bool { pausing.insert(id).inserted }

  func endPause(_ id: String) { pausing.remove(id) }

  /// Others don't know any more which epoch this worker has reached: it is said once more.
  func forgetEpoch() { epoch = nil }

  /// Takes note of the epoch that was reached.
  ///
  /// - Returns: false when it is the one before: there was nothing to do.
  func sync(_ epoch: Int) -> Bool {
    guard epoch != self.epoch else { return false }
    self.epoch = epoch
    return true
  }

  /// Takes note of a campaign's state.
  ///
  /// - Returns: whether somebody else has paused or cancelled what this worker was sending.
  @discardableResult
  func note(_ state: CampaignState?, of id: String, at now: UInt64) -> Bool {
    let context = contexts[id]
    if state != .active {
      contexts[id] = nil
    } else if !pausing.contains(id) {
      // Redis has forgotten the pause: the next push that is refused says so again.
      context?.progress.isPaused = false
    }
    switch state {
    case .paused?, .cancelled?:
      if let state, lately[id]?.state != state { lately[id] = (state, now) }
    default: lately[id] = nil
    }
    guard let context, state == .paused || state == .cancelled else { return false }
    return !context.progress.isPaused && !pausing.contains(id)
  }

  /// Takes note of a campaign that is sent.
  ///
  /// - Returns: whether it was resumed since this worker last took note of it.
  func noteRound(_ round: Int, of id: String) -> Bool {
    // What has ended is forgotten with the rest.
    if rounds.count >= Self.maximumRounds { rounds.removeAll() }
    guard round > 0 else { return false }
    return rounds.updateValue(round, forKey: id) != round
  }

  /// What people did in the last seconds.
  var recent: [(id: String, verb: ControlVerb)] {
    lately.map { ($0.key, $0.value.state == .cancelled ? .cancel : .pause) }
  }

  /// Lets go of what Redis has had the time to make durable.
  func forget(before now: UInt64) {
    lately = lately.filter { now - $0.value.at <= SliceJournal.memory }
  }
}
