@testable import CampaignStore
import PushCore
import TestKit
import Testing

@testable import PushWorker

/// The references in a worker's own list.
@Suite struct OwnReferencesTests {
  private func slice(_ partition: Int) -> SliceReference { SliceReference(campaign: "a", partition: partition) }

  @Test func onlyReferencesListedTwiceInARowAreLeftOver() {
    let references = OwnReferences()
    let leftovers = [
      references.leftovers(listed: [slice(1), slice(2)], taken: [slice(1)]),
      references.leftovers(listed: [slice(2), slice(3)], taken: []),
      references.leftovers(listed: [slice(3)], taken: [slice(3)]),
    ]
    expect(leftovers, is: [[], [slice(2)], []])
  }
}
