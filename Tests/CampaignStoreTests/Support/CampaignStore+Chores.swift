@testable import CampaignStore
import TestSupport

extension CampaignStore {
  /// A heartbeat of a worker, and what it is told as the housekeeper: there is no other in a test's store.
  func chores(_ worker: String, timeout: Int) async throws -> Fleet.Chores {
    try await fleet.heartbeat(worker: worker, timeout: timeout)
    guard
      let chores = try await fleet.housekeep(
        as: WorkerInstance(name: worker, nonce: "0"), timeout: timeout, beat: 250, idleBeat: 1000)
    else {
      throw TestSupportError("another worker keeps house")
    }
    return chores
  }
}
