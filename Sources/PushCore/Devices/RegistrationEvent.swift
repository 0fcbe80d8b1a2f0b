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
  }

  /// What changes.
  public var change: Change
  /// When it happened, in ms since the epoch.
  public var at: Int

  /// Memberwise.
  public init(_ change: Change, at: Int) {
    self.change = change
    self.at = at
  }

  /// The largest event in bytes.
  public static let maximumSize = DeviceRowReader.maximumRecord
  /// Segments that one event names at most.
  public static let maximumTags = 100
  /// ms by which an event may be ahead of Redis' clock: what is later would undo everything that comes until then.
  private static let mostAhead = 86_400_000
  /// ms since the epoch before which no time of an event lies: smaller numbers are seconds, by mistake.
  private static let earliest = 1_000_000_000_000

  private enum Operation: String, CaseIterable {
    case register, login, unregister, logout, tag, untag, attribute, preference
  }

  /// - Parameters:
  ///   - bytes: one JSON object.
  ///   - vocabulary: what it may name.
  ///   - now: ms since the epoch; the time of an event that gives none.
  public init(
    parsing bytes: [UInt8], _ vocabulary: DeviceVocabulary, now: Int
  ) throws(DeviceRowDraft.Problem) {
    guard bytes.count <= Self.maximumSize else {
      throw .init(description: "\(bytes.count) bytes, an event has at most \(Self.maximumSize)")
    }
    let value: JSONValue
    do {
      value = try JSONValue(parsing: bytes, maximumDepth: 4)
    } catch {
      throw .init(description: "not valid JSON: column \(error.column): \(error.message)")
    }
    guard case .object(let members) = value.kind else {
      throw .init(description: "must be a JSON object, not \(value.kindName)")
    }
    var fields = EventFields(members)
    guard let name = try fields.take("op") else { throw .init(description: "op: is missing") }
    guard let operation = Operation(rawValue: name) else {
      throw .init(
        description: "op: \(Excerpt.quoted(name)) is none of "
          + Operation.allCases.map(\.rawValue).joined(separator: ", "))
    }
    at = try Self.instant(fields.take("at"), now: now)
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
    }
    try fields.end()
  }

  private static func instant(_ text: String?, now: Int) throws(DeviceRowDraft.Problem) -> Int {
    guard let text else { return now }
    guard let instant = Int(text) ?? Timestamp.milliseconds(text) else {
      throw .init(description: "at: \(Excerpt.quoted(text)) is neither milliseconds since 1970 nor \(Timestamp.form)")
    }
    guard instant >= earliest else {
      throw .init(description: "at: \(instant) is of before 2001 in milliseconds since 1970; are these seconds?")
    }
    guard instant <= now + mostAhead else {
      throw .init(description: "at: \(Timestamp.format(milliseconds: instant)) is more than a day ahead")
    }
    return instant
  }
}

/// The members of an event, taken one by one: what is left in the end is unknown.
private struct EventFields {
  private var members: [JSONValue.Member]

  init(_ members: [JSONValue.Member]) {
    self.members = members
  }

  private mutating func value(_ name: String) -> JSONValue? {
    guard let index = members.firstIndex(where: { $0.name == name }) else { return nil }
    let value = members.remove(at: index).value
    if case .null = value.kind { return nil }
    return value
  }

  /// The text of a member; `nil` for none.
  mutating func take(_ name: String) throws(DeviceRowDraft.Problem) -> String? {
    guard let value = value(name) else { return nil }
    return try Self.text(value, of: name)
  }

  private static func text(_ value: JSONValue, of name: String) throws(DeviceRowDraft.Problem) -> String {
    switch value.kind {
    case .string(let text): return text
    case .number(let digits): return digits
    case .bool(let flag): return flag ? "true" : "false"
    case .object, .array, .null:
      throw .init(description: "\(Excerpt.quoted(name)): must be a string or a number, not \(value.kindName)")
    }
  }

