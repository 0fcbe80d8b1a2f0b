/// What an app, or its backend, says of one user or device: an entry of the registrations list.
public struct RegistrationEvent: Sendable, Equatable {
  /// What changes.
  public enum Change: Sendable, Equatable {
    /// The user has the device, with all that is known of it.
    case register(DeviceRow)
    /// The user has the device from now on; what was known of it stays.
    case login(DeviceRow)
    /// Nobody has the device any more.
    case unregister(DeviceToken, service: String)
    /// The user does not have the device any more.
    case logout(user: String, DeviceToken, service: String)
    /// The user comes into segments, or leaves them.
    case tag(user: String, segments: [String], isMember: Bool)
    /// Attributes of the user get another value, or none.
    case attributes(user: String, [String: String?])
    /// The user wants what is on a list, or does not want it.
    case preference(user: String, SuppressionList, isAllowed: Bool)
    /// The number on the app's icon is this, wherever the user sees it: the app was opened.
    case badge(user: String, app: String, value: Int)
  }

  /// What changes.
  public var change: Change
  /// When it happened, in ms since the epoch.
  public var at: Int

  /// The reason why the event's time zone was refused; `nil` where nothing was. The rest of the event applies.
  public var refusal: DeviceRowDraft.Problem? {
    switch change {
    case .register(let row), .login(let row): row.refusal.map { DeviceRowDraft.Problem(description: $0) }
    default: nil
    }
  }

  /// Memberwise.
  public init(_ change: Change, at: Int) {
    self.change = change
    self.at = at
  }

  /// Segments that one event names at most.
  public static let maximumTags = 100

  private enum Operation: String, CaseIterable {
    case register, login, unregister, logout, tag, untag, attribute, preference, badge
  }

  /// - Parameters:
  ///   - bytes: one JSON object.
  ///   - vocabulary: what it may name; its time is the time of an event that gives none.
  public init(parsing bytes: [UInt8], _ vocabulary: DeviceVocabulary) throws(DeviceRowDraft.Problem) {
    var fields = try EventFields(parsing: bytes)
    let name = try fields.required("op")
    guard let operation = Operation(rawValue: name) else {
      throw .init(
        description: "op: \(Excerpt.quoted(name)) is none of "
          + Operation.allCases.map(\.rawValue).joined(separator: ", "))
    }
    at = try fields.instant(now: vocabulary.now)
    switch operation {
    case .register, .login:
      var row = try fields.row(vocabulary)
      if row.registeredAt == nil { row.registeredAt = at }
      change = operation == .register ? .register(row) : .login(row)
    case .unregister:
      let (token, service) = try fields.token(vocabulary)
      change = .unregister(token, service: service)
    case .logout:
      let user = try fields.user()
      let (token, service) = try fields.token(vocabulary)
      change = .logout(user: user, token, service: service)
    case .tag, .untag:
      change = .tag(user: try fields.user(), segments: try fields.tags(), isMember: operation == .tag)
    case .attribute:
      change = .attributes(user: try fields.user(), try fields.attributes(vocabulary))
    case .preference:
      let user = try fields.user()
      let list = SuppressionList(app: try fields.app(vocabulary), category: try fields.category())
      change = .preference(user: user, list, isAllowed: try fields.flag("allowed"))
    case .badge:
      change = .badge(user: try fields.user(), app: try fields.app(vocabulary), value: try fields.badge())
    }
    try fields.end()
  }
}

/// Events that name no time happened when they are read, in the order of their list.
extension RegistrationEvent {
  /// Returns by how many ms each event that names no time is before the last of its list: so many that no two events about the
  /// same user or token have the same time.
  ///
  /// - Parameters:
  ///   - events: in the order of their list.
  ///   - time: which events have that name none, in ms since the epoch.
  /// - Returns: one number for each event; 0 for events that name their time.
  public static func offsets(of events: [RegistrationEvent], without time: Int) -> [Int] {
    var offsets = Array(repeating: 0, count: events.count)
    var next: [Subject: Int] = [:]
    for index in events.indices.reversed() where events[index].at == time {
      let subjects = events[index].subjects
      let offset = subjects.compactMap { next[$0] }.max() ?? 0
      offsets[index] = offset
      for subject in subjects { next[subject] = offset + 1 }
    }
    return offsets
  }

  /// Changes the time of an event that names none.
  ///
  /// - Parameter instant: ms since the epoch.
  public mutating func move(to instant: Int) {
    switch change {
    case .register(var row) where row.registeredAt == at:
      row.registeredAt = instant
      change = .register(row)
    case .login(var row) where row.registeredAt == at:
      row.registeredAt = instant
      change = .login(row)
    default: break
    }
    at = instant
  }

  private enum Subject: Hashable {
    case user(String)
    case token(DeviceToken)
  }

  /// The user and the token that an event is about, as far as it names them.
  private var subjects: [Subject] {
    switch change {
    case .register(let row), .login(let row): [.user(row.user), .token(row.token)]
    case .unregister(let token, _): [.token(token)]
    case .logout(let user, let token, _): [.user(user), .token(token)]
    case .tag(let user, _, _), .attributes(let user, _), .preference(let user, _, _), .badge(let user, _, _):
      [.user(user)]
    }
  }
}
