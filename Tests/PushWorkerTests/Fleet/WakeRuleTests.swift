@testable import CampaignStore
import PushCore
import TestKit
import Testing

@testable import PushWorker

/// The number of workers of a fleet that look for slices and jobs.
@Suite struct WakeRuleTests {
  @Test func onlyAFewWorkersLookForEachSlice() {
    let looking = { (slices: Int, fleet: Int) in
      (0..<fleet).count { WakeRule.triesToTake(slices, roll: $0) }
    }
    expect([looking(1, 3), looking(1, 500), looking(10, 500), looking(256, 500)], is: [3, 4, 40, 500])
    expect(looking(.max, 500), is: 500)
  }

  @Test func onlySixteenWorkersBlockOnIntake() {
    let waiting = { (fleet: Int) in (0..<fleet).count { WakeRule.waitsForJobs(roll: $0) } }
    expect([waiting(1), waiting(16), waiting(500)], is: [1, 16, 16])
  }
}
