import CampaignStore

/// A worker's membership in the fleet: its instance, its subscription, and its last heartbeat. Times are in ns of
/// `EventLoop.now`. Confined to the worker's loop.
final class FleetMembership {
  /// The name of the worker, and the random id of this process.
  var instance: WorkerInstance
  /// The subscription to the wake-up channel.
  var listener: WakeListener?
  var isListening = false
  /// Whether other workers know that this worker listens.
  var hasJoined = false
  /// Time from which a worker without a subscription counts as dead again.
  private var othersBackAt: UInt64 = 0
  /// Time of the last heartbeat that Redis accepted.
  private var heartbeatAt: UInt64?
  /// The error of the latest heartbeat; `nil` if Redis accepted it.
  private(set) var heartbeatError: String?

  init(_ instance: WorkerInstance) {
    self.instance = instance
  }

  /// Ignores missing subscriptions of other workers until this time. After an outage or a restart of Redis, all workers
  /// must subscribe again, which takes time.
  func expectOthers(by moment: UInt64) { othersBackAt = moment }

  /// Returns whether a worker without a subscription counts as dead now.
  func canDetectDeadWorkers(_ now: UInt64) -> Bool { isListening && now >= othersBackAt }

  func recordHeartbeat(at now: UInt64) {
    heartbeatAt = now
    heartbeatError = nil
  }

  func recordFailedHeartbeat(_ error: String) { heartbeatError = error }

  /// Returns the time in ns since the last heartbeat that Redis accepted; `nil` before the first.
  func silence(_ now: UInt64) -> UInt64? { heartbeatAt.map { now - min($0, now) } }
}
