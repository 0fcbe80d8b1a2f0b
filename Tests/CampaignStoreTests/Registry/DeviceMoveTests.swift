@testable import CampaignStore
import PushCore
import Redis
import TestKit
import TestSupport
import Testing

/// Moves of tokens between users. A token belongs to one user, in any order of registrations and after any crash.
struct DeviceMoveTests {
  @Test(arguments: Backend.allCases)
  func tokenMovesToTheUserWhoRegistersIt(on backend: Backend) async throws {
    let world = try await TestStore(on: backend)
    for (user, at) in [("x", 1000), ("y", 1_700_000_000_123), ("z", 1_700_000_000_124)] as [(String, UInt64)] {
      expect(try await register(world, user, at))
      expect(try await holders(world), is: [user])
    }
    expect(try await world.store.registry.user("x") == nil)
    try await expectNoNotes(world)
  }

  @Test(arguments: Backend.allCases)
  func olderRegistrationForAnotherUserIsRefused(on backend: Backend) async throws {
    let world = try await TestStore(on: backend)
    try await register(world, "y", 2000)
    expect(try await register(world, "x", 1999), is: false)
    expect(try await holders(world), is: ["y"])
    try await expectNoNotes(world)
  }

  @Test(arguments: Backend.allCases)
  func tokenMovesBackWithoutTimesToo(on backend: Backend) async throws {
    let world = try await TestStore(on: backend)
    for user in ["x", "y", "x", "y", "x"] {
      expect(try await register(world, user, 0))
      expect(try await holders(world), is: [user])
    }
  }

  @Test(arguments: Backend.allCases)
  func importGivesATokenOfSeveralUsersToTheNewest(on backend: Backend) async throws {
    let world = try await TestStore(on: backend)
    let rows = [("x", 1000), ("y", 3000), ("z", 2000)].map {
      DeviceRegistration(user: $0.0, device: TestStore.device(1, registeredAt: $0.1))
    }
    expect(try await world.store.registry.register(rows), is: [false, true, false])
    expect(try await holders(world), is: ["y"])
    // Without times the last row counts.
    let timeless = ["x", "y", "z"].map {
      DeviceRegistration(user: $0, device: TestStore.device(2, registeredAt: 0))
    }
    expect(try await world.store.registry.register(timeless), is: [false, false, true])
    expect(try await holders(world, number: 2), is: ["z"])
    try await expectNoNotes(world)
  }

  @Test(arguments: Backend.allCases)
  func racingRegistrationsLeaveTheTokenWithOneUser(on backend: Backend) async throws {
    let world = try await TestStore(on: backend)
    // This order caused a defect: A owns T for x; B owns T for y, takes it from x and writes y; then A writes x.
    let late = [DeviceRegistration(user: "x", device: TestStore.device(1, registeredAt: 1000))]
    let bound = try await world.store.registry.bind(world.batch(late))
    try await register(world, "y", 2000)
    expect(try await world.complete(bound), is: [false])
    expect(try await holders(world), is: ["y"])

    // The same race with many real tasks.
    for round in 1...10 {
      try await withThrowingTaskGroup(of: Void.self) { group in
        for (place, user) in ["x", "y", "z", "v", "w"].enumerated() {
          group.addTask { try await self.register(world, user, UInt64(round * 10_000 + place)) }
        }
        try await group.waitForAll()
      }
      expect(try await holders(world), is: ["w"])
    }
    try await expectNoNotes(world)
  }

