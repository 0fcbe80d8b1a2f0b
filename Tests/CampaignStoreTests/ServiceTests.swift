@testable import CampaignStore
import APNs
import PushCore
import Redis
import TestKit
import TestPushService
import Testing

/// Independence of the store from push services. It stores the data of any service and gets texts from the service.
struct ServiceTests {
  private static let service = TextService()
  private static let services = PushServices(
    standard: TestStore.service, others: [service], apps: ["web": [service]])
  private static let gone = TextService.Word.gone.code
  /// Tokens up to the maximum length, and with lengths that exceed one byte.
  private static let tokens = [2048, 300, 5, 40].enumerated().map { number, length in
    "t:\(number)" + String(repeating: "x", count: length - 3)
  }

  @Test(arguments: Backend.allCases)
  func campaignOfAnotherServiceHasItsTexts(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 4)
    let store = CampaignStore(redis: world.redis, keys: world.keys, services: Self.services)
    let tokens = try Self.tokens.map { try #require(Self.service.token($0)) }
    expect(tokens[0].bytes.count, is: DeviceToken.maximumLength)
    try await store.registry.register(
      tokens.enumerated().map { number, token in
        var device = DeviceRecord(token: token.bytes, service: "text")
        device.registeredAt = 1000
        return DeviceRegistration(user: "u\(number)", device: device)
      } + [DeviceRegistration(user: "u0", device: TestStore.device(1))])
    expect(try await store.registry.owners(of: tokens, Self.service), is: ["u0", "u1", "u2", "u3"])
    for token in tokens {
      // Programs in other languages look for the token in the partition of the CRC16 of its text.
      let partition = Int(CRC16.of(Self.service.text(of: token))) % 4
      expect(try await world.command("HEXISTS", world.keys.owner(partition), token.bytes).integer, is: 1)
    }
    try await answer(store)
    for (number, text) in Self.tokens.enumerated() {
      let partition = Partition.of(user: "u\(number)", count: 4)
      let line = try await world.command("HGET", world.keys.results(partition, "a"), text).string
      expect(line, is: "unregistered 404 \(number == 2 ? "moved" : "GONE") 5000")
    }
    var results: [String: String] = [:]
    try await store.results.forEachResult(of: "a") { page in
      for result in page { results[Self.service.text(of: try #require(result.token))] = result.reason }
      return true
    }
    expect(Set(results.keys), is: Set(Self.tokens))
    expect(results[Self.tokens[0]] == "GONE" && results[Self.tokens[2]] == "moved")
    try await store.results.deliverFeedback(from: 0..<4)
    expect(try await store.registry.owners(of: tokens, Self.service), is: [nil, nil, nil, nil])
    let observed = try await world.command("LRANGE", world.keys.feedback, 0, -1).compactMap(\.string)
    expect(observed.count, is: 4)
    for text in Self.tokens { expect(observed.contains { $0.contains("\"token\":\"\(text)\"") }) }
    // The APNs device of the same user was not a target.
    expect(try await store.registry.user("u0")?.devices.map(\.service), is: ["apns"])
  }

  /// Sends to all users of the service. The service answers that each token is gone.
  private func answer(_ store: CampaignStore) async throws {
    let job = Array(
      TestStore.job("a", audience: #"{"segment":"*"}"#).split(separator: Array("news".utf8)).joined(
        separator: Array("web".utf8)))
    var campaign = try CampaignJob.parse(job, .any([APNsService()]))
    campaign.legs = [CampaignLeg(service: Self.service.name)]
    expect(try await store.queue.activate(campaign, job: job, worker: "w", narrowed: true), is: .new)
    expect(try await store.campaigns.find("a")?.service, is: "text")
    let filter = DeviceFilter(
      service: Self.service.name, kind: Self.service.tokenKind(for: campaign), app: "web", environment: "")
    while let slice = try await store.slices.dequeueSlice(worker: "w") {
      let ledger = SliceLedger(store: store, slice: slice, lease: TestStore.timeout, app: "web", service: Self.service)
      _ = try await ledger.claim(worker: "w")
      let count = try #require(try await store.expansion.expand(ledger, of: campaign, filter: filter)).count
      try await ledger.commit(credit: count)
      let chunk = try await ledger.targets(from: 0, count: count)
      var batch = OutcomeBatch()
      for position in 0..<chunk.count {
        let hasCode = !chunk.user(position).elementsEqual("u2".utf8)
        let record = LedgerRecord(
          state: .terminal(.unregistered), status: 404, reason: hasCode ? Self.gone : .other, at: 5000)
        batch.append(
          record, at: position, action: .prune, token: chunk.token(position), user: chunk.user(position),
          timestamp: 5000, keepsResult: true, unknownReason: hasCode ? "" : "moved")
      }
      _ = try await ledger.commit(&batch, credit: 0)
    }
  }

  @Test(arguments: Backend.allCases)
  func deviceOfAnUnknownServiceIsRefused(on backend: Backend) async throws {
    let world = try await TestStore(on: backend)
    let device = DeviceRecord(token: [1, 2, 3], service: "text")
    let error = await #expect(throws: StoreError.self) {
      try await world.store.registry.register([DeviceRegistration(user: "x", device: device)])
    }
    expect(error?.code == .mismatch && error?.message.contains("'text'") == true)
  }

  @Test(arguments: Backend.allCases)
  func sliceOfAnotherVersionIsNeitherClaimedNorRead(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    let ledger = try await world.sealed("a", count: 3)
    try await ledger.unclaim()
    try await world.command("HSET", world.keys.slice(0, of: "a"), "format", TargetPage.formatVersion + 1)
    let before = try await world.slice("a").text
    for refused in [
      await #expect(throws: StoreError.self) { try await world.claimed("a") },
      await #expect(throws: StoreError.self) { try await world.store.results.forEachResult(of: "a") { _ in true } },
    ] {
      expect(refused?.code, is: .mismatch)
      expect(refused?.hint.contains("the version of Carillon that sealed it"), is: true)
    }
    expect(try await world.slice("a").text, is: before)
  }

  @Test(arguments: Backend.allCases)
  func deviceWithTooManyAttributesIsRefused(on backend: Backend) async throws {
    let world = try await TestStore(on: backend)
    var device = TestStore.device(1)
    device.attributes = ["key": String(repeating: "x", count: 65_000)]
    let fits = device
    expect(try await world.store.registry.register([DeviceRegistration(user: "x", device: fits)]), is: [true])
    expect(try await world.store.registry.user("x")?.devices, is: [fits])
    device.attributes["more"] = String(repeating: "x", count: 1000)
    let tooLong = device
    let error = await #expect(throws: StoreError.self) {
      try await world.store.registry.register([DeviceRegistration(user: "x", device: tooLong)])
    }
    expect(error?.code, is: .invalid)
  }
}
