@testable import CampaignStore
import APNs
import PushCore
import Redis
import TestKit
import TestPushService
import TestSupport
import Testing

/// Counts of an audience. Each user gets a push, is in a control group, or is left out for one reason.
struct AudienceCountTests {
  private typealias Edit = @Sendable (inout DeviceRecord) -> Void

  /// A user with devices, and the reason why the user gets nothing; `nil` if the user gets a push.
  private struct Row: Sendable {
    let user: String
    let devices: [Edit]
    let reason: ExclusionReason?

    init(_ user: String, _ reason: ExclusionReason?, _ devices: Edit...) {
      (self.user, self.reason, self.devices) = (user, reason, devices)
    }
  }

  private static let rows = [
    Row("plain", nil, { _ in }), Row("named", nil, { $0.app = "news" }),
    Row("unnamed", nil, { $0.app = "" }),
    Row("other-service", .noDeviceOfService, { $0.service = "text" }),
    Row("other-app", .noDeviceOfApp, { $0.app = "shop" }),
    Row("sandbox", .otherEnvironment, { $0.environment = "sandbox" }),
    Row("voip", .noTokenOfKind, { $0.kind = .voip }),
    Row("bad", .quarantined, { $0.isQuarantined = true }),
    Row("german", .notMatching, { $0.locale = "de" }),
    // The reason is that of the device that passed the most checks.
    Row("two", .notMatching, { $0.app = "shop" }, { $0.locale = "de" }),
    Row("three", .quarantined, { $0.isQuarantined = true }, { $0.service = "text" }, { $0.kind = .voip }),
    Row("one-of-two", nil, { $0.app = "shop" }, { _ in }),
    Row("gone", .noDevice), Row("refuses", .suppressed, { _ in }), Row("refuses-gone", .suppressed),
    Row("churned", .excluded, { _ in }), Row("churned-refuses", .excluded, { _ in }),
  ]

  private static let services = PushServices(standard: TestStore.service, others: [TextService()])

  private func register(in world: TestStore) async throws {
    var registrations: [DeviceRegistration] = []
    for row in Self.rows {
      for edit in row.devices {
        var device = TestStore.device(registrations.count)
        device.app = "news"
        device.locale = "en"
        edit(&device)
        registrations.append(DeviceRegistration(user: row.user, device: device))
      }
    }
    try await world.store.registry.register(registrations)
    try await world.store.audiences.add(Self.rows.map(\.user), to: "all")
    try await world.store.audiences.add(["churned", "churned-refuses"], to: "churned")
    try await world.store.audiences.add(
      ["refuses", "refuses-gone", "churned-refuses"], to: SuppressionList(app: "news").segment)
  }

  /// Runs with a segment and with a list, slice by slice and in a batch.
  @Test(arguments: Backend.allCases, [#""segment":"all""#, ""])
  func everyUserOfTheAudienceCountsOnce(on backend: Backend, source: String) async throws {
    let world = try await TestStore(on: backend, partitions: 4, services: Self.services)
    try await register(in: world)
    let list = #""users":[\#(Self.rows.map { "\"\($0.user)\"" }.joined(separator: ","))]"#
    let audience =
      "{\(source.isEmpty ? list : source),\"where\":\"locale = 'en'\",\"exclude\":{\"segment\":\"churned\"}}"
    let campaign = try await world.activate("c", audience: audience)
    let filter = DeviceFilter(campaign, service: TestStore.service, environment: "production", start: 5000)
    for partition in 0..<4 {
      let slice = SliceReference(campaign: "c", partition: partition)
      if partition % 2 == 0 {
        let ledger = try await world.claimed("c", partition).ledger
        expect(try await world.store.expansion.expand(ledger, of: campaign, filter: filter) != nil)
      } else {
        let ledger = SliceLedger(store: world.store, slice: slice, lease: TestStore.timeout, app: "news")
        var batch = SliceBatch([ledger], store: world.store.pinned(), of: campaign, filter: filter)
        _ = try await batch.claim(worker: "w", gracePeriod: 0)
        _ = try await batch.expand([0])
        expect(try await batch.seal([(0, 0)])[0].get().isSealed)
      }
    }
    let counters = try #require(try await world.store.campaigns.show("c")).counters
    var expected = AudienceCount()
    for row in Self.rows {
      if let reason = row.reason { expected[reason] += 1 } else { expected.users += 1 }
    }
    expect(counters.audience, is: expected, "\(counters.audience.reasons)")
    expect(counters.meant, is: Self.rows.count)
  }
}