  @Test(arguments: Backend.allCases)
  func moveOfADeadProcessIsCompletedByAnotherProcess(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    try await register(world, "x", 1000)
    // The process died after the first step: the index names y, and the record of x has the device.
    let attributes = Array(#"{"name":"Yves"}"#.utf8)
    try await bind(world, "y", 2000, attributes: attributes)
    expect(try await holders(world), is: ["x"])
    expect(try await world.store.registry.redoMoves(in: 0), is: 1)
    expect(try await holders(world), is: ["y"])
    expect(try await world.store.registry.user("y")?.attributes, is: attributes)
    expect(try await world.store.registry.redoMoves(in: 0), is: 0)
  }

  @Test(arguments: Backend.allCases)
  func repeatedRegistrationOfADeadProcessIsRemoved(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    try await register(world, "x", 1000)
    // The process registers again what the index has, and the token moves to y. Then the process writes its record and
    // dies.
    let bound = try await world.store.registry.bind(
      world.batch([DeviceRegistration(user: "x", device: TestStore.device(1, registeredAt: 1000))]))
    try await register(world, "y", 2000)
    _ = try await world.store.registry.enter(bound)
    expect(try await holders(world), is: ["y"], "that it was removed is remembered where it is written")
    expect(try await world.store.registry.redoMoves(in: 0), is: 1)
    expect(try await holders(world), is: ["y"])
  }

  @Test(arguments: Backend.allCases)
  func firstRegistrationOfADeadProcessIsCompleted(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    try await bind(world, "x", 1000)
    expect(try await holders(world), is: [])
    expect(try await world.store.registry.redoMoves(in: 0), is: 1)
    expect(try await holders(world), is: ["x"])
  }

  @Test(arguments: Backend.allCases)
  func leftOverNoteNeverUndoesALaterMove(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    // The token went to y, whose process died, and came back to x. All registrations are without times, so only the
    // index has the order.
    try await register(world, "x", 0)
    try await bind(world, "y", 0)
    try await register(world, "x", 0)
    expect(try await world.store.registry.redoMoves(in: 0), is: 1)
    expect(try await holders(world), is: ["x"])

    // The token may also move to a third user, whose registration does not know x.
    try await bind(world, "y", 0)
    try await register(world, "z", 0)
    expect(try await holders(world), is: ["x", "z"])
    expect(try await world.store.registry.redoMoves(in: 0), is: 1)
    expect(try await holders(world), is: ["z"])
  }

  @Test(arguments: Backend.allCases)
  func registrationThatWasUnregisteredOnItsWayIsGone(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    try await bind(world, "x", 1000)
    _ = try await world.store.registry.unregister([try TestStore.deviceToken(1)], of: TestStore.service, at: 5000)
    expect(try await world.store.registry.redoMoves(in: 0), is: 1)
    expect(try await holders(world), is: [])
  }

  @Test(arguments: Backend.allCases)
  func anyDelaysAndCrashesLeaveTheTokenWithItsOwner(on backend: Backend) async throws {
    var seed = Seed("anyDelaysAndCrashesLeaveTheTokenWithItsOwner")
    for _ in 0..<40 {
      let world = try await TestStore(on: backend, partitions: 1)
      // Registrations after their first step. Some continue later, and some never do.
      var halfway: [(DeviceRegistration, Registry.BoundRegistrations)] = []
      var story: [String] = []
      for _ in 0..<10 {
        let user = ["x", "y", "z"].randomElement(using: &seed) ?? "x"
        // The test uses few times, so that they are often equal.
        let at = UInt64.random(in: 0..<4, using: &seed)
        let registration = DeviceRegistration(user: user, device: TestStore.device(1, registeredAt: at))
        switch Int.random(in: 0..<9, using: &seed) {
        case 0...2:
          let bound = try await world.store.registry.bind(world.batch([registration]))
          story.append("\(user)@\(at) begins: refused \(bound.refused), moved \(bound.moved)")
          halfway.append((registration, bound))
        case 3, 4:
          let stands = try await world.store.registry.register([registration])
          story.append("\(user)@\(at) registers: \(stands)")
        case 5, 6:
          guard let place = halfway.indices.randomElement(using: &seed) else { continue }
          let (registration, bound) = halfway.remove(at: place)
          let stands = try await world.complete(bound)
          story.append("\(registration.user)@\(registration.device.registeredAt) goes on: \(stands)")
        case 7: story.append("redone: \(try await world.store.registry.redoMoves(in: 0))")
        default:
          story.append(
            "unregistered@\(at): \(try await world.store.registry.unregister([TestStore.deviceToken(1)], of: TestStore.service, at: Int(at)))"
          )
        }
        story.append("holders: \(try await holders(world))")
      }
      while try await world.store.registry.redoMoves(in: 0) > 0 {}
      let owner = try await world.store.registry.owners(of: [TestStore.deviceToken(1)], TestStore.service)[0]
      expect(try await holders(world), is: owner.map { [$0] } ?? [], "seed \(seed.value): \(story)")
    }
  }

  // MARK: Helpers

  @discardableResult
  private func register(_ world: TestStore, _ user: String, _ at: UInt64) async throws -> Bool {
    try await world.store.registry.register([
      DeviceRegistration(user: user, device: TestStore.device(1, registeredAt: at))
    ])[0]
  }

  /// Performs the first step of a registration. The process then dies.
  private func bind(_ world: TestStore, _ user: String, _ at: UInt64, attributes: [UInt8] = []) async throws {
    _ = try await world.store.registry.bind(
      world.batch([
        DeviceRegistration(user: user, device: TestStore.device(1, registeredAt: at), attributes: attributes)
      ]))
  }

  /// Returns the users whose records have the token.
  private func holders(_ world: TestStore, number: Int = 1) async throws -> [String] {
    var holders: [String] = []
    for user in ["v", "w", "x", "y", "z"] {
      let devices = try await world.store.registry.user(user)?.devices ?? []
      if devices.contains(where: { $0.token == TestStore.token(number) }) { holders.append(user) }
    }
    return holders
  }

  private func expectNoNotes(_ world: TestStore) async throws {
    for partition in 0..<world.keys.partitions {
      expect(try await world.command("HLEN", world.keys.moving(partition)).integer, is: 0)
    }
  }
}
