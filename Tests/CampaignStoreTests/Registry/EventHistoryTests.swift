@testable import CampaignStore
import APNs
import Foundation
import PushCore
import Redis
import TestKit
import TestSupport
import Testing

/// Random histories of events in any order and any pages. Several appliers work at the same time; some are suspended
/// and some die. The result is always the registry that follows from the times of the events alone.
@Suite(.takesTurns) struct EventHistoryTests {
  private static let tokens = 4
  /// Apps with one device for each user.
  private static let exclusive: Set = ["shop"]
  /// The number of orders in which each history arrives.
  private static let orders = 3
  /// The number of concurrent histories. Each has a store of its own.
  private static let lanes = 4

  /// The number of histories: `CARILLON_TEST_HISTORIES`, default 100, or 300 in the long form.
  private static let count =
    ProcessInfo.processInfo.environment["CARILLON_TEST_HISTORIES"].flatMap { Int($0) }
    ?? TestForm.count(short: 100, long: 300)

  @Test(arguments: Backend.allCases)
  func randomHistoriesComeToTheSameInAnyOrder(on backend: Backend) async throws {
    let seed = Seed("randomHistoriesComeToTheSameInAnyOrder")
    let killed = try await withThrowingTaskGroup(of: Int.self) { group in
      for lane in 0..<Self.lanes {
        group.addTask {
          let world = try await TestStore(on: backend)
          var killed = 0
          for number in stride(from: lane, to: Self.count, by: Self.lanes) {
            killed += try await Self.play(number, in: world, Seed(value: seed.value &+ UInt64(number) &* 0x9E37_79B9))
          }
          return killed
        }
      }
      return try await group.reduce(0, +)
    }
    if Self.count >= 100 { expect(killed > Self.count / 4, "too few appliers were killed, seed \(seed.value)") }
  }

  /// - Returns: the number of appliers that were killed.
  private static func play(_ number: Int, in world: TestStore, _ seed: Seed) async throws -> Int {
    var seed = seed
    let now = try await world.store.time() / 1000
    let story = try History(&seed, now: now)
    var killed = 0
    for order in 0..<orders {
      // The same history with other users and tokens.
      let cast = Participants(prefix: "h\(number)o\(order)u", firstToken: (number * orders + order) * tokens)
      let statements = try story.statements(cast)
      killed += try await apply(statements.shuffled(using: &seed), in: world, &seed)
      let model = RegistryModel(statements, exclusive: exclusive)
      let comment: Comment = "history \(number), order \(order), seed \(seed.value): \(statements)"
      for user in cast.users {
        let (known, expected) = (try await registry(of: user, in: world), model.user(user))
        expect(known, is: expected, comment)
      }
      let owners = model.owners(among: cast.users)
      for token in cast.tokens {
        let token = try TestStore.deviceToken(token)
        let owner = try await world.store.registry.owners(of: [token], TestStore.service)[0]
        expect(owner, is: owners[RegistryModel.name(token)], comment)
      }
    }
    return killed
  }

  /// Applies statements in pages by several concurrent appliers.
  ///
  /// - Returns: the number of appliers that were killed.
  private static func apply(
    _ statements: [RegistryModel.Statement], in world: TestStore, _ seed: inout Seed
  ) async throws -> Int {
    var pages: [[RegistryModel.Statement]] = []
    var rest = statements[...]
    while !rest.isEmpty {
      let page = Array(rest.prefix(.random(in: 1...6, using: &seed)))
      rest = rest.dropFirst(page.count)
      pages.append(page)
      // Some pages are applied again, as after the death of a maintenance leader that had not taken them off the list.
      if Int.random(in: 0..<4, using: &seed) == 0 { pages.append(page) }
    }
    let callers = Int.random(in: 1...3, using: &seed)
    let turns = StepTurns(callers: callers, killable: Set((0..<callers).filter { $0 > 0 }), Seed(value: seed.next()))
    let shares = (0..<callers).map { caller in pages.indices.filter { $0 % callers == caller }.map { pages[$0] } }
    let ended = try await withThrowingTaskGroup(of: (Int, Bool).self) { group in
      for (caller, share) in shares.enumerated() {
        group.addTask {
          (caller, try await turns.run(caller) { for page in share { try await apply(page, in: world) } })
        }
      }
      return try await group.reduce(into: [Int: Bool]()) { $0[$1.0] = $1.1 }
    }
    let dead = ended.filter { !$0.value }.keys.sorted()
    // The pages that a dead applier had not taken off the list are applied by the next one.
    for caller in dead { for page in shares[caller] { try await apply(page, in: world) } }
    for partition in 0..<world.keys.partitions { while try await world.store.registry.redoMoves(in: partition) > 0 {} }
    return dead.count
  }

  private static func apply(_ page: [RegistryModel.Statement], in world: TestStore) async throws {
    var events: [RegistrationEvent] = []
    for statement in page {
      switch statement {
      case .event(let event): events.append(event)
      case .erasure(let user, let at): _ = try await world.store.erasure.erase(user, at: at)
      }
    }
    try await world.store.registry.apply(events, lastDeviceOnly: exclusive)
  }

