import CampaignStore

/// Applies the reports of apps and backends about users, devices and pushes, in the worker that holds the housekeeping
/// lease.
///
/// The result depends only on the times of the events. A page may therefore be applied twice, or by two workers at the
/// same time.
final class RegistrationIntake: WorkerPart {
  let environment: WorkerEnvironment
  private let membership: FleetMembership
  private let housekeeping: HousekeepingLease
  private let damage: DamageIsolator
  private var isApplying = false

  init(
    _ environment: WorkerEnvironment, membership: FleetMembership, housekeeping: HousekeepingLease,
    damage: DamageIsolator
  ) {
    self.environment = environment
    self.membership = membership
    self.housekeeping = housekeeping
    self.damage = damage
  }

  /// Applies the events of some lists in a separate task. Does nothing while events are being applied.
  func apply(_ lists: [EventList]) {
    guard !lists.isEmpty, !isApplying, !life.isFinished else { return }
    isApplying = true
    loop.start {
      await self.applyAll(lists)
      self.isApplying = false
    }
  }

  private func applyAll(_ lists: [EventList]) async {
    let intake = EventApplier(
      store: store, instance: membership.instance, apps: Set(environment.configuration.apps.keys),
      lastDeviceOnly: environment.configuration.lastDeviceOnly)
    do {
      var left = lists
      // The lists take turns, so that no list waits for the end of another one.
      while !left.isEmpty, housekeeping.isLeader, !life.isFinished {
        for list in left {
          let page = try await intake.applyPage(of: list, now: Int(now))
          if let first = page.dead.first {
            log.write(.eventsRefused(list: list, count: page.dead.count, reason: first.reason))
          }
          if page.superseded > 0 { log.write(.eventsSuperseded(list: list, count: page.superseded)) }
          if !page.hasMore { left.removeAll { $0 == list } }
        }
      }
    } catch {
      // The events stay on their list, and the next run starts again.
      log.report("could not apply events", error)
      await damage.repair(error)
    }
  }
}
