import CampaignStore
import PushCore
import TestKit
import Testing

@testable import PushTransport
@testable import PushWorker

/// Throttling of campaigns by the health of the app's backend.
@Suite struct BackendPaceTests {
  private static let least = 0.1

  /// Returns the states after these checks, one each second.
  private func play(
    _ findings: [HealthCheck.Finding], from start: BackendStatus = BackendStatus(app: "news", at: 0)
  ) -> [BackendStatus] {
    findings.enumerated().reduce(into: [start]) { all, check in
      all.append(
        BackendPace.after(all[all.count - 1], check.element, leastShare: Self.least, now: 1000 * (check.offset + 1)))
    }
  }

  private static let bad = HealthCheck.Finding.failing("status 503")

  @Test func oneBadCheckChangesNothing() {
    let statuses = play([.healthy, Self.bad, .healthy, .slow(milliseconds: 900), .healthy])
    expect(statuses.allSatisfy { $0.share == 1 && $0.since == nil && $0.reason == nil })
    expect(statuses.map(\.badChecks), is: [0, 0, 1, 0, 1, 0])
  }

  @Test func eachFurtherBadCheckHalvesTheShareDownToTheBound() {
    let statuses = play([Self.bad, Self.bad, Self.bad, .slow(milliseconds: 2000), Self.bad, Self.bad])
    expect(statuses.map(\.share), is: [1, 1, 0.5, 0.25, 0.125, Self.least, Self.least])
    expect(statuses.map(\.since), is: [nil, nil, 2000, 2000, 2000, 2000, 2000])
    expect(statuses[2].reason == "status 503" && statuses[4].reason == "it answers after 2000 ms")
    expect(statuses.map(\.at), is: [0, 1000, 2000, 3000, 4000, 5000, 6000])
  }

  @Test func eachGoodCheckAddsATenthUpToTheFullRate() {
    let slow = BackendStatus(app: "news", share: 0.1, badChecks: 7, since: 5, at: 0, reason: "status 503")
    let statuses = play(Array(repeating: .healthy, count: 10), from: slow)
    expect(statuses.map(\.share), is: [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1])
    expect(statuses[1].badChecks == 0 && statuses[8].since == 5 && statuses[8].reason == "status 503")
    expect(statuses[9].since == nil && statuses[9].reason == nil && !statuses[9].isSlowed)
    // During throttling a single bad check counts.
    expect(play([.healthy, Self.bad], from: slow).map(\.share), is: [0.1, 0.2, 0.1])
  }

  @Test func anAnswerIsJudgedByItsStatusAndItsTime() {
    let check = HealthCheck(url: "http://x", slowAfter: 500)
    expect(check.finding(status: 200, after: 500) == .healthy && check.finding(status: 204, after: 0) == .healthy)
    expect(check.finding(status: 200, after: 501), is: .slow(milliseconds: 501))
    expect(check.finding(status: 500, after: 1), is: .failing("status 500"))
    expect(
      check.finding(status: 302, after: 1),
      is: .failing("it redirects (status 302), and Carillon does not follow redirects"))
  }

  /// Uses a real connection to this machine, which has a private address.
  @Test func checkUsesTheConfiguredAddress() async throws {
    let server = try HealthServer(.status(200))
    let check = HealthCheck(url: server.url, slowAfter: 60_000, timeout: 60_000)
    expect(await check.run(), is: .healthy)
    server.set(.status(503))
    expect(await check.run(), is: .failing("status 503"))
    server.set(.redirect)
    expect(await check.run(), is: .failing("it redirects (status 302), and Carillon does not follow redirects"))
    expect(server.asked, is: ["health", "health", "health"])
    server.set(.silence)
    let impatient = HealthCheck(url: server.url, slowAfter: 50, timeout: 100)
    guard case .failing = await impatient.run() else {
      Issue.record("an answer that never came")
      return
    }
    await server.stop()
    guard case .failing = await check.run() else {
      Issue.record("an answer of a server that is gone")
      return
    }
  }

  // MARK: The worker's rate limit

  @Test func rateIsInForceWhileTheBackendIsUnhealthy() {
    let limit = RateLimit(.backend("news"), .perSecond(1000))
    let limits = [limit]
    expect(!limit.isInForce && limits.allowance == .max && limits.ahead == nil && limits.soon == .max)
    let slow = BackendStatus(app: "news", share: 0.25, since: 1, at: 1, reason: "status 503")
    expect(limit.follow(slow, rate: 1000) && limit.isInForce)
    expect(limits.allowance == 0 && limits.ahead == 500)
    expect(limit.rate, is: .perSecond(250))
    expect(limit.reason.contains("the backend of app news is unhealthy (status 503)") && limit.reason.contains("250"))
    expect(!limit.follow(slow, rate: 1000))
    // Permits that were requested before the limit was in force are returned without having been granted.
    limit.lease.reconcile(spent: 10, sent: 10)
    expect(limit.lease.reserved, is: 0)
    expect(limit.follow(nil, rate: 1000) && !limit.isInForce && limits.allowance == .max)
    expect(!limit.follow(nil, rate: 1000))
  }
}
