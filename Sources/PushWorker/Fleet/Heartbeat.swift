import CampaignStore
import EventLoop

/// Gives the worker's heartbeat, and passes on what its answer says: messages that did not arrive, and the size of the fleet.
final class Heartbeat: WorkerPart {
  let environment: WorkerEnvironment
  private let membership: FleetMembership
  private let campaigns: CampaignTable
  private let housekeeping: HousekeepingLease
  private let references: OwnReferences
  private let reporter: WorkerReporter
  private let callClock: CallClock

  init(
    _ environment: WorkerEnvironment, membership: FleetMembership, campaigns: CampaignTable,
    housekeeping: HousekeepingLease, references: OwnReferences, reporter: WorkerReporter, callClock: CallClock
  ) {
    self.environment = environment
    self.membership = membership
    self.campaigns = campaigns
    self.housekeeping = housekeeping
    self.references = references
    self.reporter = reporter
    self.callClock = callClock
  }

  /// Gives a heartbeat.
  func give() async throws {
    let report = reporter.next()
    let pulse: CampaignStore.Heartbeat
    callClock.begin(EventLoop.now)
    defer { callClock.end() }
    do {
      pulse = try await sharedStore.heartbeat(
        worker: configuration.name, timeout: configuration.lease, report: report)
    } catch {
      reporter.forget()
      throw error
    }
    membership.noteHeartbeat(at: EventLoop.now)
    environment.setClock(pulse.now)
    environment.fleet = pulse.workers
    references.note(holdsSlices: pulse.holdsSlices)
    // Taken for dead meanwhile, and not listed any more: what is listed once is listed again.
    if pulse.isNew {
      membership.hasJoined = false
      reporter.forget()
      campaigns.forgetEpoch()
    }
    if pulse.hasWork, WakeRule.looks(for: 1, fleet: environment.fleet) { wakeClaims() }
    if pulse.epoch != campaigns.epoch { signals.follower.ring() }
    if !pulse.hasHousekeeper {
      housekeeping.heardOfNone()
      signals.maintenance.ring()
    }
  }
}
