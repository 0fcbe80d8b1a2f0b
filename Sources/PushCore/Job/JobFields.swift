/// Members of one JSON object of a job, by name. `null` counts as missing, because many encoders write `null` for a
/// missing value.
public struct JobFields {
  /// Path of the object with a dot at the end; empty for the job itself.
  private let prefix: String
  private var values: [String: JSONValue]

  /// - Parameters:
  ///   - path: the path of the object; empty for the job itself.
  ///   - known: the allowed fields.
  ///   - planned: fields of the job format that this version does not support. They are errors, because a version that
  ///     ignored them would send a push that differs from the job.
  init(
    _ value: JSONValue, path: String, known: some Sequence<String>, planned: Set<String>
  ) throws(JobError) {
    guard case .object(let members) = value.kind else {
      throw JobError(
        field: path, message: (path.isEmpty ? "a job must be" : "must be") + " a JSON object, not \(value.kindName)")
    }
    prefix = path.isEmpty ? "" : path + "."
    let names = Set(known)
    var values: [String: JSONValue] = [:]
    for member in members {
      let isKnown = names.contains(member.name)
      guard isKnown || planned.contains(member.name) else {
        throw JobError(
          field: prefix + Excerpt.bare(member.name), message: "unknown field",
          hint: Nearest.hint(member.name, among: names.union(planned)))
      }
      if case .null = member.value.kind { continue }
      guard isKnown else { throw Self.notYet(field: prefix + member.name) }
      values[member.name] = member.value
    }
    self.values = values
  }

  /// Creates the fields of an object without a check of their names. `null` also counts as missing.
  ///
  /// - Parameter path: the path of the object; empty for the job itself.
  public init(_ members: [JSONValue.Member], path: String = "") {
    prefix = path.isEmpty ? "" : path + "."
    // If a name occurs twice, the first member counts, as in `members.value`.
    values = Dictionary(members.lazy.map { ($0.name, $0.value) }) { first, _ in first }
      .filter { if case .null = $1.kind { false } else { true } }
  }

  /// Returns the fields without the named ones.
  func without(_ names: Set<String>) -> JobFields {
    var fields = self
    fields.values = values.filter { !names.contains($0.key) }
    return fields
  }

  /// Returns the fields with another value for one field.
  func replacing(_ name: String, by value: JSONValue) -> JobFields {
    var fields = self
    fields.values[name] = value
    return fields
  }

  /// Returns the error for a planned field, which this version does not support.
  static func notYet(field: String, _ what: String = "this field") -> JobError {
    JobError(field: field, message: "\(what) is not supported yet", hint: "omit it, or wait for a later version")
  }

  /// Returns the path of a field in the job.
  public func path(_ name: String) -> String { prefix + name }

  /// Returns the value of a field; `nil` for none.
  public func value(_ name: String) -> JSONValue? { values[name] }

  /// Returns the error for a problem with a field.
  public func error(_ name: String, _ message: String, hint: String? = nil) -> JobError {
    JobError(field: path(name), message: message, hint: hint)
  }

  /// Returns the value of a required field.
  public func required(_ name: String) throws(JobError) -> JSONValue {
    guard let value = values[name] else { throw error(name, "is missing") }
    return value
  }

  /// Returns the text of a field; `nil` if the field is missing.
  public func string(_ name: String) throws(JobError) -> String? {
    guard let value = values[name] else { return nil }
    guard case .string(let text) = value.kind else { throw error(name, "must be a string, not \(value.kindName)") }
    return text
  }

  /// Returns the text of a required field.
  public func requiredString(_ name: String) throws(JobError) -> String {
    guard let text = try string(name) else { throw error(name, "is missing") }
    return text
  }

  /// Returns whether a field is `true`; `false` for a missing field.
  public func flag(_ name: String) throws(JobError) -> Bool {
    guard let value = values[name] else { return false }
    guard case .bool(let flag) = value.kind else {
      throw error(name, "must be true or false, not \(value.kindName)")
    }
    return flag
  }

