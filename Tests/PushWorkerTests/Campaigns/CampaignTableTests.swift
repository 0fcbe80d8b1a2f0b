@testable import CampaignStore
import PushCore
import TestKit
import Testing

@testable import PushWorker

/// The campaigns that the worker holds.
@Suite struct CampaignTableTests {
  @Test func resumeIsReportedOncePerGeneration() {
    let campaigns = CampaignTable()
    let observed = [0, 1, 1, 2, 1].map { campaigns.recordRound($0, of: "a") }
    expect(observed, is: [false, true, false, true, true])
    // The worker held nothing of the campaign, so the pause does not concern it.
    let isNews = campaigns.record(.paused, of: "a", at: 0)
    expect(!isNews)
  }

  @Test func controlIsRememberedWhileRedisMayLoseIt() {
    let campaigns = CampaignTable()
    campaigns.record(.paused, of: "a", at: 0)
    campaigns.record(.cancelled, of: "b", at: 1_000_000_000)
    campaigns.record(.active, of: "c", at: 1_000_000_000)
    expect(campaigns.recent.map(\.id).sorted(), is: ["a", "b"])
    expect(campaigns.recent.first { $0.id == "b" }?.verb, is: .cancel)
    // A repeated observation does not renew the time.
    campaigns.record(.paused, of: "a", at: 3_000_000_000)
    campaigns.removeDurable(before: 3_500_000_000)
    expect(campaigns.recent.map(\.id), is: ["b"])
    campaigns.record(.active, of: "b", at: 3_600_000_000)
    expect(campaigns.recent.isEmpty)
  }

  @Test func epochIsFollowedOnce() {
    let campaigns = CampaignTable()
    let isNews = [campaigns.sync(0), campaigns.sync(0), campaigns.sync(3)]
    expect(isNews, is: [true, false, true])
    expect(campaigns.epoch, is: 3)
  }

  @Test func campaignIsPausedOnceAtATime() {
    let campaigns = CampaignTable()
    var begins = [campaigns.beginPause("a"), campaigns.beginPause("a")]
    campaigns.endPause("a")
    begins.append(campaigns.beginPause("a"))
    expect(begins, is: [true, false, true])
  }
}
