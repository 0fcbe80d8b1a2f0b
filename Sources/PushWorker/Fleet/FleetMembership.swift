import CampaignStore

/// A worker's place in the fleet: who it is, whether it hears the others, and what Redis last heard of it. Times are
/// `EventLoop.now`. Confined to the worker's loop.
final class FleetMembership {
  /// Which life of a worker this is.
  var instance: WorkerInstance
  /// The subscription to the wake-up channel.
  var listener: WakeListener?
  var isListening = false
  /// Whether others know that it listens.
  var hasJoined = false
  /// When others are taken for dead again who don't listen.
  private var othersBackAt: UInt64 = 0
  /// When Redis took the last sign of life.
  private var heartbeatAt: UInt64?
  /// Why Redis did not take the latest; `nil` when it did.
  private(set) var heartbeatError: String?

  init(_ instance: WorkerInstance) {
    self.instance = instance
  }

  /// Redis was away, or had just begun: all come back at once, and nobody is dead for not being there yet.
  func expectOthers(by moment: UInt64) { othersBackAt = moment }

  /// Whether it means anything that somebody does not listen.
  func canTellTheDead(_ now: UInt64) -> Bool { isListening && now >= othersBackAt }

  func noteHeartbeat(at now: UInt64) {
    heartbeatAt = now
    heartbeatError = nil
  }

  func noteFailedHeartbeat(_ error: String) { heartbeatError = error }

  /// ns since the last sign of life that Redis took; `nil` before the first.
  func silence(_ now: UInt64) -> UInt64? { heartbeatAt.map { now - min($0, now) } }
}
