@testable import CampaignStore
import APNs
import PushCore
import Redis
import TestKit
import TestSupport
import Testing

/// Change of a store's number of partitions. Nothing is lost, all data moves to its new place, and no campaign begins
/// during the change.
struct RepartitionTests {
  private static let users = 0..<60

  @Test(arguments: Backend.allCases, [7, 8, 64])
  func allDataIsInItsNewPartition(on backend: Backend, count: Int) async throws {
    let world = try await TestStore(on: backend, partitions: 4)
    try await fill(world)
    let spread = try await world.store.repartition.lock(for: count)
    expect(spread, is: count)
    let tally = try await world.store.repartition.change(to: count, spread: spread)
    let new = try await TestStore(opening: world)
    expect(new.keys.partitions, is: count)
    expect(tally.users, is: Self.users.count { Self.moves("u\($0)", from: 4, to: count) })
    expect(tally.tokens, is: Self.users.count { Self.moves(TestStore.text($0), from: 4, to: count) })
    try await expectAll(in: new)
  }

  @Test(arguments: Backend.allCases, [0, 1, 3])
  func interruptedChangeContinuesOrIsUndone(on backend: Backend, passed: Int) async throws {
    struct Interruption: Error {}
    let world = try await TestStore(on: backend, partitions: 4)
    try await fill(world)
    for (count, ends) in [(9, false), (16, false), (4, true), (16, false), (16, true)] {
      let store = try await world.store.open(creating: false, adopting: true, acceptingLocked: true)
      let spread = try await store.repartition.lock(for: count)
      do {
        _ = try await store.repartition.change(to: count, spread: spread) { _, done in
          if !ends, done > passed { throw Interruption() }
        }
        expect(ends)
      } catch is Interruption {
        expect(try await store.repartition.lockedPartitions(), is: count)
      }
      if ends { try await expectAll(in: TestStore(opening: world), names: "after-\(count)") }
    }
  }

