import PushTransport
import CampaignStore
import EventLoop
import PushCore

/// Keeps this worker present in the fleet: its heartbeat, its listing, and what it looks after in its own name.
struct PresenceLoop: WorkerPart {
  let environment: WorkerEnvironment
  let membership: FleetMembership
  let messages: FleetMessages
  let heartbeat: Heartbeat
  let upkeep: OwnUpkeep
  let routes: PushRouteTable
  let failover: FailoverService
  let damage: DamageIsolator

  /// ms between signs of life while there is something in hand.
  private static let pulseInterval = 1000
  /// ms between signs of life of a worker that has nothing to do.
  private static let idlePulseInterval = 2500
  /// ms between looks which server answers, on the same connections, of a worker that knows nothing that it may forget.
  private static let idleServerInterval = 60_000
  /// Whether the worker has nothing in hand, and nothing left to look after.
  var isIdle: Bool { upkeep.isIdle }

  /// Subscribes to the fleet's messages, and lists this worker.
  func enter(on events: EventLoop) async throws {
    // Before it is listed: a worker that is listed and does not listen is dead.
    await messages.listen(on: events)
    try await failover.begin { try await messages.join() }
    // Listed before anything is taken: others look for what a worker left behind only if it is.
    try await failover.begin { try await heartbeat.give() }
  }

  /// Takes this worker off the fleet's list.
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
      failover.noteRunning(EventLoop.now)
      do {
        // Before anything that is left in our name is looked at: Redis may have forgotten that it is ours.
        if await !isServerKnown() { await failover.checkServer() }
        try await heartbeat.give()
        if membership.isListening, !membership.hasJoined { try await messages.join() }
        try await upkeep.run()
        routes.reportConnections(to: log)
      } catch {
        membership.noteFailedHeartbeat("\(error)")
        log.report("sign of life failed", error)
        await damage.mend(error)
        if await !isServerKnown() { await failover.checkServer() }
      }
      guard !life.isFinished else { return }
      // Two of them are within a lease, also when one is late.
      let interval = min(
        upkeep.isIdle ? Self.idlePulseInterval : Self.pulseInterval, max(50, environment.configuration.lease * 5 / 12))
      await signals.heartbeat.wait(milliseconds: interval, on: loop)
    }
  }

  /// Whether the servers were looked at lately: each second while there is anything that Redis may forget, and whenever there is a
  /// new connection.
  private func isServerKnown() async -> Bool {
    await failover.knowsServers(since: upkeep.isIdle ? Self.idleServerInterval : Self.pulseInterval)
  }
}
