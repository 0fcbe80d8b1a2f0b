@testable import CampaignStore
import PushCore
import PushTransport
import TestKit
import Testing

@testable import PushWorker

/// Times of health checks of backends.
@Suite struct BackendScheduleTests {
  @Test func backendIsCheckedAtItsIntervalAndNotTwiceAtATime() {
    var schedule = BackendSchedule()
    let backend = AppBackend(
      check: HealthCheck(url: "http://x", slowAfter: 500), interval: 1000, rate: 10, leastShare: 0.1)
    // The first check of "news" hangs and does not delay the other backend.
    let whileItHangs = [
      schedule.begin("news", backend, 0), schedule.begin("news", backend, 5_000_000_000),
      schedule.begin("shop", backend, 0),
    ]
    expect(whileItHangs, is: [true, false, true])
    schedule.end("shop")
    let afterwards = [
      schedule.begin("shop", backend, 999_999_999), schedule.begin("shop", backend, 1_000_000_000),
      schedule.begin("news", backend, 5_000_000_000),
    ]
    expect(afterwards, is: [false, true, false])
    schedule.end("news")
    let isAskedAgain = schedule.begin("news", backend, 5_000_000_000)
    expect(isAskedAgain)
  }
}
