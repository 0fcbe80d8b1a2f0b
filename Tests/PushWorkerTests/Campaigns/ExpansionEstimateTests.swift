@testable import CampaignStore
import PushCore
import Testing

@testable import PushWorker

/// The estimated number of targets of a slice.
@Suite struct ExpansionEstimateTests {
  @Test func estimateFollowsRecentExpansions() {
    var expansion = ExpansionEstimate()
    #expect(expansion.targetsPerSlice == nil)
    expansion.noteExpanded(targets: 0)
    #expect(expansion.targetsPerSlice == 1)
    for _ in 0..<256 { expansion.noteExpanded(targets: 100) }
    for _ in 0..<512 { expansion.noteExpanded(targets: 10) }
    #expect(expansion.targetsPerSlice ?? 100 < 40, "what was long ago counts less")
  }
}