  /// A registration that began before the hold and is written during it.
  @Test(arguments: Backend.allCases)
  func registrationDuringTheChangeMovesToo(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 2, users: 0..<40)
    let spread = try await world.store.repartition.lock(for: 32)
    _ = try await world.store.repartition.change(to: 32, spread: spread) { pass, done in
      guard pass == 1, done == 20 else { return }
      try await world.store.registry.register(
        (0..<40).map { DeviceRegistration(user: "u\($0)", device: TestStore.device(1000 + $0)) })
      try await world.registerUsers(40..<50)
    }
    let new = try await TestStore(opening: world)
    for number in 0..<50 { try await expectUser(number, in: new, devices: number < 40 ? 2 : 1) }
    try await expectNoFindings(in: new)
  }

  @Test(arguments: Backend.allCases)
  func scheduledCampaignsReachTheSame(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 4, users: 0..<40)
    try await world.store.audiences.add((0..<10).map { "u\($0)" }, to: "some")
    let sendAt = Timestamp.format(milliseconds: try await world.store.time() / 1000 + 3_600_000)
    let tokens = (0..<20).map { "\"\(TestStore.text($0))\"" }.joined(separator: ",")
    var campaigns: [String: Campaign] = [:]
    for (id, audience) in [
      ("segment", #"{"segment":"some"}"#), ("users", #"{"users":["u3","u5","u31"]}"#),
      ("tokens", "{\"tokens\":[\(tokens)]}"), ("paused", #"{"users":["u4"]}"#),
    ] {
      campaigns[id] = try await world.activate(id, audience: audience, #","sendAt":"\#(sendAt)""#)
    }
    try await world.store.campaigns.control("paused", .pause)
    let spread = try await world.store.repartition.lock(for: 11)
    expect(try await world.store.repartition.change(to: 11, spread: spread).campaigns, is: 4)
    let new = try await TestStore(opening: world)
    try await expectNoFindings(in: new)
    try await new.store.campaigns.control("paused", .resume)
    for (id, targets) in [("segment", 10), ("users", 3), ("tokens", 20), ("paused", 1)] {
      try await new.command("HSET", new.keys.campaign(id), "sendAt", 1)
      expect(try await new.store.queue.promote([id]), is: [id])
      _ = try await new.workOff(#require(campaigns[id]))
      let record = try #require(try await new.store.campaigns.show(id))
      expect(record.state == .completed && record.counters.outcomes == [.accepted: targets], "\(id)")
    }
  }

  @Test(arguments: Backend.allCases)
  func endedCampaignsKeepTheirResults(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 4, users: 0..<20)
    _ = try await world.workOff(try await world.activate("a"))
    let spread = try await world.store.repartition.lock(for: 13)
    _ = try await world.store.repartition.change(to: 13, spread: spread)
    let store = try await TestStore(opening: world).store
    for number in 0..<20 {
      expect(try await store.results.results(ofUser: "u\(number)", in: "a").map(\.outcome), is: [.accepted])
      expect(try await store.results.result(of: TestStore.deviceToken(number), "apns", in: "a")?.outcome, is: .accepted)
    }
    var count = 0
    try await store.results.forEachResult(of: "a") {
      count += $0.count
      return true
    }
    expect(count, is: 20)
    try await expectNoFindings(in: TestStore(opening: world))
  }

  // MARK: The hold

  @Test(arguments: Backend.allCases)
  func nothingBeginsInAHeldStore(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 2, users: 0..<4)
    let sendAt = Timestamp.format(milliseconds: try await world.store.time() / 1000 + 3_600_000)
    try await world.activate("later", #","sendAt":"\#(sendAt)""#)
    _ = try await world.store.repartition.lock(for: 4)
    let job = TestStore.job("now", audience: #"{"users":["u1","u2"]}"#)
    let campaign = try CampaignJob.parse(job, .any([TestStore.service]))
    try await world.command("LPUSH", world.keys.intake(worker: "w"), job)
    let error = await #expect(throws: StoreError.self) {
      try await world.store.queue.activate(campaign, job: job, worker: "w")
    }
    expect(error?.code == .locked && error?.hint.contains("store repartition 4") == true)
    expect(try await world.command("LLEN", world.keys.intake(worker: "w")).integer, is: 1)
    expect(try await world.keyNames("{\(world.keys.namespace)*audience:*").isEmpty)
    try await world.command("HSET", world.keys.campaign("later"), "sendAt", 1)
    expect(try await world.store.queue.promote(["later"]), is: [])
    try await world.store.campaigns.control("later", .pause)
    expect(try await world.store.campaigns.control("later", .resume), is: .scheduled)
    expect(try await world.store.repartition.hasNoRunningCampaigns())
    _ = try await world.store.repartition.change(to: 4, spread: 4)
    let new = try await TestStore(opening: world)
    expect(try await new.store.queue.promote(["later"]), is: ["later"])
    expect(try await new.store.queue.activate(campaign, job: job, worker: "w"), is: .new)
  }

  /// The worker was suspended for longer than the others waited for it.
  @Test(arguments: Backend.allCases)
  func workerWithTheOldNumberBeginsNothing(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 2)
    _ = try await world.store.repartition.change(to: 4, spread: world.store.repartition.lock(for: 4))
    let job = TestStore.job("a", audience: #"{"segment":"*"}"#)
    let campaign = try CampaignJob.parse(job, .any([TestStore.service]))
    let error = await #expect(throws: StoreError.self) {
      try await world.store.queue.activate(campaign, job: job, worker: "w")
    }
    expect(error?.code, is: .locked)
    expect(try await world.store.campaigns.syncControl([], worker: "w", applied: nil).lock, is: .outdated)
    expect(
      try await TestStore(opening: world).store.campaigns.syncControl([], worker: "w", applied: nil).lock, is: .none)
  }

  @Test(arguments: Backend.allCases)
  func blockingCampaignsAndWorkersAreNamed(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1, activating: "a")
    try await world.activate("b")
    try await world.store.campaigns.control("b", .pause)
    _ = try await world.store.fleet.heartbeat(worker: "w", timeout: TestStore.timeout)
    _ = try await world.store.repartition.lock(for: 2)
    var obstacles = try await world.store.repartition.obstacles(timeout: TestStore.timeout)
    expect(obstacles.campaigns == ["a (active)", "b (paused)"] && obstacles.campaignCount == 2)
    expect(obstacles.workers, is: ["w"])
    for id in ["a", "b"] {
      try await world.store.campaigns.control(id, .cancel)
      try await world.command("SREM", world.keys.running, id)
    }
    try await world.store.fleet.removeWorker("w")
    obstacles = try await world.store.repartition.obstacles(timeout: TestStore.timeout)
    expect(obstacles.isEmpty)
  }

  @Test(arguments: Backend.allCases)
  func heldStoreIsReadAndNotWritten(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 2)
    _ = try await world.store.repartition.lock(for: 4)
    try await world.store.open(creating: false, acceptingLocked: true)
    let error = await #expect(throws: StoreError.self) { try await world.store.open(creating: true) }
    expect(error?.code, is: .locked)
    let checkpoint = ImportCheckpoint(offset: 1, line: 1, rows: 1, skipped: 0, imported: 1, outdated: 0, evicted: 0)
    await #expect(throws: StoreError.self) { try await world.store.registry.save(checkpoint, of: "f") }
    // The progress of the import can still be read.
    expect(try await world.store.registry.importCheckpoint(of: "f"), is: checkpoint)
  }

  // MARK: A store with data of every kind

  private func fill(_ world: TestStore) async throws {
    try await world.store.registry.register(
      Self.users.map { number in
        DeviceRegistration(
          user: "u\(number)", device: TestStore.device(number), attributes: Array("{\"n\":\(number)}".utf8))
      })
    try await world.store.audiences.add(Self.users.map { "u\($0)" }, to: "all")
    try await world.store.registry.apply(
      Self.users.map { RegistrationEvent(.badge(user: "u\($0)", app: "news", value: $0 + 1), at: 1) })
    // These users have no device.
    try await world.store.audiences.add((0..<10).map { "stranger\($0)" }, to: "all")
    _ = try await world.store.registry.edit(
      Self.held.map { number in
        Registry.DeviceEdit(
          user: "u\(number)", token: .init(TestStore.token(number), TestStore.service.name), action: .quarantine,
          instant: 5000, note: Array("note \(number)".utf8))
      })
  }

  /// Numbers of the users with devices in quarantine.
  private static let held = [3, 14, 15, 44]

  private func expectAll(in world: TestStore, names: String = "") async throws {
    for number in Self.users {
      try await expectUser(number, in: world)
      let user = "u\(number)"
      let partition = Partition.of(user: user, count: world.keys.partitions)
      let record = try #require(try await world.store.registry.user(user), "\(names) \(user)")
      expect(record.attributes, is: Array("{\"n\":\(number)}".utf8))
      expect(record.devices.map(\.isQuarantined), is: [Self.held.contains(number)])
      let note = try await world.command("HGET", world.keys.quarantine(partition), TestStore.token(number))
      expect(note.string, is: Self.held.contains(number) ? "note \(number)" : nil)
      expect(try await world.store.audiences.lists(of: user).segments, is: ["all"])
      expect(try await world.pressure(of: user)?.apps["news"]?.badge, is: number + 1)
    }
    expect(try await world.store.audiences.size(ofSegment: "all"), is: Self.users.count + 10)
    // Nothing is in two partitions, and no partition is beyond the last.
    var fields = 0
    for partition in 0..<70 {
      for key in [
        world.keys.devices(partition), world.keys.owner(partition), world.keys.attributes(partition),
        world.keys.pressure(partition),
      ] {
        fields += try await world.command("HLEN", key).integer ?? 0
      }
      fields += try await world.command("SCARD", world.keys.users(partition)).integer ?? 0
    }
    expect(fields, is: 5 * Self.users.count)
    expect(try await world.store.repartition.lockedPartitions(), is: nil)
  }

  private func expectNoFindings(in world: TestStore) async throws {
    var findings: [StoreFinding] = []
    _ = try await world.store.repair.check(pause: .zero) { findings += $0 }
    expect(findings, is: [])
  }

  private func expectUser(_ number: Int, in world: TestStore, devices: Int = 1) async throws {
    let user = try #require(try await world.store.registry.user("u\(number)"))
    expect(user.devices.count, is: devices)
    expect(user.devices.contains { $0.token == TestStore.token(number) })
    expect(
      try await world.store.registry.owners(of: [TestStore.deviceToken(number)], TestStore.service), is: ["u\(number)"])
    let partition = Partition.of(user: "u\(number)", count: world.keys.partitions)
    expect(try await world.command("SISMEMBER", world.keys.users(partition), "u\(number)").integer, is: 1)
  }

  private static func moves(_ name: String, from: Int, to: Int) -> Bool {
    Partition.of(user: name, count: from) != Partition.of(user: name, count: to)
  }
}
