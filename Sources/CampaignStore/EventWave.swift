import PushCore

/// Events that can be applied together. Pure.
///
/// What is said of devices is of four kinds, and one kind is applied behind the other; so no user and no token may be in
/// two of them, or twice where one is read before it is written. Of a segment only the last word about a user counts,
/// and it depends on nothing else.
struct EventWave {
  /// A device that a user has from now on.
  struct Login {
    var row: DeviceRow
  }

  /// A device that leaves.
  struct Removal {
    var token: CampaignStore.OwnedToken
    /// Whose it must be; `nil` for anybody's.
    var user: String?
    var at: Int
  }

  /// What is said of devices.
  struct Devices {
    var registrations: [DeviceRegistration] = []
    var logins: [Login] = []
    var removals: [Removal] = []
    /// By user and name; `nil` for an attribute that is to go.
    var attributes: [String: [String: String?]] = [:]
    /// By user and app.
    var badges: [String: [String: Int]] = [:]
    /// Of which kind what is said of a user or a token is.
    fileprivate var kinds: [Subject: Kind] = [:]
  }

  fileprivate enum Subject: Hashable {
    case user(String)
    case token([UInt8], service: String)
  }

  fileprivate enum Kind {
    case registration, login, removal, attributes, badges
  }

  var devices = Devices()
  /// Segment to user to whether they are in it.
  private(set) var members: [String: [String: Bool]] = [:]

  /// - Returns: false when what is said of devices so far must be applied first.
  mutating func add(_ event: RegistrationEvent) -> Bool {
    switch event.change {
    case .tag(let user, let segments, let isMember):
      for segment in segments { members[segment, default: [:]][user] = isMember }
    case .preference(let user, let list, let isAllowed):
      members[list.segment, default: [:]][user] = !isAllowed
    case .register(let row):
      guard enter(.registration, .user(row.user), .token(row.token.bytes, service: row.service)) else { return false }
      devices.registrations.append(DeviceRegistration(row))
    case .login(let row):
      guard enter(.login, .user(row.user), .token(row.token.bytes, service: row.service)) else { return false }
      devices.logins.append(Login(row: row))
    case .unregister(let token, let service):
      guard enter(.removal, .token(token.bytes, service: service)) else { return false }
      devices.removals.append(Removal(token: .init(token.bytes, service), user: nil, at: event.at))
    case .logout(let user, let token, let service):
      guard enter(.removal, .user(user), .token(token.bytes, service: service)) else { return false }
      devices.removals.append(Removal(token: .init(token.bytes, service), user: user, at: event.at))
    case .attributes(let user, let changes):
      guard enter(.attributes, .user(user)) else { return false }
      devices.attributes[user, default: [:]].merge(changes) { $1 }
    case .badge(let user, let app, let value):
      guard enter(.badges, .user(user)) else { return false }
      devices.badges[user, default: [:]][app] = value
    }
    return true
  }

  private mutating func enter(_ kind: Kind, _ subjects: Subject...) -> Bool {
    // A login reads who has the device, and writes it.
    let isFree = subjects.allSatisfy { devices.kinds[$0].map { $0 == kind && kind != .login } ?? true }
    guard isFree else { return false }
    for subject in subjects { devices.kinds[subject] = kind }
    return true
  }
}
