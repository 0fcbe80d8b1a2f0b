import PushTransport
import CampaignStore
import EventLoop
import PushCore

/// Maintains this worker's presence in the fleet: sends its heartbeats, keeps it in the list of workers, and runs its
/// regular tasks.
struct PresenceLoop: WorkerPart {
  let environment: WorkerEnvironment
  let membership: FleetMembership
  let messages: FleetMessages
  let heartbeat: Heartbeat
  let regularTasks: RegularTasks
  let routes: PushRouteTable
  let failover: FailoverService
  let damage: DamageIsolator

  /// Time in ms between heartbeats of a busy worker.
  private static let pulseInterval = 1000
  /// Time in ms between heartbeats of an idle worker.
  private static let idlePulseInterval = 2500
  /// Time in ms between checks of the servers while connections are unchanged and the worker has no writes that Redis
  /// may lose.
  private static let idleServerInterval = 60_000
  /// Whether the worker holds no slice and has no regular task.
  var isIdle: Bool { regularTasks.isIdle }

  /// Subscribes to the fleet's messages, and adds this worker to the list of workers.
  func enter(on events: EventLoop) async throws {
    // The worker subscribes before it is added to the list, because a listed worker without a subscription counts as
    // dead.
    await messages.listen(on: events)
    try await failover.begin { try await messages.join() }
    // The worker is listed before it takes slices, because other workers take over only the slices of listed workers.
    try await failover.begin { try await heartbeat.give() }
  }

  /// Removes this worker from the fleet's list.
  func leave() async {
    try? await sharedStore.fleet.removeWorker(membership.instance.name, nonce: membership.instance.nonce)
    await unsubscribe()
  }

  /// Ends the subscription to the fleet's messages.
  func unsubscribe() async { await membership.listener?.close() }

  /// Runs until the worker has finished.
  func run() async {
    while !life.isFinished {
      signals.heartbeat.reset()
      failover.recordRunning(EventLoop.now)
      do {
        // The servers are checked before the worker's own list, because Redis may have lost the claims of this worker.
        if await !isServerKnown() { await failover.checkServer() }
        try await heartbeat.give()
        if membership.isListening, !membership.hasJoined { try await messages.join() }
        try await regularTasks.run()
        routes.reportConnections(to: log)
      } catch {
        membership.recordFailedHeartbeat("\(error)")
        log.report("heartbeat failed", error)
        await damage.repair(error)
        if await !isServerKnown() { await failover.checkServer() }
      }
      guard !life.isFinished else { return }
      // Two heartbeats fit into a lease, even if one of them is late.
      let interval = min(
        regularTasks.isIdle ? Self.idlePulseInterval : Self.pulseInterval,
        max(50, environment.configuration.lease * 5 / 12))
      await signals.heartbeat.wait(milliseconds: interval, on: loop)
    }
  }

  /// Returns whether the servers were checked recently. They are checked each second while Redis may lose writes of
  /// this worker, and after each new connection.
  private func isServerKnown() async -> Bool {
    await failover.knowsServers(since: regularTasks.isIdle ? Self.idleServerInterval : Self.pulseInterval)
  }
}
