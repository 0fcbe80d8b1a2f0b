import CampaignStore
import PushCore
import PushTransport
import TestKit
import TestPushService
import Testing

@testable import PushWorker

@Suite struct RateTableTests {
  /// Returns an app with one service.
  private func app(_ quota: String?, rate: Double? = nil) -> AppChannel {
    let quota = quota.map { ServiceQuota(name: $0, perSecond: 10_000, rampSeconds: 60) }
    var channel = ServiceChannel(
      service: TextService(quota: quota), environment: "production", endpoint: PushEndpoint(url: "https://localhost"),
      credential: TextCredential("secret"))
    channel.rate = rate
    return AppChannel([channel])
  }

  private func limits(_ table: inout RateTable, _ apps: [String: AppChannel], _ name: String) throws -> [RateLimit] {
    let job = #"{"id":"a","app":"\#(name)","audience":{"segment":"*"},"text":{"payload":{"text":"Hello"}}}"#
    let campaign = try CampaignJob.parse(Array(job.utf8), .known([name: [TextService()]]))
    let app = try #require(apps[name])
    return table.limits(of: campaign, app, app.services[0])
  }

  @Test func appsShareAQuotaWithTheSmallestConfiguredRate() throws {
    let apps = [
      "a": app("text:p", rate: 700), "b": app("text:p", rate: 500), "c": app("text:p"), "d": app("text:q"),
      "e": app("text:r", rate: 12_000), "f": app("text:r"),
    ]
    var table = RateTable(apps)
    let limits = try "abcdef".map { try self.limits(&table, apps, String($0)) }
    expect(limits.allSatisfy { $0.count == 1 })
    expect(limits.map { $0[0].perSecond }, is: [500, 500, 500, 10_000, 12_000, 12_000])
    expect(limits[0][0] === limits[2][0] && limits[0][0] !== limits[3][0])
    expect(limits[4][0].subject, is: .quota(ServiceQuota(name: "text:r", perSecond: 12_000, rampSeconds: 60)))
    expect(table.quotas.keys.sorted(), is: ["text:p", "text:q", "text:r"])
  }

  @Test func serviceWithoutAQuotaHasTheRateOfItsApp() throws {
    let apps = ["a": app(nil, rate: 700), "b": app(nil)]
    var table = RateTable(apps)
    let limits = try self.limits(&table, apps, "a")
    expect(limits.map(\.subject) == [.app("a", service: "text")] && limits[0].perSecond == 700)
    expect(try self.limits(&table, apps, "b").isEmpty && table.quotas.isEmpty)
  }
}
