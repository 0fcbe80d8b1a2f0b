@testable import CampaignStore
import PushCore
import TestKit
import Testing

@testable import PushWorker

/// The slices that dead workers have left.
@Suite struct AbandonedSliceListTests {
  private func slice(_ partition: Int) -> SliceReference { SliceReference(campaign: "a", partition: partition) }

  @Test func abandonedSlicesAreSoughtByCampaign() {
    var left = AbandonedSliceList()
    let other = SliceReference(campaign: "b", partition: 2)
    for slice in [slice(1), other, slice(3), slice(1), slice(4)] { left.add(slice, at: 1) }
    expect(left.next(1) { _ in false }, is: [slice(1), slice(3), slice(4)])
    expect(left.next(1) { $0 == "a" }, is: [other])
    // Other workers have the first of them.
    left.recordSearch([slice(1), slice(3), slice(4)], found: slice(3))
    expect(left.next(1) { _ in false }, is: [other])
    expect(left.next(1) { $0 == "b" }, is: [slice(4)])
    left.removeTaken([slice(4), slice(9)])
    left.recordSearch([other], found: nil)
    expect(left.isEmpty(1))
  }

  @Test func abandonedSlicesExpireAndAreBounded() {
    var left = AbandonedSliceList()
    left.add(slice(1), at: 1)
    expect(!left.isEmpty(AbandonedSliceList.memory))
    expect(left.isEmpty(1 + AbandonedSliceList.memory))
    expect(left.next(1 + AbandonedSliceList.memory) { _ in false }, is: [])
    for number in 2..<500 { left.add(slice(number), at: 1 + AbandonedSliceList.memory) }
    expect(left.next(2 + AbandonedSliceList.memory) { _ in false }, is: (2..<(2 + AbandonedSliceList.most)).map(slice))
  }
}
