import PushCore

/// A batch of events that can be applied together.
///
/// An event makes *statements*, for example that a user has a device. There are several kinds of statements about
/// devices, and the store applies one kind after the other. If a user or a token occurred in two kinds, this order
/// could change the result. The same is true for two logins, because a login copies data from the stored device.
/// Therefore no user or token of a batch occurs in two kinds or in two logins. For memberships and badges, only the
/// latest statement goes to Redis.
struct EventBatch {
  /// A device that a user has from now on.
  struct Login {
    var row: DeviceRow
  }

  /// The number on an app's icon.
  struct Badge {
    var value: Int
    /// Time of the app's report, in ms since the epoch.
    var at: Int
  }

  /// The statements about devices, and about users' attributes and badges.
  struct Devices {
    var registrations: [DeviceRegistration] = []
    var logins: [Login] = []
    /// Devices that users have lost.
    var logouts: [Registry.DeviceEdit] = []
    /// Tokens that belong to no user from now on.
    var removals: [Registry.TokenRemoval] = []
    /// Statements about attributes, by user.
    var attributes: [String: [UserAttributes.Statement]] = [:]
    /// Badges by user and app.
    var badges: [String: [String: Badge]] = [:]
    /// For each user and token: the kind of the statements about it.
    fileprivate var kinds: [Subject: Kind] = [:]
  }

  fileprivate enum Subject: Hashable {
    case user(String)
    case token([UInt8], service: String)
  }

  fileprivate enum Kind {
    case registration, login, removal
  }

  var devices = Devices()
  /// The latest statement by segment and user.
  private(set) var members: [String: [String: MembershipStatement]] = [:]
  /// Number of statements that were dropped, because the batch has a newer one about the same data.
  private(set) var superseded = 0

  /// Adds an event.
  /// - Returns: false, without a change, if the statements about devices in the batch must be applied first.
  mutating func add(_ event: RegistrationEvent) -> Bool {
    switch event.change {
    case .tag(let user, let segments, let isMember):
      for segment in segments { enter(.init(isMember: isMember, at: event.at), of: user, in: segment) }
    case .preference(let user, let list, let isAllowed):
      enter(.init(isMember: !isAllowed, at: event.at), of: user, in: list.segment)
    case .register(let row):
      guard enter(.registration, .user(row.user), .token(row.token.bytes, service: row.service)) else { return false }
      devices.registrations.append(DeviceRegistration(row))
    case .login(let row):
      guard enter(.login, .user(row.user), .token(row.token.bytes, service: row.service)) else { return false }
      devices.logins.append(Login(row: row))
    case .unregister(let token, let service):
      guard enter(.removal, .token(token.bytes, service: service)) else { return false }
      devices.removals.append(.init(token: .init(token.bytes, service), at: event.at))
    case .logout(let user, let token, let service):
      guard enter(.removal, .user(user), .token(token.bytes, service: service)) else { return false }
      devices.logouts.append(
        .init(user: user, token: .init(token.bytes, service), action: .remove, instant: event.at))
    case .attributes(let user, let changes):
      devices.attributes[user, default: []].append(.init(change: .values(changes), at: event.at))
    case .badge(let user, let app, let value):
      enter(Badge(value: value, at: event.at), of: user, in: app)
    }
    return true
  }

  private mutating func enter(_ statement: MembershipStatement, of user: String, in segment: String) {
    guard let known = members[segment]?[user] else {
      members[segment, default: [:]][user] = statement
      return
    }
    let stands = known.supersedes(statement, memberWins: Audiences.memberWins(in: segment))
    if !stands { members[segment]?[user] = statement }
    if known != statement { superseded += 1 }
  }

  private mutating func enter(_ badge: Badge, of user: String, in app: String) {
    guard let known = devices.badges[user]?[app] else {
      devices.badges[user, default: [:]][app] = badge
      return
    }
    if (badge.at, -badge.value) > (known.at, -known.value) { devices.badges[user]?[app] = badge }
    if (badge.at, badge.value) != (known.at, known.value) { superseded += 1 }
  }

  private mutating func enter(_ kind: Kind, _ subjects: Subject...) -> Bool {
    // A login reads and writes the owner of the device. Each user or token can therefore occur in only one login of a
    // batch.
    let isFree = subjects.allSatisfy { devices.kinds[$0].map { $0 == kind && kind != .login } ?? true }
    guard isFree else { return false }
    for subject in subjects { devices.kinds[subject] = kind }
    return true
  }
}

/// A statement that a user is, or is not, in a segment or a suppression list.
struct MembershipStatement: Equatable {
  var isMember: Bool
  /// Time of the statement, in ms since the epoch; `nil` for now, by Redis' clock.
  var at: Int?

  /// Returns whether this statement wins over another one. A statement without a time counts as the latest.
  fileprivate func supersedes(_ other: MembershipStatement, memberWins: Bool) -> Bool {
    let (mine, others) = (at ?? .max, other.at ?? .max)
    return mine == others ? isMember == memberWins || isMember == other.isMember : mine > others
  }
}
