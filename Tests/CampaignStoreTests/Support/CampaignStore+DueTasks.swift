@testable import CampaignStore
import TestSupport

extension CampaignStore {
  /// Sends a heartbeat of a worker and returns its due work as the maintenance leader. A test's store has no other
  /// worker.
  func dueTasks(_ worker: String, timeout: Int = TestStore.patience) async throws -> Fleet.DueTasks {
    try await fleet.heartbeat(worker: worker, timeout: timeout)
    guard
      let dueTasks = try await fleet.housekeep(
        as: WorkerInstance(name: worker, nonce: "0"), timeout: timeout, beat: 250, idleBeat: 1000)
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
  func lead(as instance: WorkerInstance, idleBeat: Int? = nil) async throws -> Fleet.DueTasks {
    guard
      let dueTasks = try await store.fleet.housekeep(
        as: instance, timeout: Self.patience, beat: 250, idleBeat: idleBeat)
    else {
      throw TestSupportError("another worker is the maintenance leader")
    }
    try await command("SET", keys.housekeeper, instance.description, "PX", Self.patience)
    return dueTasks
  }

  /// Reports why a campaign waits. The report stays for the rest of the test; a real one expires after ten seconds.
  func noteWaiting(_ id: String, worker: String, reason: String, since: Int) async throws {
    try await store.campaigns.noteWaiting(id, worker: worker, reason: reason, since: since)
    try await command("PEXPIRE", keys.waiting(id), Self.patience)
  }
}
