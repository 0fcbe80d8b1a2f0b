import CampaignStore
import EventLoop

/// Sends the worker's heartbeat to Redis. Passes the information in the answer to other parts: missed messages, and the
/// size of the fleet.
struct Heartbeat: WorkerPart {
  let environment: WorkerEnvironment
  let membership: FleetMembership
  let campaigns: CampaignTable
  let housekeeping: HousekeepingLease
  let references: OwnReferences
  let reporter: WorkerReporter
  let callClock: CallClock

  /// Sends a heartbeat.
  func give() async throws {
    let report = reporter.next()
    let pulse: Fleet.Heartbeat
    callClock.begin(EventLoop.now)
    defer { callClock.end() }
    do {
      pulse = try await sharedStore.fleet.heartbeat(
        worker: environment.configuration.name, timeout: environment.configuration.lease, report: report)
    } catch {
      reporter.invalidate()
      throw error
    }
    membership.recordHeartbeat(at: EventLoop.now)
    environment.setClock(pulse.now)
    environment.fleet = pulse.workers
    references.record(holdsSlices: pulse.holdsSlices)
    // Redis considered this worker dead and removed it from the list. The worker now repeats everything that it
    // normally publishes only once.
    if pulse.isNew {
      membership.hasJoined = false
      reporter.invalidate()
      campaigns.forgetEpoch()
    }
    if pulse.hasWork, WakeRule.triesToTake(1, fleet: environment.fleet) { wakeClaims() }
    if pulse.epoch != campaigns.epoch { signals.follower.wake() }
    if !pulse.hasHousekeeper {
      housekeeping.receivedNoLeader()
      signals.maintenance.wake()
    }
  }
}
