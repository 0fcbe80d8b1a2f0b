@testable import CampaignStore
import TestSupport

extension CampaignStore {
  /// Sends a heartbeat of a worker and returns its due work as the maintenance leader. A test's store has no other
  /// worker.
  func chores(_ worker: String, timeout: Int) async throws -> Fleet.Chores {
    try await fleet.heartbeat(worker: worker, timeout: timeout)
    guard
      let chores = try await fleet.housekeep(
        as: WorkerInstance(name: worker, nonce: "0"), timeout: timeout, beat: 250, idleBeat: 1000)
    else {
      throw TestSupportError("another worker is the maintenance leader")
    }
    return chores
  }
}
