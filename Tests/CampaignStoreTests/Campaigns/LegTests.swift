import APNs
import PushCore
import Redis
import TestKit
import TestPushService
import TestSupport
import Testing

@testable import CampaignStore

/// Campaigns with legs for two push services: one expansion decides about each user for both.
@Suite(.takesTurns) struct LegTests {
  private static let text = TextService()
  private static let services = PushServices(
    standard: TestStore.service, others: [text], apps: ["news": [TestStore.service, text]])
  private static let apps = JobApps.any([TestStore.service, text])

  private struct World {
    let store: CampaignStore
    let world: TestStore
    let campaign: Campaign
    /// The campaigns of both legs, in their order.
    let legs: [Campaign]

    init(on backend: Backend, partitions: Int = 4, _ fields: String = "", audience: String = #"{"segment":"*"}"#)
      async throws
    {
      world = try await TestStore(on: backend, partitions: partitions)
      store = CampaignStore(redis: world.redis, keys: world.keys, services: LegTests.services)
      let job = Array(#"{"id":"a","app":"news","audience":\#(audience),"message":{"body":"Hi"}\#(fields)}"#.utf8)
      campaign = try CampaignJob.parse(job, LegTests.apps)
      expect(try await store.queue.activate(campaign, job: job, worker: "w"), is: .new)
      legs = try ["a~main-apns", "a~main-text"].map {
        try CampaignJob.part(CampaignID($0), of: job, LegTests.apps, start: 1_800_000_000)
      }
    }

    /// Registers users: every third has only a device of APNs, every third only one of the other service, the rest
    /// both.
    func register(_ count: Int) async throws {
      try await store.registry.register(
        (0..<count).flatMap { number in
          var devices: [DeviceRegistration] = []
          if number % 3 != 1 {
            var device = TestStore.device(number)
            device.lastSeen = UInt64(1_000_000 + number)
            devices.append(DeviceRegistration(user: "u\(number)", device: device))
          }
          if number % 3 != 0 {
            var device = DeviceRecord(token: Array("t:\(number)".utf8), service: "text")
            device.app = "news"
            device.registeredAt = 1000
            device.lastSeen = UInt64(1_000_500 - number)
            devices.append(DeviceRegistration(user: "u\(number)", device: device))
          }
          return devices
        })
    }

    func filter() -> DeviceFilter {
      let filters = legs.map {
        DeviceFilter(
          $0, service: LegTests.services[$0.service] ?? TestStore.service, environment: "production",
          start: 1_800_000_000_000)
      }
      return DeviceFilter(joining: filters[0], Array(filters.dropFirst()))
    }

    func ledger(_ leg: Int, _ partition: Int) -> SliceLedger {
      SliceLedger(
        store: store, slice: SliceReference(campaign: legs[leg].id, partition: partition), lease: TestStore.timeout,
        app: "news",
        service: LegTests.services[legs[leg].service], parts: legs.map(\.id))
    }

    /// Expands a slice of a leg.
    func expand(_ ledger: SliceLedger, _ leg: Int, quota: Int? = nil) async throws -> SealedTargets? {
      try await store.expansion.expand(
        ledger, of: legs[leg], filter: filter(), quota: quota)
    }

    /// Returns the partitions of a leg's open slices, in their order.
    func order(_ leg: Int) async throws -> [Int] {
      try await world.command("LRANGE", world.keys.open(legs[leg].id), 0, -1).compactMap(\.integer)
    }

    /// Returns a number of a leg's slice in the first partition.
    func number(_ field: String, _ leg: Int) async throws -> Int? {
      try await world.command("HGET", world.keys.slice(0, of: legs[leg].id), field).integer
    }

    /// Returns the users of a sealed slice.
    func users(_ leg: Int, _ partition: Int) async throws -> [String] {
      let ledger = ledger(leg, partition)
      let count = try await world.command("HGET", world.keys.slice(partition, of: legs[leg].id), "count").integer ?? 0
      let chunk = try await ledger.targets(from: 0, count: count)
      return chunk.places.indices.map { String(decoding: chunk.user($0), as: UTF8.self) }
    }
  }

  /// Claims a slice for a worker.
  private func claimed(_ ledger: SliceLedger, by worker: String) async throws -> SliceProgress {
    guard case .claimed(let progress) = try await ledger.claim(worker: worker) else {
      throw TestSupportError("the slice is not claimed")
    }
    return progress
  }

  @Test(arguments: Backend.allCases)
  func campaignForTwoServicesHasALegForEach(on backend: Backend) async throws {
    let world = try await World(on: backend)
    expect(world.campaign.parts.map(\.description), is: ["main-apns", "main-text"])
    let record = try #require(try await world.store.campaigns.find("a"))
    expect(record.legs == ["apns", "text"] && record.parts.map(\.service) == ["apns", "text"])
    expect(record.staging.partIDs, is: ["a~main-apns", "a~main-text"])
    let orders = try await (world.order(0), world.order(1))
    expect(orders.0 == orders.1.reversed() && orders.0.count == 4)
  }

  @Test(arguments: Backend.allCases)
  func oneExpansionSealsTheSlicesOfBothLegs(on backend: Backend) async throws {
    let world = try await World(on: backend, partitions: 1)
    try await world.register(300)
    let (first, second) = (world.ledger(0, 0), world.ledger(1, 0))
    _ = try await claimed(first, by: "w")
    _ = try await claimed(second, by: "v")
    let targets = try #require(try await world.expand(first, 0))
    expect(targets.count, is: 200)
    let users = try await (world.users(0, 0), world.users(1, 0))
    expect(users.0.count == 200 && users.1.count == 200)
    // The other worker expands as well. It finds its slice sealed, and its list is dropped.
    expect(try await world.expand(second, 1) == nil)
    expect(try await world.world.keyNames("*\(world.world.keys.namespace)*building*").isEmpty)
    let progress = try await claimed(second, by: "v")
    expect(progress.isSealed && progress.count == 200 && progress.seal == first.claim)
    // The breakdown of the audience is counted once: with the first leg.
    let counts = try await (world.number("users", 0), world.number("users", 1))
    expect(counts == (300, nil))
  }

  /// A worker that lost its claim before or during the expansion leaves no list with users and tokens.
  @Test(arguments: Backend.allCases, [20, 3000])
  func expansionWithoutAClaimLeavesNoList(on backend: Backend, users: Int) async throws {
    let world = try await World(on: backend, partitions: 1)
    try await world.register(users)
    let (stale, owner) = (world.ledger(0, 0), world.ledger(0, 0))
    _ = try await claimed(stale, by: "w")
    try await world.world.endLease(world.legs[0].id)
    _ = try await claimed(owner, by: "v")
    expect(try await world.expand(stale, 0) == nil)
    let lists = try await world.world.keyNames("*\(world.world.keys.namespace)*building*")
    expect(lists, is: [world.world.building(owner)])
    expect(try await world.expand(owner, 0)?.count, is: users * 2 / 3)
    expect(try await world.world.keyNames("*\(world.world.keys.namespace)*building*").isEmpty)
  }

  /// How the slice of an unfinished expansion continues.
  enum AfterExpansion: CaseIterable {
    /// Another worker claims the slice, because the first one died.
    case takenOver
    /// Another worker claims the slice in a batch.
    case takenOverInABatch
    /// The worker releases its claim.
    case released
    /// The campaign was cancelled, and the worker closes the slice.
    case cancelled
  }

  /// The expansion ends before each of its steps. No list with its users and tokens stays.
  @Test(arguments: Backend.allCases, AfterExpansion.allCases)
  func unfinishedExpansionLeavesNoList(on backend: Backend, after: AfterExpansion) async throws {
    var (step, isKilled, listsLeft) = (0, true, 0)
    while isKilled {
      let world = try await World(on: backend, partitions: 1, #","control":0.3"#)
      try await world.register(3000)
      let ledger = world.ledger(0, 0)
      _ = try await claimed(ledger, by: "dead")
      isKilled = try await KilledCaller.dies(before: step) { _ = try await world.expand(ledger, 0) }
      let pattern = "*\(world.world.keys.namespace)*building*"
      listsLeft = max(listsLeft, try await world.world.keyNames(pattern).count)
      var expected: Set<String> = []
      switch after {
      case .takenOver, .takenOverInABatch:
        try await world.world.endLease(world.legs[0].id)
        let next = world.ledger(0, 0)
        if after == .takenOver {
          _ = try await claimed(next, by: "next")
        } else {
          var batch = SliceBatch([next], store: world.store, of: world.legs[0], filter: world.filter())
          guard case .claimed = try await batch.claim(worker: "next", gracePeriod: 0)[0].get() else {
            throw TestSupportError("the slice is not claimed")
          }
        }
        if isKilled { expected = [world.world.building(next)] }
      case .released: try await ledger.unclaim()
      case .cancelled: _ = try await ledger.close(.cancel)
      }
      expect(Set(try await world.world.keyNames(pattern)), is: expected, "\(after), killed before step \(step)")
      step += 1
    }
    // The kills left lists for both legs.
    expect(step > 2 && listsLeft > 1)
  }

  /// A partition of several pages: the first round trip creates the other leg's list, which does not exist yet.
  @Test(arguments: Backend.allCases)
  func partitionOfSeveralPagesIsSealedForBothLegs(on backend: Backend) async throws {
    let world = try await World(on: backend, partitions: 1)
    try await world.register(6000)
    let (first, second) = (world.ledger(0, 0), world.ledger(1, 0))
    _ = try await claimed(first, by: "w")
    let targets = try #require(try await world.expand(first, 0))
    expect(targets.count, is: 4000)
    let progress = try await claimed(second, by: "v")
    expect(progress.isSealed && progress.count == 4000)
  }

  @Test(arguments: Backend.allCases)
  func latestDeviceOfAUserIsInOneLeg(on backend: Backend) async throws {
    let world = try await World(on: backend, partitions: 1, audience: #"{"segment":"*","devices":"latest"}"#)
    try await world.register(900)
    let ledger = world.ledger(1, 0)
    _ = try await claimed(ledger, by: "w")
    expect(try await world.expand(ledger, 1) != nil)
    let (apns, text) = (Set(try await world.users(0, 0)), Set(try await world.users(1, 0)))
    expect(apns.isDisjoint(with: text) && apns.count + text.count == 900)
    // Users with both devices: that of the other service was seen later by users below 250.
    expect(text.contains("u2") && apns.contains("u602"))
  }

  @Test(arguments: Backend.allCases)
  func limitCountsUsersOfAllLegs(on backend: Backend) async throws {
    let world = try await World(on: backend, partitions: 1, audience: #"{"segment":"*","limit":100}"#)
    try await world.register(900)
    let ledger = world.ledger(0, 0)
    _ = try await claimed(ledger, by: "w")
    let quotas = try #require(
      try await world.store.expansion.quotas(for: ledger.slice, of: world.legs[0], filter: world.filter()))
    expect(quotas[0], is: 100)
    let other = try await world.store.expansion.quotas(
      for: world.ledger(1, 0).slice, of: world.legs[1], filter: world.filter())
    expect(other, is: quotas)
    expect(try await world.expand(ledger, 0, quota: quotas[0]) != nil)
    let all = Set(try await world.users(0, 0)).union(try await world.users(1, 0))
    expect(all.count, is: 100)
  }

  @Test(arguments: Backend.allCases)
  func controlGroupIsTheSameInBothLegs(on backend: Backend) async throws {
    let world = try await World(on: backend, partitions: 1, #","control":0.3"#)
    try await world.register(600)
    let ledger = world.ledger(1, 0)
    _ = try await claimed(ledger, by: "w")
    expect(try await world.expand(ledger, 1) != nil)
    let reached = Set(try await world.users(0, 0)).union(try await world.users(1, 0))
    let control = try await (world.number("control", 0), world.number("control", 1))
    expect(reached.count + (control.0 ?? 0) == 600 && (120...240).contains(control.0 ?? 0) && control.1 == nil)
  }

  @Test(arguments: Backend.allCases)
  func partitionsAreFixedForBothLegsTogether(on backend: Backend) async throws {
    let world = try await World(on: backend, partitions: 64)
    try await world.register(3)
    expect(try await world.store.audiences.fixPartitions(of: world.legs[1]) != nil)
    let orders = try await (world.order(0), world.order(1))
    expect(orders.0 == orders.1.reversed() && (1...3).contains(orders.0.count))
    for leg in world.legs {
      let slices = try await world.world.command("HGET", world.world.keys.campaign(leg.id), "slices").integer
      expect(slices, is: orders.0.count)
    }
  }

  @Test(arguments: Backend.allCases)
  func lostSealIsRestoredForBothLegs(on backend: Backend) async throws {
    let world = try await World(on: backend, partitions: 1)
    try await world.register(300)
    let ledger = world.ledger(0, 0)
    _ = try await claimed(ledger, by: "w")
    let targets = try #require(try await world.expand(ledger, 0))
    let before = try await (world.users(0, 0), world.users(1, 0))
    // Redis loses its last writes.
    let keys = world.world.keys
    for leg in world.legs {
      _ = try await world.world.command("DEL", keys.slice(0, of: leg.id), keys.targets(0, leg.id))
    }
    let progress = try await claimed(ledger, by: "w")
    expect(!progress.isSealed)
    expect(try await world.store.expansion.restore(targets, of: ledger))
    let after = try await (world.users(0, 0), world.users(1, 0))
    expect(after == before)
  }

  /// The device was removed before, so only the campaign knows the token.
  @Test(arguments: Backend.allCases)
  func erasureRemovesTheTokenFromTheResultsOfEachLeg(on backend: Backend) async throws {
    let world = try await World(on: backend, partitions: 1)
    try await world.register(9)
    let ledger = world.ledger(0, 0)
    _ = try await claimed(ledger, by: "w")
    expect(try await world.expand(ledger, 0) != nil)
    // User u2 has a device of each service.
    let tokens: [(leg: Int, service: any PushService, bytes: [UInt8])] = [
      (0, TestStore.service, TestStore.device(2).token), (1, Self.text, Array("t:2".utf8)),
    ]
    for (leg, service, bytes) in tokens {
      let token = try #require(DeviceToken(bytes: bytes))
      let key = world.world.keys.results(0, world.legs[leg].id)
      try await world.world.command("HSET", key, service.text(of: token), "unregistered")
      _ = try await world.store.registry.unregister([token], of: service, at: world.store.time() / 1000)
    }
    _ = try await world.store.erasure.erase("u2")
    for leg in 0...1 {
      let key = world.world.keys.results(0, world.legs[leg].id)
      expect(try await world.world.command("HLEN", key).integer, is: 0, "leg \(leg)")
    }
  }

  @Test(arguments: Backend.allCases)
  func resultsNameTheServiceOfEachTarget(on backend: Backend) async throws {
    let world = try await World(on: backend, partitions: 1)
    try await world.register(9)
    let ledgers = [world.ledger(0, 0), world.ledger(1, 0)]
    for (leg, ledger) in ledgers.enumerated() {
      _ = try await claimed(ledger, by: "w")
      if leg == 0 { expect(try await world.expand(ledger, 0) != nil) }
      try await ledger.commit(credit: 6)
    }
    try await ledgers[0].commit(.accepted, 0..<6)
    // The code has another meaning, or none, at APNs.
    let gone = LedgerRecord(
      state: .terminal(.failed), attempt: 0, status: 404, reason: TextService.Word.gone.code, at: 5000)
    try await ledgers[1].commit(Dictionary(uniqueKeysWithValues: (0..<6).map { ($0, gone) }))

    var results: [TargetResult] = []
    try await world.store.results.forEachResult(of: "a") {
      results += $0
      return true
    }
    expect(results.count, is: 12)
    for result in results {
      let isText = result.token?.bytes.starts(with: "t:".utf8) == true
      expect(result.service, is: isText ? "text" : "apns")
      expect(result.reason, is: isText ? TextService.Word.gone.text : "")
    }
    let both = try await world.store.results.results(ofUser: "u2", in: "a")
    expect(both.map(\.service), is: ["apns", "text"])
    expect(both.map(\.reason), is: ["", TextService.Word.gone.text])
    let token = try #require(Self.text.token("t:2"))
    let result = try await world.store.results.result(of: token, "text", in: "a")
    expect(result?.user == "u2" && result?.reason == TextService.Word.gone.text)
    expect(try await world.store.results.result(of: token, "apns", in: "a") == nil)
    expect(try await world.store.results.result(of: TestStore.deviceToken(2), "apns", in: "a")?.user, is: "u2")
  }
}
