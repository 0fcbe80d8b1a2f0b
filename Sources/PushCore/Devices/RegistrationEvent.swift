/// Registration event: a change of one user or device that an app or its backend reports. Such events are the entries
/// of the registrations list in Redis.
public struct RegistrationEvent: Sendable, Equatable {
  /// Change of a user or device.
  public enum Change: Sendable, Equatable {
    /// The device belongs to the user and has exactly these details.
    case register(DeviceRow)
    /// The device belongs to the user from this event on; its details do not change.
    case login(DeviceRow)
    /// The device is removed.
    case unregister(DeviceToken, service: String)
    /// The device is removed from this user.
    case logout(user: String, DeviceToken, service: String)
    /// The user is added to segments or removed from them.
    case tag(user: String, segments: [String], isMember: Bool)
    /// Attributes of the user get these values; `nil` removes an attribute.
    case attributes(user: String, [String: String?])
    /// The user opts out of the app or category of a suppression list, or opts in again.
    case preference(user: String, SuppressionList, isAllowed: Bool)
    /// The user opened the app, so the badge count of the app gets this value on all devices of the user.
    case badge(user: String, app: String, value: Int)
  }

  /// The change.
  public var change: Change
  /// Time of the event in ms since the epoch.
  public var at: Int

  /// Reason why the event's time zone was refused; `nil` if it was not refused. The rest of the event applies.
  public var refusal: DeviceRowDraft.Problem? {
    switch change {
    case .register(let row), .login(let row): row.refusal.map { DeviceRowDraft.Problem(description: $0) }
    default: nil
    }
  }

  /// Creates an instance with these values.
  public init(_ change: Change, at: Int) {
    self.change = change
    self.at = at
  }

  /// Maximum number of segments in one event.
  public static let maximumTags = 100

  private enum Operation: String, CaseIterable {
    case register, login, unregister, logout, tag, untag, attribute, preference, badge
  }

  /// - Parameters:
  ///   - bytes: one JSON object.
  ///   - vocabulary: the allowed names. An event without a time gets the time ``DeviceVocabulary/now``.
  public init(parsing bytes: [UInt8], _ vocabulary: DeviceVocabulary) throws(DeviceRowDraft.Problem) {
    var fields = try EventFields(parsing: bytes)
    let name = try fields.required("op")
    guard let operation = Operation(rawValue: name) else {
      throw .init(
        description: "op: \(Excerpt.quoted(name)) is not one of "
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

/// Assignment of times to events that contain no time: the time at which Carillon read them, with small offsets that
/// keep the order of the list.
extension RegistrationEvent {
  /// Returns the number of ms to subtract from the time of reading, for each event without a time. The offsets are
  /// chosen so that no two events about the same user or token have the same time.
  ///
  /// - Parameters:
  ///   - events: the events in the order of their list.
  ///   - time: the time of reading, in ms since the epoch. Events without a time have this time before the call.
  /// - Returns: one number for each event; 0 for events with their own time.
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

  /// Sets the time of an event that does not contain a time.
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

  /// User and token of the event, if it contains them.
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
