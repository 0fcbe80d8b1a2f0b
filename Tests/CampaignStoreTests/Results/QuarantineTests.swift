@testable import CampaignStore
import APNs
import PushCore
import Redis
import TestKit
import Testing

/// Quarantined devices, which are kept but get no pushes.
@Suite struct QuarantineTests {
  /// Users `x` and `y` with a device each. A campaign to users (or, if raw, to tokens) found that the first token is
  /// bad.
  private func made(on backend: Backend, isRaw: Bool = false) async throws -> (TestStore, [QuarantinedDevice]) {
    let world = try await TestStore(on: backend, partitions: 1)
    try await world.store.registry.register([
      DeviceRegistration(user: "x", device: TestStore.device(1, registeredAt: 1000)),
      DeviceRegistration(user: "y", device: TestStore.device(2, registeredAt: 1000)),
    ])
    let ledger = try await world.sealed("a", count: 3, granted: 3)
    var batch = OutcomeBatch()
    var record = LedgerRecord(state: .terminal(.badToken), attempt: 0)
    record.status = 400
    record.reason = Reason.badDeviceToken.code
    batch.append(
      record, at: 0, action: .quarantine, token: try TestStore.deviceToken(1).bytes[...],
      user: Array((isRaw ? "" : "x").utf8)[...], timestamp: 5000, keepsResult: false)
    _ = try await ledger.commit(&batch, CommitRequest(seal: ledger.claim, expected: .acknowledged(.init(sequence: 1))))
    if isRaw { try await world.store.results.deliverFeedback(from: [0]) }
    return (world, try await listed(world))
  }

  private func listed(_ world: TestStore) async throws -> [QuarantinedDevice] {
    var all: [QuarantinedDevice] = []
    try await world.store.results.forEachQuarantined {
      all += $0
      return true
    }
    return all
  }

  @Test(arguments: Backend.allCases, [false, true])
  func badTokenIsListedWithWhyAndSinceWhen(on backend: Backend, isRaw: Bool) async throws {
    let (world, devices) = try await made(on: backend, isRaw: isRaw)
    let device = try #require(devices.first)
    expect(devices.count, is: 1)
    expect(device.user, is: "x")
    expect(device.token, is: try TestStore.deviceToken(1))
    expect(device.reason, is: "BadDeviceToken")
    expect(device.campaign, is: "a")
    let now = try await world.store.time() / 1000
    expect((now - 60_000...now).contains(device.at))
    expect(try await world.store.registry.user("x")?.devices.first?.isQuarantined, is: true)
    expect(
      try await world.store.results.quarantined(
        [TestStore.deviceToken(1), TestStore.deviceToken(2), TestStore.deviceToken(9)], of: TestStore.service),
      is: [device, nil, nil])
  }

  @Test(arguments: Backend.allCases)
  func releasedDeviceIsSentToAgain(on backend: Backend) async throws {
    let (world, devices) = try await made(on: backend)
    expect(try await world.store.results.release(devices), is: [true])
    expect(try await world.store.registry.user("x")?.devices.first?.isQuarantined, is: false)
    expect(try await listed(world), is: [])
    expect(try await world.store.results.release(devices), is: [false])
  }

  @Test(arguments: Backend.allCases)
  func purgedDeviceIsRemovedAndReported(on backend: Backend) async throws {
    let (world, devices) = try await made(on: backend)
    expect(try await world.store.results.purge(devices), is: [true])
    expect(try await world.store.registry.user("x")?.devices.isEmpty != false)
    expect(try await world.store.registry.owners(of: [TestStore.deviceToken(1)], TestStore.service), is: [nil])
    expect(try await listed(world), is: [])
    expect(try await world.command("LLEN", world.keys.feedback).integer, is: 1)
    expect(try await world.store.registry.user("y")?.devices.count, is: 1)
  }

  @Test(arguments: Backend.allCases)
  func deviceThatRegistersAgainIsFree(on backend: Backend) async throws {
    let (world, devices) = try await made(on: backend)
    // A repeated registration changes nothing.
    try await world.store.registry.register([
      DeviceRegistration(user: "x", device: TestStore.device(1, registeredAt: 1000))
    ])
    expect(try await listed(world), is: devices)
    let later = Int(devices[0].at) + 1
    try await world.store.registry.register([
      DeviceRegistration(user: "x", device: TestStore.device(1, registeredAt: UInt64(later)))
    ])
    expect(try await listed(world), is: [])
    expect(try await world.store.registry.user("x")?.devices.first?.isQuarantined, is: false)
    // A purge of the earlier list does not affect the device.
    expect(try await world.store.results.purge(devices), is: [false])
    expect(try await world.store.registry.user("x")?.devices.count, is: 1)
  }

  /// A late answer to a push to the former user of the device, in the same partition.
  @Test(arguments: Backend.allCases)
  func lateAnswerForTheFormerUserLeavesTheNote(on backend: Backend) async throws {
    let (world, _) = try await made(on: backend)
    let token = Registry.OwnedToken(TestStore.token(1), "apns")
    try await world.store.registry.register([
      DeviceRegistration(user: "z", device: TestStore.device(1, registeredAt: 6000))
    ])
    expect(try await listed(world), is: [])
    let notice = DeviceNotice(
      head: .init(at: 7000, service: "apns", app: "news", campaign: "b"), action: .quarantine,
      reason: Reason.badDeviceToken.code, unknownReason: "", instant: 7000, token: [], user: "z")
    for user in ["z", "x"] {
      _ = try await world.store.registry.edit([
        .init(user: user, token: token, action: .quarantine, instant: 7000, note: notice.bytes)
      ])
    }
    expect(try await listed(world).map(\.user), is: ["z"])
    // A note of a removed device is removed with the next edit of that device.
    _ = try await world.command("HDEL", world.keys.devices(0), "z")
    _ = try await world.store.registry.edit([.init(user: "z", token: token, action: .prune, instant: 7000)])
    expect(try await listed(world), is: [])
  }

  /// A device moves between users of one partition. Redis writes it to the new user before it removes it from the
  /// former one.
  @Test(arguments: Backend.allCases)
  func deviceMoveKeepsTheNoteOfTheNewUser(on backend: Backend) async throws {
    let (world, _) = try await made(on: backend)
    let token = Registry.OwnedToken(TestStore.token(1), "apns")
    // The test writes the first half of a move. The prune below is the other half.
    let x = try #require(try await world.command("HGET", world.keys.devices(0), "x").bytes)
    let flags = 3
    expect(x[flags], is: 1)
    _ = try await world.command("HSET", world.keys.devices(0), "z", x[..<flags] + [0] + x[(flags + 1)...])
    _ = try await world.command("SADD", world.keys.users(0), "z")
    let notice = DeviceNotice(
      head: .init(at: 7000, service: "apns", app: "news", campaign: "b"), action: .quarantine,
      reason: Reason.badDeviceToken.code, unknownReason: "", instant: 7000, token: [], user: "z")
    for (user, action) in [("z", Registry.DeviceEdit.Action.quarantine), ("x", .prune)] {
      let edit = Registry.DeviceEdit(
        user: user, token: token, action: action, instant: 7000, note: notice.bytes)
      expect(try await world.store.registry.edit([edit]), is: [true])
      expect(try await listed(world).map(\.user), is: ["z"])
    }
    expect(try await world.store.results.release(listed(world)), is: [true])
    expect(try await listed(world), is: [])
  }
}