  /// Returns the string in a field, or all strings of an array; `nil` if the field is missing.
  public func stringOrStrings(_ name: String) throws(JobError) -> [String]? {
    guard let value = values[name] else { return nil }
    if case .string(let text) = value.kind { return [text] }
    return try strings(name)
  }

  /// Returns the case of an enum whose raw value is in a field; `fallback` for a missing field.
  public func choice<Choice: RawRepresentable<String> & CaseIterable>(
    _ name: String, default fallback: Choice
  ) throws(JobError) -> Choice {
    guard let text = try string(name) else { return fallback }
    guard let choice = Choice(rawValue: text) else {
      throw error(
        name, "unknown value \(Excerpt.quoted(text))", hint: Nearest.hint(text, among: Choice.allCases.map(\.rawValue)))
    }
    return choice
  }

  /// Returns the case of an enum whose raw value is in a field; `nil` for a missing field.
  public func optionalChoice<Choice: RawRepresentable<String> & CaseIterable>(
    _ name: String
  ) throws(JobError) -> Choice? {
    guard value(name) != nil, let first = Choice.allCases.first else { return nil }
    return try choice(name, default: first)
  }

  /// Returns whether a list has an entry that replaces an erased user or token. A list with such an entry may have no
  /// other entry.
  func hasErasedEntries(_ name: String) -> Bool {
    guard case .array(let elements)? = values[name]?.kind else { return false }
    return elements.contains(where: \.isErasedEntry)
  }

  /// Returns the strings of an array; `nil` if the field is missing.
  ///
  /// - Parameter skipsErased: whether entries that replace erased users or tokens are skipped.
  public func strings(_ name: String, skipsErased: Bool = false) throws(JobError) -> [String]? {
    guard let value = values[name] else { return nil }
    guard case .array(let elements) = value.kind else { throw error(name, "must be an array, not \(value.kindName)") }
    var strings: [String] = []
    strings.reserveCapacity(elements.count)
    for (index, element) in elements.enumerated() {
      if skipsErased, element.isErasedEntry { continue }
      guard case .string(let text) = element.kind else {
        throw error("\(name)[\(index)]", "must be a string, not \(element.kindName)")
      }
      strings.append(text)
    }
    return strings
  }

  /// Returns the id of a user, read by ``UserID``.
  func user(_ value: JSONValue, _ name: String) throws(JobError) -> String {
    do throws(IdentifierError) { return try UserID.read(value) } catch { throw self.error(name, error.description) }
  }

  /// Returns the ids in an array of users; `nil` if the field is missing.
  func users(_ name: String) throws(JobError) -> [String]? {
    guard let value = values[name] else { return nil }
    guard case .array(let elements) = value.kind else { throw error(name, "must be an array, not \(value.kindName)") }
    var users: [String] = []
    users.reserveCapacity(elements.count)
    for (index, element) in elements.enumerated() where !element.isErasedEntry {
      users.append(try user(element, "\(name)[\(index)]"))
    }
    return users
  }

  /// Returns the expiration of the push; `nil` if the job has none.
  ///
  /// - Parameter sendAt: start of the campaign in ms since the epoch; `nil` skips the checks that depend on the start.
  public func expiration(sendAt: Int?) throws(JobError) -> Expiration? {
    guard let value = value("expiration") else { return nil }
    switch value.kind {
    case .number("0"), .string("0"): return .immediate
    case .string(let text):
      if let seconds = DurationText.seconds(text), seconds > 0 { return .after(seconds: seconds) }
      if let instant = Timestamp.milliseconds(text), instant >= 1000 {
        if let sendAt, instant <= sendAt {
          throw error(
            "expiration", "is not after sendAt: no push would be sent",
            hint: "a duration such as 4h counts from sendAt")
        }
        return .at(seconds: instant / 1000)
      }
    default: break
    }
    throw error(
      "expiration", "must be 0 (one attempt, never stored), a duration or an instant",
      hint: "a duration is \(DurationText.form); an instant is \(Timestamp.form)")
  }
}
