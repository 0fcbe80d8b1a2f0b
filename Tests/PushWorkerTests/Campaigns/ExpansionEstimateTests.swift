@testable import CampaignStore
import PushCore
import TestKit
import Testing

@testable import PushWorker

/// The estimated number of targets of a slice.
@Suite struct ExpansionEstimateTests {
  @Test func estimateFollowsRecentExpansions() {
    var expansion = ExpansionEstimate()
    expect(expansion.targetsPerSlice, is: nil)
    expansion.addExpanded(targets: 0)
    expect(expansion.targetsPerSlice, is: 1)
    for _ in 0..<256 { expansion.addExpanded(targets: 100) }
    for _ in 0..<512 { expansion.addExpanded(targets: 10) }
    expect(expansion.targetsPerSlice ?? 100 < 40, "what was long ago counts less")
  }
}