  private mutating func required(_ name: String) throws(DeviceRowDraft.Problem) -> String {
    guard let text = try take(name), !text.isEmpty else { throw .init(description: "\(name): is missing") }
    return text
  }

  mutating func user() throws(DeviceRowDraft.Problem) -> String {
    let user = try required("user")
    if let problem = UserID.problem(user) { throw .init(description: problem) }
    return user
  }

  mutating func app(_ vocabulary: DeviceVocabulary) throws(DeviceRowDraft.Problem) -> String {
    var draft = DeviceRowDraft(vocabulary)
    let app = try required("app")
    try draft.set(.app, to: app)
    return app
  }

  mutating func category() throws(DeviceRowDraft.Problem) -> String? {
    guard let category = try take("category") else { return nil }
    guard PlainName.isValid(category) else {
      throw .init(description: "category: \(Excerpt.quoted(category)) is not \(PlainName.form)")
    }
    return category
  }

  mutating func flag(_ name: String) throws(DeviceRowDraft.Problem) -> Bool {
    guard let value = value(name) else { throw .init(description: "\(name): is missing") }
    guard case .bool(let flag) = value.kind else {
      throw .init(description: "\(name): must be true or false, not \(value.kindName)")
    }
    return flag
  }

  mutating func tags() throws(DeviceRowDraft.Problem) -> [String] {
    guard let value = value("tags") else { throw .init(description: "tags: is missing") }
    guard case .array(let elements) = value.kind, 1...RegistrationEvent.maximumTags ~= elements.count else {
      throw .init(description: "tags: must be an array of 1 to \(RegistrationEvent.maximumTags) segments")
    }
    var tags: [String] = []
    for element in elements {
      guard case .string(let name) = element.kind, PlainName.isValid(name) else {
        throw .init(description: "tags: a segment's name is \(PlainName.form)")
      }
      tags.append(name)
    }
    return tags
  }

  /// The token, and the service that it is of: the app's unless it is named.
  mutating func token(
    _ vocabulary: DeviceVocabulary
  ) throws(DeviceRowDraft.Problem) -> (token: DeviceToken, service: String) {
    var draft = DeviceRowDraft(vocabulary)
    // It may be anybody's.
    try draft.set(.user, to: "-")
    for column in [DeviceColumn.token, .service, .app] {
      if let text = try take(column.rawValue) { try draft.set(column, to: text) }
    }
    let row = try draft.row()
    return (row.token, row.service)
  }

  /// Everything that is left, as a row of a file of devices has it.
  mutating func row(_ vocabulary: DeviceVocabulary) throws(DeviceRowDraft.Problem) -> DeviceRow {
    var draft = DeviceRowDraft(vocabulary)
    for column in DeviceColumn.allCases {
      if let text = try take(column.rawValue) { try draft.set(column, to: text) }
    }
    for (name, text) in try attributes(vocabulary, mayBeNone: true) {
      if let text { try draft.setAttribute(name, to: text) }
    }
    return try draft.row()
  }

  /// Everything that is left, as attributes; `nil` for those that are `null`.
  mutating func attributes(
    _ vocabulary: DeviceVocabulary, mayBeNone: Bool = false
  ) throws(DeviceRowDraft.Problem) -> [String: String?] {
    var draft = DeviceRowDraft(vocabulary)
    var attributes: [String: String?] = [:]
    for member in members {
      try vocabulary.checkAttributeName(member.name)
      if case .null = member.value.kind {
        attributes[member.name] = .some(nil)
      } else {
        let text = try Self.text(member.value, of: member.name)
        try draft.setAttribute(member.name, to: text)
        attributes[member.name] = text.isEmpty ? .some(nil) : text
      }
    }
    members = []
    guard mayBeNone || !attributes.isEmpty else { throw .init(description: "no attribute is given") }
    return attributes
  }

  /// - Throws: when something is left that nobody has asked for.
  func end() throws(DeviceRowDraft.Problem) {
    guard let first = members.first else { return }
    throw .init(description: "\(Excerpt.quoted(first.name)): this op has no such field")
  }
}
