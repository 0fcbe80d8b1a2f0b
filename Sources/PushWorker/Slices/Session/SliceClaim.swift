import CampaignStore

/// What Redis last told of a slice in hand, and what it is to be asked or told before anything else.
struct SliceClaim {
  /// The name of the list of targets; nothing before the seal.
  var seal: [UInt8] = []
  /// How often the slice has been written to.
  var version = SliceVersion()
  /// Departures from the partition at the claim, before the expansion.
  var departures = 0
  /// The high-water mark.
  var granted = 0
  /// Targets that wait for a retry.
  var waiting = 0
  /// Targets that wait for their own time.
  var later = 0
  /// `EventLoop.now` of the nearest of both.
  var nextRetry: UInt64?
  /// `EventLoop.now` at which the lease is to be renewed.
  var renewAt: UInt64 = 0
  /// Credit that a commit asked for whose answer was lost: Redis may have granted it.
  var uncertain = 0
  /// Redis may hold other than what we heard: which targets are in doubt is to be read before more is asked for.
  var mustReconcile = false
  /// Redis has forgotten something that it had acknowledged: it is to be told again first.
  var mustReplay = false
  /// `EventLoop.now` until which nothing is sent: others may still be telling Redis what it forgot.
  var graceEnd: UInt64 = 0
  /// How the slice was closed, once it has been.
  var ending: Closing?

  /// Takes note of what waits, and not until when: that is to be asked.
  mutating func note(waiting: Int, later: Int) {
    self.waiting = waiting
    self.later = later
    nextRetry = waiting + later > 0 ? 0 : nil
  }
}