  /// Returns the registry data of a user in Redis, with retained attributes and badges.
  private static func registry(of user: String, in world: TestStore) async throws -> RegistryModel.User {
    var known = RegistryModel.User()
    for device in try await world.store.registry.user(user)?.devices ?? [] {
      let token = String(decoding: Hex.encode(device.token), as: UTF8.self)
      known.devices[token] = "\(device.registeredAt) \(device.app) \(device.locale)"
    }
    let key = world.keys.attributes(Partition.of(user: user, count: world.keys.partitions))
    let stored = try await world.command("HGET", key, user).bytes.map(Array.init) ?? []
    known.attributes = String(decoding: UserAttributes.visible(stored), as: UTF8.self)
    let lists = try await world.store.audiences.lists(of: user)
    known.lists = Set(lists.segments + lists.suppression.map(\.segment))
    known.badges = try await world.pressure(of: user)?.apps.mapValues(\.badge).filter { $0.value > 0 } ?? [:]
    return known
  }
}

/// Users and tokens of a history.
private struct Participants {
  var prefix: String
  var firstToken: Int

  func user(_ number: Int) -> String { "\(prefix)\(number)" }
  var users: [String] { (0..<3).map(user) }
  var tokens: [Int] { (0..<4).map { firstToken + $0 } }
}

/// Steps of a history, without names.
private struct History {
  enum Act {
    case register, login, unregister, logout, tag, untag, optOut, optIn, set, unset, badge, erase
  }

  struct Step {
    var act: Act
    var user: Int
    var token: Int
    var at: Int
    var chance: Int
  }

  private var steps: [Step] = []

  /// - Parameter now: ms since the epoch; all steps lie before it.
  init(_ seed: inout Seed, now: Int) throws {
    let acts: [Act] = [
      .register, .register, .register, .login, .login, .unregister, .logout, .logout, .tag, .untag, .optOut, .optIn,
      .set, .set, .unset, .badge, .badge, .erase,
    ]
    let start = now - 86_400_000
    for number in 0..<Int.random(in: 6...16, using: &seed) {
      guard let act = acts.randomElement(using: &seed) else { continue }
      let (user, token) = (Int.random(in: 0..<3, using: &seed), Int.random(in: 0..<4, using: &seed))
      // Removals and opt-outs often have the time of another step.
      var at = start + 1000 * Int.random(in: 0..<10, using: &seed) + user * 10
      switch act {
      // Two logins have different times, because the order of two logins at the same time is undefined.
      case .login: at = start + 1000 * Int.random(in: 0..<10, using: &seed) + 500 + number
      case .unregister, .logout, .erase:
        if let other = steps.randomElement(using: &seed), Bool.random(using: &seed) { at = other.at }
      default: break
      }
      steps.append(Step(act: act, user: user, token: token, at: at, chance: .random(in: 0..<4, using: &seed)))
    }
  }

  func statements(_ cast: Participants) throws -> [RegistryModel.Statement] {
    try steps.map { try statement($0, cast) }
  }

  private func statement(_ step: Step, _ cast: Participants) throws -> RegistryModel.Statement {
    let user = cast.user(step.user)
    let token = try TestStore.deviceToken(cast.firstToken + step.token)
    let service = TestStore.service.name
    func row() -> DeviceRow {
      var row = DeviceRow(user: user, token: token, service: service, registeredAt: step.at)
      row.app = step.token < 2 ? "shop" : "news"
      row.locale = step.at / 1000 % 2 == 0 ? "de" : "en"
      // Statements about one user with the same time have the same content.
      if step.at / 1000 % 3 > 0 { row.attributes = ["plan": "p\(step.at % 100_000)", "x\(step.at / 1000 % 2)": "y"] }
      return row
    }
    let list = SuppressionList(app: "news", category: step.chance % 2 == 0 ? nil : "offers")
    let segments = step.chance == 0 ? ["a", "b"] : [step.chance == 1 ? "b" : "a"]
    let name = ["plan", "x0", "x1"][step.chance % 3]
    let change: RegistrationEvent.Change
    switch step.act {
    case .erase: return .erasure(user: user, at: step.at)
    case .register: change = .register(row())
    case .login: change = .login(row())
    case .unregister: change = .unregister(token, service: service)
    case .logout: change = .logout(user: user, token, service: service)
    case .tag: change = .tag(user: user, segments: segments, isMember: true)
    case .untag: change = .tag(user: user, segments: segments, isMember: false)
    case .optOut: change = .preference(user: user, list, isAllowed: false)
    case .optIn: change = .preference(user: user, list, isAllowed: true)
    case .set: change = .attributes(user: user, [name: "v\(step.chance)", "z": "\(step.token)"])
    case .unset: change = .attributes(user: user, [name: nil])
    case .badge: change = .badge(user: user, app: step.token < 2 ? "shop" : "news", value: step.chance)
    }
    return .event(RegistrationEvent(change, at: step.at))
  }
}
