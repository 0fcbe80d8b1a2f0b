@testable import CampaignStore
import TestSupport

extension CampaignStore {
  /// Sends a heartbeat of a worker and returns its due work as the maintenance leader. A test's store has no other
  /// worker.
  func dueTasks(_ worker: String, timeout: Int = TestStore.timeout) async throws -> Fleet.DueTasks {
    try await fleet.heartbeat(worker: worker, timeout: timeout)
    guard
      let dueTasks = try await fleet.housekeep(
        as: WorkerInstance(name: worker, nonce: "0"), timeout: timeout, signalInterval: 250, idleSignalDelay: 1000)
    else {
      throw TestSupportError("another worker is the maintenance leader")
    }
    return dueTasks
  }
}

extension TestStore {
  /// Makes a worker the maintenance leader for the rest of the test. A real lease can expire between two steps of a
  /// test, if the machine is busy.
  @discardableResult
  func lead(as instance: WorkerInstance, idleSignalDelay: Int? = nil) async throws -> Fleet.DueTasks {
    guard
      let dueTasks = try await store.fleet.housekeep(
        as: instance, timeout: Self.timeout, signalInterval: 250, idleSignalDelay: idleSignalDelay)
    else {
      throw TestSupportError("another worker is the maintenance leader")
    }
    try await command("SET", keys.housekeeper, instance.description, "PX", Self.timeout)
    return dueTasks
  }

  /// Reports why a campaign waits. The report stays for the rest of the test; a real one expires after ten seconds.
  func reportWaiting(_ id: String, worker: String, reason: String, since: Int) async throws {
    try await store.campaigns.reportWaiting(id, worker: worker, reason: reason, since: since)
    try await command("PEXPIRE", keys.waiting(id), Self.timeout)
  }
}
