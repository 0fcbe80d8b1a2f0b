@testable import CampaignStore
import PushCore

/// Expected state of the registry after statements about users and devices. It follows from the times of the statements
/// alone, so the order of arrival has no effect.
struct RegistryModel {
  /// A statement with the user and token of the history.
  enum Statement {
    case event(RegistrationEvent)
    /// An erasure of the user.
    case erasure(user: String, at: Int)
  }

  /// Registry data of a user.
  struct User: Equatable {
    /// Device data by token.
    var devices: [String: String] = [:]
    var attributes = ""
    var lists: Set<String> = []
    var badges: [String: Int] = [:]
  }

  private struct Registration {
    var user: String
    var at: Int
    var app: String
    var locale: String
  }

  private struct Pair: Hashable {
    var user: String
    var other: String
  }

  private var registrations: [String: Registration] = [:]
  private var unregistered: [String: Int] = [:]
  private var loggedOut: [Pair: Int] = [:]
  /// For apps with one device for each user: the latest login and its token, by user and app.
  private var alone: [Pair: (at: Int, token: String)] = [:]
  private var erased: [String: Int] = [:]
  private var members: [Pair: (at: Int, isMember: Bool)] = [:]
  private var badges: [Pair: (at: Int, value: Int)] = [:]
  private var wholes: [String: (at: Int, values: [String: String])] = [:]
  private var values: [Pair: (at: Int, value: String?)] = [:]

  /// - Parameter exclusive: apps with one device for each user.
  init(_ statements: [Statement], exclusive: Set<String>) {
    for case .erasure(let user, let at) in statements { erased[user] = max(at, erased[user] ?? 0) }
    for case .event(let event) in statements { apply(event, exclusive) }
  }

  private mutating func apply(_ event: RegistrationEvent, _ exclusive: Set<String>) {
    let at = event.at
    func isVoid(_ user: String) -> Bool { at <= erased[user] ?? -1 }
    switch event.change {
    case .register(let row): register(row)
    case .login(let row):
      register(row)
      let app = row.app ?? ""
      if exclusive.contains(app), at > alone[Pair(user: row.user, other: app)]?.at ?? -1 {
        alone[Pair(user: row.user, other: app)] = (at, Self.name(row.token))
      }
    case .unregister(let token, _): unregistered[Self.name(token)] = max(at, unregistered[Self.name(token)] ?? 0)
    case .logout(let user, let token, _):
      let pair = Pair(user: user, other: Self.name(token))
      loggedOut[pair] = max(at, loggedOut[pair] ?? 0)
    case .tag(let user, let segments, let isMember):
      guard !isVoid(user) else { return }
      for segment in segments {
        let pair = Pair(user: user, other: segment)
        if at > members[pair]?.at ?? -1 || at == members[pair]?.at && !isMember { members[pair] = (at, isMember) }
      }
    case .preference(let user, let list, let isAllowed):
      guard !isVoid(user) else { return }
      let pair = Pair(user: user, other: list.segment)
      if at > members[pair]?.at ?? -1 || at == members[pair]?.at && !isAllowed { members[pair] = (at, !isAllowed) }
    case .badge(let user, let app, let value):
      guard !isVoid(user) else { return }
      let pair = Pair(user: user, other: app)
      if at > badges[pair]?.at ?? -1 || at == badges[pair]?.at && value < badges[pair]?.value ?? 0 {
        badges[pair] = (at, value)
      }
    case .attributes(let user, let changes):
      guard !isVoid(user) else { return }
      for (name, value) in changes {
        let pair = Pair(user: user, other: name)
        if let known = values[pair], known.at >= at {
          if known.at == at { values[pair] = (at, Self.greater(known.value, value)) }
        } else {
          values[pair] = (at, value)
        }
      }
    }
  }

  private mutating func register(_ row: DeviceRow) {
    let at = row.registeredAt ?? 0
    let token = Self.name(row.token)
    if at > registrations[token]?.at ?? -1 {
      registrations[token] = Registration(user: row.user, at: at, app: row.app ?? "", locale: row.locale ?? "")
    }
    if !row.attributes.isEmpty, at > erased[row.user] ?? -1, at >= wholes[row.user]?.at ?? -1 {
      // If two statements have the same time, the one with the greater text wins.
      let (text, known) = (Self.text(row.attributes), wholes[row.user].map { Self.text($0.values) } ?? "")
      if at > wholes[row.user]?.at ?? -1 || text > known { wholes[row.user] = (at, row.attributes) }
    }
  }

  private static func text(_ attributes: [String: String]) -> String {
    String(decoding: DeviceRegistration.json(attributes), as: UTF8.self)
  }

  private static func greater(_ one: String?, _ other: String?) -> String? {
    guard let one, let other else { return nil }
    return max(one, other)
  }

  static func name(_ token: DeviceToken) -> String { String(decoding: Hex.encode(token.bytes), as: UTF8.self) }

  /// Returns the final registry data of a user.
  func user(_ user: String) -> User {
    var known = User()
    for (token, device) in registrations where device.user == user {
      guard device.at > unregistered[token] ?? -1, device.at > loggedOut[Pair(user: user, other: token)] ?? -1,
        device.at > erased[user] ?? -1
      else { continue }
      let last = alone[Pair(user: user, other: device.app)]
      if let last, last.token != token, device.at <= last.at { continue }
      known.devices[token] = "\(device.at) \(device.app) \(device.locale)"
    }
    let whole = wholes[user]
    var attributes = whole?.values ?? [:]
    for (pair, own) in values where pair.user == user && own.at >= whole?.at ?? -1 {
      attributes[pair.other] =
        own.at == whole?.at ? Self.greater(whole?.values[pair.other], own.value) : own.value
    }
    attributes = attributes.filter { !$0.key.isEmpty }
    known.attributes = String(decoding: DeviceRegistration.json(attributes), as: UTF8.self)
    for (pair, member) in members where pair.user == user && member.isMember { known.lists.insert(pair.other) }
    for (pair, badge) in badges where pair.user == user && badge.value > 0 { known.badges[pair.other] = badge.value }
    return known
  }

  /// Returns the owner of each registered token.
  func owners(among users: [String]) -> [String: String] {
    var owners: [String: String] = [:]
    for name in users { for token in user(name).devices.keys { owners[token] = name } }
    return owners
  }
}
