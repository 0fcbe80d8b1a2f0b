import CampaignStore

/// The targets of a slice that are granted, have no answer and are not in flight on this worker, and the search for a
/// poison target among them. A poison target kills every worker that sends it.
struct SliceDoubt {
  /// Targets to send again: granted to an earlier owner, or granted in a lost reply.
  var targets: [GrantedTarget] = []
  /// Targets that are not sent during the present step of the search for a poison target.
  var deferred: [GrantedTarget] = []
  /// Whether an earlier owner may have sent the targets. If not, Redis granted them in a lost reply, and no worker has
  /// sent them.
  var isInherited = false
  /// The search for a poison target, while it runs.
  var bisection: Bisection?
  /// Number of consecutive claims of the slice that ended with the death of a worker, and the targets of the last step
  /// of the search; `nil` if no search is due.
  var deaths: (count: Int, trial: ClosedRange<Int>?)?
  /// Number of targets that were sent again and that Redis has not counted yet.
  var resent = 0

  var isEmpty: Bool { targets.isEmpty && deferred.isEmpty }

  /// Starts the search for the poison target, if the answer to the claim has asked for it.
  ///
  /// - Returns: The number of deaths; `nil` if no search is due.
  mutating func beginBisection() -> Int? {
    guard let deaths else { return nil }
    bisection = Bisection(doubt: targets, trial: deaths.trial)
    deferred = targets
    targets = []
    return deaths.count
  }

  /// Removes all targets after the claim was lost: the new owner handles these targets.
  mutating func drop() {
    targets = []
    deferred = []
    bisection = nil
  }

  /// Ends the search. The targets that were not part of the last step are then handled like all targets in doubt.
  mutating func endBisection() {
    bisection = nil
    targets += deferred
    deferred = []
  }
}
