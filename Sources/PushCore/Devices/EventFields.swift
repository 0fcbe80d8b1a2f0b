/// Members of a registration event or receipt. A parser takes the known members one by one, and reports the members
/// that remain as unknown.
struct EventFields {
  private var members: [JSONValue.Member]

  /// Maximum size of an event in bytes.
  private static let maximumSize = DeviceRowReader.maximumRecord

  init(parsing bytes: [UInt8]) throws(DeviceRowDraft.Problem) {
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
    self.members = members
  }

  private mutating func value(_ name: String) -> JSONValue? {
    guard let index = members.firstIndex(where: { $0.name == name }) else { return nil }
    let value = members.remove(at: index).value
    if case .null = value.kind { return nil }
    return value
  }

  /// Removes a member and returns its text; `nil` if it is missing.
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

  mutating func required(_ name: String) throws(DeviceRowDraft.Problem) -> String {
    guard let text = try take(name), !text.isEmpty else { throw .init(description: "\(name): is missing") }
    return text
  }

  mutating func user() throws(DeviceRowDraft.Problem) -> String {
    guard let value = value("user") else { throw .init(description: "user: is missing") }
    do throws(IdentifierError) { return try UserID.read(value) } catch { throw .init(error) }
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

  /// Maximum badge count in an event.
  static let maximumOnIcon = 999_999_999

  mutating func badge() throws(DeviceRowDraft.Problem) -> Int {
    let text = try required("value")
    guard let value = Int(text), 0...Self.maximumOnIcon ~= value else {
      throw .init(
        description: "value: \(Excerpt.quoted(text)) is not a whole number from 0 to \(Self.maximumOnIcon)")
    }
    return value
  }

  mutating func tags() throws(DeviceRowDraft.Problem) -> [String] {
    guard let value = value("tags") else { throw .init(description: "tags: is missing") }
    guard case .array(let elements) = value.kind, 1...RegistrationEvent.maximumTags ~= elements.count else {
      throw .init(description: "tags: must be an array of 1 to \(RegistrationEvent.maximumTags) segments")
    }
    var tags: [String] = []
    for element in elements {
      guard case .string(let text) = element.kind, let name = PlainName.read(text) else {
        throw .init(description: "tags: a segment's name is \(PlainName.form)")
      }
      tags.append(name)
    }
    return tags
  }

  /// Removes the token and its service and returns them. If the service is missing, the token belongs to the service of
  /// the app.
  mutating func token(
    _ vocabulary: DeviceVocabulary
  ) throws(DeviceRowDraft.Problem) -> (token: DeviceToken, service: String) {
    var draft = DeviceRowDraft(vocabulary)
    // ``DeviceRowDraft`` requires a user. Only the token and the service of the row are used here, so any user is
    // sufficient.
    try draft.set(.user, to: "-")
    for column in [DeviceColumn.token, .service, .app] {
      if let text = try take(column.rawValue) { try draft.set(column, to: text) }
    }
    let row = try draft.row()
    return (row.token, row.service)
  }

  /// Removes all remaining members and returns them as one device, with the rules of a device file.
  mutating func row(_ vocabulary: DeviceVocabulary) throws(DeviceRowDraft.Problem) -> DeviceRow {
    var draft = DeviceRowDraft(vocabulary)
    try draft.set(.user, to: try user())
    for column in DeviceColumn.allCases {
      if let text = try take(column.rawValue) { try draft.accept(column, text) }
    }
    for (name, text) in try attributes(vocabulary, mayBeNone: true) {
      if let text { try draft.setAttribute(name, to: text) }
    }
    return try draft.row()
  }

  /// Removes all remaining members and returns them as attributes; a member that is `null` or empty becomes an
  /// attribute with the value `nil`, which removes the attribute.
  mutating func attributes(
    _ vocabulary: DeviceVocabulary, mayBeNone: Bool = false
  ) throws(DeviceRowDraft.Problem) -> [String: String?] {
    var draft = DeviceRowDraft(vocabulary)
    var attributes: [String: String?] = [:]
    for member in members {
      let name = try vocabulary.attributeName(member.name)
      if case .null = member.value.kind {
        attributes[name] = .some(nil)
      } else {
        let text = Identifier.composed(try Self.text(member.value, of: name))
        try draft.setAttribute(name, to: text)
        attributes[name] = text.isEmpty ? .some(nil) : text
      }
    }
    members = []
    guard mayBeNone || !attributes.isEmpty else { throw .init(description: "no attribute is given") }
    return attributes
  }

  /// Returns the time of the event in ms since 1970, or `now` for an event without a time.
  mutating func instant(now: Int) throws(DeviceRowDraft.Problem) -> Int {
    guard let text = try take("at") else { return now }
    do throws(IdentifierError) { return try InstantText.read(text, "at", now: now) } catch { throw .init(error) }
  }

  /// Checks that all members were removed.
  ///
  /// - Throws: an error if an unknown member remains.
  func end() throws(DeviceRowDraft.Problem) {
    guard let first = members.first else { return }
    throw .init(description: "\(Excerpt.quoted(first.name)): unknown field in this event")
  }
}
