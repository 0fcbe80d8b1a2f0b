@testable import CampaignStore
import PushCore
import TestKit
import Testing

@testable import PushWorker

/// State of a worker's membership in the fleet.
@Suite struct FleetMembershipTests {
  @Test func deafWorkerDeclaresNoOtherDead() {
    var chance = SystemRandomNumberGenerator()
    let membership = FleetMembership(WorkerInstance(name: "w", using: &chance))
    expect(!membership.canDetectDeadWorkers(10))
    membership.isListening = true
    expect(membership.canDetectDeadWorkers(10))
    membership.expectOthers(by: 20)
    expect(!membership.canDetectDeadWorkers(19))
    expect(membership.canDetectDeadWorkers(20))
  }

  @Test func silenceCountsFromTheLastAcceptedHeartbeat() {
    var chance = SystemRandomNumberGenerator()
    let membership = FleetMembership(WorkerInstance(name: "w", using: &chance))
    expect(membership.silence(5), is: nil)
    membership.recordHeartbeat(at: 10)
    membership.recordFailedHeartbeat("Redis is away")
    expect(membership.silence(25), is: 15)
    expect(membership.heartbeatError, is: "Redis is away")
    membership.recordHeartbeat(at: 30)
    expect(membership.silence(29), is: 0, "a clock that was read before")
    expect(membership.heartbeatError, is: nil)
  }
}
