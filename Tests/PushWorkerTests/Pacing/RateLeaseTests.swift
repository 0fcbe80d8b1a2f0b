import CampaignStore
import TestKit
import Testing

@testable import PushWorker

/// Permits of a rate that a worker may spend, and its requests for more.
@Suite struct RateLeaseTests {
  private static let millisecond: UInt64 = 1_000_000

  /// Requests permits, and is granted `leased` immediately.
  private func ask(_ lease: inout RateLease, _ wanted: Int, leased: Int, wait: Int = 0, at time: UInt64) throws {
    let asked = lease.request(wanted: wanted, now: time * Self.millisecond)
    _ = try #require(asked)
    lease.take(RateAnswer(leased: leased, wait: wait, perSecond: 1000), now: time * Self.millisecond)
  }

  private func use(_ lease: inout RateLease) -> Int {
    let count = lease.allowance
    lease.spend(count)
    lease.reconcile(spent: count, sent: count)
    return count
  }

  @Test func permitsAreReleasedInSteps() throws {
    var lease = RateLease()
    try ask(&lease, 1000, leased: 100, at: 1000)
    var used = [use(&lease)]
    for time in stride(from: 1025 as UInt64, through: 1125, by: 25) {
      lease.advance(time * Self.millisecond)
      used.append(use(&lease))
    }
    expect(used, is: [20, 20, 20, 20, 20, 0])
  }

  @Test func unusedPermitsAreReturnedWithTheNextRequest() throws {
    var lease = RateLease()
    try ask(&lease, 1000, leased: 100, at: 1000)
    lease.advance(1120 * Self.millisecond)
    // Two steps of five have passed.
    expect(lease.allowance, is: 40)
    let request = lease.request(wanted: 1000, now: 1125 * Self.millisecond)
    expect(request, is: RateLease.Request(wanted: 1, returned: 60))
    lease.take(nil, now: 1130 * Self.millisecond)
    lease.advance(1300 * Self.millisecond)
    expect(lease.allowance, is: 0)
    // Permits of a lost request are not returned again.
    expect(lease.request(wanted: 0, now: 1300 * Self.millisecond), is: RateLease.Request(wanted: 0, returned: 40))
  }

  @Test func requestIsLimitedToRecentUse() throws {
    var lease = RateLease()
    try ask(&lease, 1000, leased: 100, at: 1000)
    lease.spend(20)
    lease.reconcile(spent: 20, sent: 20)
    lease.advance(1124 * Self.millisecond)
    expect(lease.request(wanted: 1000, now: 1125 * Self.millisecond), is: RateLease.Request(wanted: 26, returned: 40))
  }

  @Test func returnedCreditIsReusableAndUnsentPushesAreReturned() throws {
    var lease = RateLease()
    try ask(&lease, 10, leased: 5, at: 1000)
    lease.advance(1124 * Self.millisecond)
    expect(lease.allowance, is: 2)
    lease.spend(2)
    expect(lease.allowance == 0 && lease.reserved == 2)
    lease.reconcile(spent: 2, sent: 1)
    expect(lease.allowance == 1 && lease.reserved == 0)
    lease.giveBack(7)
    expect(lease.request(wanted: 0, now: 1125 * Self.millisecond), is: RateLease.Request(wanted: 0, returned: 11))
  }

  @Test func asksOncePerSliceAndNotBeforeAPushIsDue() throws {
    var lease = RateLease()
    expect(lease.request(wanted: 0, now: 900 * Self.millisecond), is: nil)
    try ask(&lease, 10, leased: 1, wait: 1_000_000, at: 1000)
    expect(use(&lease), is: 1)
    expect(lease.request(wanted: 9, now: 1999 * Self.millisecond), is: nil)
    try ask(&lease, 9, leased: 1, wait: 10, at: 2000)
    expect(use(&lease), is: 1)
    expect(lease.request(wanted: 8, now: 2124 * Self.millisecond), is: nil)
    expect(lease.request(wanted: 8, now: 2125 * Self.millisecond) != nil)
    expect(lease.request(wanted: 8, now: 9000 * Self.millisecond), is: nil, "the last one is not answered")
  }

  @Test func workerWithoutTargetsReturnsPermitsImmediately() throws {
    var lease = RateLease()
    try ask(&lease, 10, leased: 10, at: 1000)
    expect(lease.finalRequest(1001 * Self.millisecond), is: RateLease.Request(wanted: 0, returned: 10))
    expect(lease.allowance, is: 0)
    expect(lease.finalRequest(1001 * Self.millisecond), is: nil)
  }

  @Test func rateIsTheLimitOnlyWhileAllPermitsAreUsed() throws {
    var lease = RateLease()
    func look(_ time: UInt64, wanted: Int = 1000) -> UInt64? {
      lease.advance(time * Self.millisecond)
      if lease.request(wanted: wanted, now: time * Self.millisecond) != nil {
        lease.take(RateAnswer(leased: 5, wait: 0, perSecond: 40), now: time * Self.millisecond)
      }
      return lease.limitedSince
    }
    expect(look(1000, wanted: 0), is: nil)
    expect(look(1005), is: 1005 * Self.millisecond)
    for time in stride(from: 1010 as UInt64, to: 1400, by: 5) {
      _ = use(&lease)
      expect(look(time), is: 1005 * Self.millisecond)
    }
    // The worker does not use its permits, because something else limits it.
    for time in stride(from: 1400 as UInt64, to: 1600, by: 5) { _ = look(time) }
    expect(lease.limitedSince, is: nil)
    // There is nothing to send.
    for time in stride(from: 1600 as UInt64, to: 1700, by: 5) {
      _ = use(&lease)
      _ = look(time)
    }
    expect(lease.limitedSince != nil)
    expect(look(1700, wanted: 0), is: nil)
  }

  /// The wait for the next push may be of any length.
  @Test func workerThatSentTheOnlyDuePushIsLimited() throws {
    var lease = RateLease()
    try ask(&lease, 1, leased: 1, wait: 1_000_000_000, at: 1000)
    expect(use(&lease), is: 1)
    expect(lease.request(wanted: 1, now: 1010 * Self.millisecond), is: nil)
    expect(lease.limitedSince != nil)
  }
}
