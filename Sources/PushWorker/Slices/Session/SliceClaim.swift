import CampaignStore

/// The state of a held slice as Redis last reported it, and the actions that the worker must take before all others.
struct SliceClaim {
  /// The seal id of the list of targets; empty before the list is sealed.
  var seal: [UInt8] = []
  /// The version of the slice, which counts its writes.
  var version = SliceVersion()
  /// Number of departures of users (`departures.lua`) at the time of the claim, before the expansion.
  var departures = 0
  /// Number of granted targets: every target with a lower index was granted.
  var granted = 0
  /// Number of targets that wait for a retry.
  var waiting = 0
  /// Number of targets that wait for their own send time.
  var later = 0
  /// `EventLoop.now` at which the earliest of these waiting targets is due.
  var nextRetry: UInt64?
  /// `EventLoop.now` at which the lease must be renewed.
  var renewAt: UInt64 = 0
  /// Credit of commits (``SliceCommitter``) whose answers were lost. For this credit, Redis may have granted targets
  /// that the worker does not know.
  var uncertain = 0
  /// Whether Redis may have granted targets that this worker does not know. The worker must read the targets in doubt
  /// before it requests further grants.
  var mustReconcile = false
  /// Whether Redis has lost an acknowledged write. The worker must replay it first.
  var mustReplay = false
  /// `EventLoop.now` until which the worker sends nothing of the slice, because other workers may still be replaying
  /// lost writes.
  var graceEnd: UInt64 = 0
  /// The way in which the slice was closed; `nil` while it is open.
  var ending: Closing?

  /// Records how many targets wait. Their due time is unknown until the next commit returns it.
  mutating func record(waiting: Int, later: Int) {
    self.waiting = waiting
    self.later = later
    nextRetry = waiting + later > 0 ? 0 : nil
  }
}
