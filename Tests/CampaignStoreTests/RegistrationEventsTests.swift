@testable import CampaignStore
import APNs
import PushCore
import Redis
import TestSupport
import Testing

/// Events of the registrations list, against the same in plain Swift.
struct RegistrationEventsTests {
  /// What is known, when events come one by one.
  private struct Model {
    struct Device: Equatable {
      var user: String
      var at: Int
      var app: String
      var locale: String
    }

    var devices: [Int: Device] = [:]
    var attributes: [String: [String: String]] = [:]
    var members: [String: Set<String>] = [:]
    /// Who lost the last device and got another in the same page: their attributes may have stayed.
    var vague: Set<String> = []
    private var lost: Set<String> = []

    /// A page of events begins.
    mutating func turnPage() { lost = [] }

    private mutating func loseAttributes(_ user: String) {
      guard !has(user) else { return }
      attributes[user] = nil
      lost.insert(user)
      vague.remove(user)
    }

    private func has(_ user: String) -> Bool { devices.values.contains { $0.user == user } }

    private mutating func remove(_ token: Int, user: String? = nil, at: Int) {
      guard let device = devices[token], device.at <= at, user ?? device.user == device.user else { return }
      devices[token] = nil
      loseAttributes(device.user)
    }

    private mutating func enter(_ token: Int, _ device: Device, _ given: [String: String]) -> Bool {
      if let known = devices[token] {
        guard known.at <= device.at else { return false }
        if known.user != device.user {
          devices[token] = nil
          loseAttributes(known.user)
        }
      }
      devices[token] = device
      if lost.contains(device.user) {
        vague.insert(device.user)
      } else if !given.isEmpty {
        vague.remove(device.user)
      }
      if !given.isEmpty { attributes[device.user] = given }
      return true
    }

    mutating func apply(_ event: RegistrationEvent, lastDeviceOnly: Set<String>) {
      switch event.change {
      case .register(let row):
        let device = Device(user: row.user, at: event.at, app: row.app ?? "", locale: row.locale ?? "")
        _ = enter(number(row.token), device, row.attributes)
      case .login(let row):
        let token = number(row.token)
        let known = devices[token]
        let device = Device(
          user: row.user, at: event.at, app: row.app ?? known?.app ?? "", locale: row.locale ?? known?.locale ?? "")
        _ = enter(token, device, row.attributes)
        guard lastDeviceOnly.contains(device.app) else { return }
        for (other, held) in devices where held.user == row.user && other != token && held.app == device.app {
          remove(other, at: event.at)
        }
      case .unregister(let token, _): remove(number(token), at: event.at)
      case .logout(let user, let token, _): remove(number(token), user: user, at: event.at)
      case .badge: break
      case .tag(let user, let segments, let isMember):
        for segment in segments { set(user, segment, isMember) }
      case .preference(let user, let list, let isAllowed): set(user, list.segment, !isAllowed)
      case .attributes(let user, let changes):
        guard has(user) else { return }
        for (name, value) in changes { attributes[user, default: [:]][name] = value }
        if attributes[user]?.isEmpty == true { attributes[user] = nil }
      }
    }

    private mutating func set(_ user: String, _ segment: String, _ isMember: Bool) {
      if isMember { members[segment, default: []].insert(user) } else { members[segment]?.remove(user) }
    }

    private func number(_ token: DeviceToken) -> Int { token.bytes.suffix(8).reduce(0) { $0 << 8 | Int($1) } }
  }

  @Test(arguments: Backend.allCases, [1, 40, 700])
  func randomEventsLeaveWhatTheyWouldOneByOne(on backend: Backend, page: Int) async throws {
    var seed = Seed("randomEventsLeaveWhatTheyWouldOneByOne")
    let world = try await TestStore(on: backend)
    var model = Model()
    // A device that leaves by another's login, and is logged in itself by the same call, is what it was: one by one it would
    // be a new one.
    let apps: Set<String> = page == 1 ? ["shop"] : []
    let events = try (0..<(page == 1 ? 250 : 1400)).map { try Self.event($0, &seed) }
    for start in stride(from: 0, to: events.count, by: page) {
      let part = Array(events[start..<min(start + page, events.count)])
      try await world.store.apply(part, lastDeviceOnly: apps)
      // Applied again, as when its worker has died, it is the same, as long as nothing has come between.
      if Bool.random(using: &seed), part.allSatisfy(Self.isRepeatable) {
        try await world.store.apply(part, lastDeviceOnly: apps)
      }
      model.turnPage()
      for event in part { model.apply(event, lastDeviceOnly: apps) }
    }
    try await expect(world, model, "seed \(seed.value)")
  }

  /// A device that leaves and comes again in one page may have other attributes in between.
  private static func isRepeatable(_ event: RegistrationEvent) -> Bool {
    switch event.change {
    case .tag, .preference, .badge: true
    case .register, .login, .unregister, .logout, .attributes: false
    }
  }

