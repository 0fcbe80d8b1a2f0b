import APNs
import FCM
import PushCore
import TestKit
import Testing

@testable import PushWorker

struct PushTallyTests {
  @Test func pushesAreCountedByServiceWithItsReasons() {
    let figures = WorkerFigures()
    let campaign = Campaign(id: "a", app: "news", audience: .users([]), payload: [])
    let tallies = [APNsService() as any PushService, FCMService()].map { figures.tally(of: campaign, $0) }
    tallies[0].count(refusal: Reason.unregistered.code)
    tallies[1].count(refusal: FCMReason.unregistered.code)
    expect(figures.tally(of: campaign, FCMService()) === tallies[1])
    let published = figures.tallies.map(\.published)
    expect(published.map(\.service), is: ["apns", "fcm"])
    expect(published.map(\.refusals), is: [["Unregistered": 1], ["UNREGISTERED": 1]])
  }
}
