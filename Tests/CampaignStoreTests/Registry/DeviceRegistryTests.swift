@testable import CampaignStore
import PushCore
import Redis
import TestKit
import Testing

/// Users, their devices and the registration times.
struct DeviceRegistryTests {
  @Test(arguments: Backend.wholeWay)
  func deviceIsReadAsItWasWritten(on backend: Backend) async throws {
    let world = try await TestStore(on: backend)
    var device = DeviceRecord(token: [UInt8](0..<200), service: "apns")
    device.registeredAt = 1_700_000_000_456
    device.lastSeen = 1_700_000_000_123
    device.app = "news"
    device.environment = "sandbox"
    device.locale = "zh-Hans-CN"
    device.timezone = "Europe/Berlin"
    device.appVersion = "5.2"
    device.osVersion = String(repeating: "x", count: 255)
    var quarantined = DeviceRecord(token: [0], service: "apns")
    quarantined.isQuarantined = true
    let attributes = Array(#"{"name":"Ada"}"#.utf8)
    try await world.store.registry.register([
      DeviceRegistration(user: "ada@example.com", device: device, attributes: attributes),
      DeviceRegistration(user: "ada@example.com", device: quarantined),
    ])
    let user = try #require(try await world.store.registry.user("ada@example.com"))
    expect(user.devices, is: [device, quarantined])
    expect(user.attributes, is: attributes)
    expect(try await world.store.registry.user("bob") == nil)
  }

  @Test(arguments: Backend.wholeWay)
  func attributesGoWithTheLastDevice(on backend: Backend) async throws {
    let world = try await TestStore(on: backend)
    let attributes = Array(#"{"name":"Ada"}"#.utf8)
    try await world.store.registry.register(
      (1...2).map { DeviceRegistration(user: "ada", device: TestStore.device($0), attributes: attributes) })
    func unregister(_ number: Int) async throws {
      let token = try #require(DeviceToken(bytes: TestStore.token(number)))
      expect(try await world.store.registry.unregister([token], of: TestStore.service, at: 5000), is: [true])
    }
    try await unregister(1)
    expect(try await world.store.registry.user("ada")?.attributes, is: attributes)
    try await unregister(2)
    expect(try await world.store.registry.user("ada") == nil)
  }

  @Test(arguments: Backend.wholeWay)
  func olderRegistrationNeverUndoesANewerOne(on backend: Backend) async throws {
    let world = try await TestStore(on: backend)
    func register(_ at: UInt64, _ locale: String) async throws {
      var device = TestStore.device(1, registeredAt: at)
      device.locale = locale
      try await world.store.registry.register([
        DeviceRegistration(user: "x", device: device, attributes: Array(#"{"l":"\#(locale)"}"#.utf8))
      ])
    }
    try await register(2000, "de")
    try await register(1000, "en")
    var user = try #require(try await world.store.registry.user("x"))
    expect(user.devices.map(\.locale), is: ["de"])
    expect(user.attributes, is: Array(#"{"l":"de"}"#.utf8))
    try await register(2000, "fr")
    user = try #require(try await world.store.registry.user("x"))
    expect(user.devices.map(\.locale), is: ["fr"])
    expect(user.attributes, is: Array(#"{"l":"fr"}"#.utf8))
    expect(user.devices.count, is: 1)
  }

  @Test(arguments: Backend.wholeWay)
  func onlyALaterRegistrationEndsAQuarantine(on backend: Backend) async throws {
    let world = try await TestStore(on: backend)
    try await world.registerUsers(0..<1, registeredAt: 0)
    let token = Registry.OwnedToken(TestStore.token(0), "apns")
    let edit = Registry.DeviceEdit(user: "u0", token: token, action: .quarantine, instant: 5000)
    expect(try await world.store.registry.edit([edit, edit]), is: [true, false])
    try await world.registerUsers(0..<1, registeredAt: 0)
    expect(try await world.store.registry.user("u0")?.devices.map(\.isQuarantined), is: [true])
    try await world.registerUsers(0..<1, registeredAt: 1)
    expect(try await world.store.registry.user("u0")?.devices.map(\.isQuarantined), is: [false])
    expect(try await world.store.registry.edit([edit]), is: [true])
    let release = Registry.DeviceEdit(user: "u0", token: token, action: .release, instant: 5000)
    expect(try await world.store.registry.edit([release]), is: [true])
    expect(try await world.store.registry.user("u0")?.devices.map(\.isQuarantined), is: [false])
  }

  @Test(arguments: Backend.wholeWay)
  func unregisteringByTokenFindsItsOwner(on backend: Backend) async throws {
    let world = try await TestStore(on: backend)
    try await world.registerUsers(0..<3, registeredAt: 1000)
    let tokens = try [0, 7, 2].map { try TestStore.deviceToken($0) }
    expect(
      try await world.store.registry.unregister(tokens, of: TestStore.service, at: 999), is: [false, false, false])
    expect(try await world.store.registry.owners(of: tokens, TestStore.service), is: ["u0", nil, "u2"])
    expect(try await world.store.registry.unregister(tokens, of: TestStore.service, at: 1000), is: [true, false, true])
    expect(try await world.store.registry.owners(of: tokens, TestStore.service), is: [nil, nil, nil])
    expect(try await world.store.registry.user("u0") == nil)
    expect(try await world.store.registry.user("u1") != nil)
    expect(
      try await world.store.registry.unregister(tokens, of: TestStore.service, at: 1000), is: [false, false, false])
    // An older registration that arrives late restores nothing; a newer one does.
    try await world.registerUsers(0..<1, registeredAt: 1000)
    expect(try await world.store.registry.user("u0") == nil)
    expect(try await world.store.registry.owners(of: tokens, TestStore.service), is: [nil, nil, nil])
    try await world.registerUsers(0..<1, registeredAt: 1001)
    expect(try await world.store.registry.user("u0") != nil)
  }

  @Test(arguments: Backend.wholeWay)
  func userWithoutDevicesIsNotListed(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    try await world.store.registry.register([
      DeviceRegistration(user: "x", device: TestStore.device(1)),
      DeviceRegistration(user: "x", device: TestStore.device(2)),
    ])
    _ = try await world.store.registry.unregister([try TestStore.deviceToken(1)], of: TestStore.service, at: 5000)
    expect(try await world.command("SCARD", world.keys.users(0)).integer, is: 1)
    _ = try await world.store.registry.unregister([try TestStore.deviceToken(2)], of: TestStore.service, at: 5000)
    expect(try await world.command("SCARD", world.keys.users(0)).integer, is: 0)
    expect(try await world.command("HLEN", world.keys.devices(0)).integer, is: 0)
  }

  @Test(arguments: Backend.wholeWay)
  func walkMeetsEveryUserWithAttributes(on backend: Backend) async throws {
    let world = try await TestStore(on: backend)
    try await world.store.registry.register(
      (0..<1500).map {
        DeviceRegistration(user: "u\($0)", device: TestStore.device($0), attributes: Array("{\"n\":\($0)}".utf8))
      })
    var seen: Set<String> = []
    try await world.store.registry.forEachUser { users in
      for user in users {
        let number = try #require(Int(user.user.dropFirst()))
        expect(user.devices, is: [TestStore.device(number)])
        expect(user.attributes, is: Array("{\"n\":\(number)}".utf8))
        seen.insert(user.user)
      }
    }
    expect(seen.count, is: 1500)
  }

  @Test(arguments: Backend.wholeWay)
  func ownerIsInThePartitionOfTheTokensHex(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 16, users: 0..<20)
    for number in 0..<20 {
      let token = try TestStore.deviceToken(number)
      let partition = Partition.of(token: token.bytes, of: TestStore.service, count: 16)
      expect(try await world.command("HGET", world.keys.owner(partition), token.bytes).string, is: "1000:u\(number)")
    }
  }

  @Test(arguments: Backend.wholeWay)
  func recordsOfAnyTokenLengthAndUserAreKeptApart(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    // Lengths around values that look like a length byte or a prefix, and users that contain the separators.
    let users = ["1:2", "{x}", "ü", String(repeating: "u", count: 256), "%d+"]
    var registrations: [DeviceRegistration] = []
    for (number, user) in users.enumerated() {
      for length in [1, 13, 32, 127, 128, 200] {
        registrations.append(
          DeviceRegistration(
            user: user, device: DeviceRecord(token: Array(repeating: UInt8(number), count: length), service: "apns")))
      }
    }
    expect(try await world.store.registry.register(registrations).allSatisfy { $0 })
    for user in users { expect(try await world.store.registry.user(user)?.devices.count, is: 6) }
    let middle = try #require(DeviceToken(bytes: Array(repeating: UInt8(3), count: 127)))
    expect(try await world.store.registry.owners(of: [middle], TestStore.service), is: [users[3]])
    expect(try await world.store.registry.unregister([middle], of: TestStore.service, at: 1), is: [true])
    expect(try await world.store.registry.user(users[3])?.devices.map(\.token.count), is: [1, 13, 32, 128, 200])
  }
}