  private static func event(_ number: Int, _ seed: inout Seed) throws -> RegistrationEvent {
    let user = "u\(Int.random(in: 0..<15, using: &seed))"
    let token = try #require(DeviceToken(bytes: TestStore.token(Int.random(in: 0..<25, using: &seed))))
    // Some come late.
    let at = 1_700_000_000_000 + 1000 * (number - (Int.random(in: 0..<5, using: &seed) == 0 ? 30 : 0))
    var row = DeviceRow(user: user, token: token, service: TestStore.service.name, registeredAt: at)
    row.app = [nil, "news", "shop"].randomElement(using: &seed) ?? nil
    row.locale = [nil, "de", "en-GB"].randomElement(using: &seed) ?? nil
    if Bool.random(using: &seed) { row.attributes = ["plan": "p\(number)"] }
    let segments = Array(["a", "b", "c"].shuffled(using: &seed).prefix(2))
    let list = SuppressionList(app: "news", category: Bool.random(using: &seed) ? "offers" : nil)
    let change: RegistrationEvent.Change =
      switch Int.random(in: 0..<12, using: &seed) {
      case 0...3: .register(row)
      case 4...5: .login(row)
      case 6: .unregister(token, service: row.service)
      case 7: .logout(user: user, token, service: row.service)
      case 8...9: .tag(user: user, segments: segments, isMember: .random(using: &seed))
      case 10: .preference(user: user, list, isAllowed: .random(using: &seed))
      default: .attributes(user: user, ["age": "\(number)", "plan": Bool.random(using: &seed) ? nil : "q\(number)"])
      }
    return RegistrationEvent(change, at: at)
  }

  private func expect(_ world: TestStore, _ model: Model, _ comment: Comment) async throws {
    for number in 0..<15 {
      let user = "u\(number)"
      let known = try await world.store.user(user)
      let expected = model.devices.filter { $0.value.user == user }
      #expect(
        Set(known?.devices.map(\.token) ?? []) == Set(expected.keys.map { TestStore.token($0) }), "\(user), \(comment)")
      for device in known?.devices ?? [] {
        let model = expected.first { TestStore.token($0.key) == device.token }?.value
        #expect(device.app == model?.app && device.locale == model?.locale, "\(user), \(comment)")
        #expect(Int(device.registeredAt) == model?.at, "\(user), \(comment)")
      }
      let attributes = DeviceRegistration.json(model.attributes[user] ?? [:])
      if !model.vague.contains(user) { #expect(known?.attributes ?? [] == attributes, "\(user), \(comment)") }
      let lists = try await world.store.lists(of: user)
      let names = Set(lists.segments + lists.suppression.map(\.segment))
      #expect(names == Set(model.members.filter { $0.value.contains(user) }.keys), "\(user), \(comment)")
    }
    for (token, device) in model.devices {
      let owner = try await world.store.owners(of: [try TestStore.deviceToken(token)], TestStore.service)
      #expect(owner == [device.user], "\(token), \(comment)")
    }
  }

  // MARK: The list

  @Test(arguments: Backend.allCases)
  func onlyTheHousekeeperTakesEventsOffTheList(on backend: Backend) async throws {
    let world = try await TestStore(on: backend)
    for number in 0..<5 { try await world.command("LPUSH", world.keys.events(.registrations), "e\(number)") }
    #expect(try await world.store.events(on: .registrations) == (0..<5).map { Array("e\($0)".utf8) })
    var chance = SystemRandomNumberGenerator()
    let (mine, other) = (
      WorkerInstance(name: "a", using: &chance), WorkerInstance(name: "b", using: &chance)
    )
    #expect(try await world.store.takeOff(2, .registrations, dead: [], as: mine) == false)
    let chores = try await world.store.housekeep(as: mine, timeout: 600_000, beat: 250, idleBeat: nil)
    #expect(chores?.events == [.registrations])
    #expect(try await world.store.takeOff(2, .registrations, dead: [], as: other) == false)
    let dead = CampaignStore.DeadEvent(event: Array("e1".utf8), reason: "registration event: none")
    #expect(try await world.store.takeOff(2, .registrations, dead: [dead], as: mine))
    #expect(try await world.store.events(on: .registrations) == (2..<5).map { Array("e\($0)".utf8) })
    var found: [DeadJob] = []
    try await world.store.forEachDeadJob { found.append($0) }
    let entry = try #require(found.first)
    #expect(
      found.count == 1 && entry.list == .registrations && entry.reason == "registration event: none" && entry.id == nil)
    // Back on the list, behind what came since.
    try await world.store.retryEvent(entry)
    #expect(try await world.store.events(on: .registrations).last == Array("e1".utf8))
    await #expect(throws: StoreError.self) { try await world.store.retryEvent(entry) }
    #expect(try await world.store.takeOff(4, .registrations, dead: [], as: mine))
    #expect(try await world.command("EXISTS", world.keys.events(.registrations)).integer == 0)
    let none = try await world.store.housekeep(as: mine, timeout: 600_000, beat: 250, idleBeat: nil)
    #expect(none?.events == [])
  }

  @Test func attributesThatNobodyChangesStayByteForByte() {
    let known = Array(#"{"a":1.50,"b":[1, 2],"c":"\u00e9","d":12345678901234567890}"#.utf8)
    let changed = CampaignStore.attributes(known, changed: ["c": nil, "e": "x\"y"])
    #expect(String(decoding: changed, as: UTF8.self) == #"{"a":1.50,"b":[1, 2],"d":12345678901234567890,"e":"x\"y"}"#)
    #expect(CampaignStore.attributes(Array(#"{"a":"1"}"#.utf8), changed: ["a": nil]).isEmpty)
    let many = Dictionary(uniqueKeysWithValues: (100..<164).map { ("k\($0)", String?.some("v")) })
    let full = CampaignStore.attributes(known, changed: many)
    #expect(
      String(decoding: full, as: UTF8.self).contains("k163") && !String(decoding: full, as: UTF8.self).contains("1.50"))
  }
}
