/// The members of one JSON object of a job, read by name. `null` counts as not given: many encoders write it for that.
public struct JobFields {
  /// The path of the object, with its dot; empty for the job itself.
  private let prefix: String
  private let values: [String: JSONValue]

  /// - Parameters:
  ///   - path: the path of the object; empty for the job itself.
  ///   - known: the fields there are.
  ///   - planned: fields that the contract knows and this version does not do: silence would send something else than
  ///     what was asked for.
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

  /// The members of a job of which nothing is known yet; `null` counts as not given here too.
  public init(_ members: [JSONValue.Member]) {
    prefix = ""
    // Of a name that stands twice the first counts, as for `members.value`.
    values = Dictionary(members.lazy.map { ($0.name, $0.value) }) { first, _ in first }
      .filter { if case .null = $1.kind { false } else { true } }
  }

  /// The error for something that a later version does.
  static func notYet(field: String, _ what: String = "this field") -> JobError {
    JobError(field: field, message: "\(what) is not supported yet", hint: "leave it out, or wait for a later version")
  }

  /// Where the field stands in the job.
  public func path(_ name: String) -> String { prefix + name }

  /// The value of a field; `nil` for none.
  public func value(_ name: String) -> JSONValue? { values[name] }

  /// The error for what is wrong with a field.
  public func error(_ name: String, _ message: String, hint: String? = nil) -> JobError {
    JobError(field: path(name), message: message, hint: hint)
  }

  /// The value of a field that must be there.
  public func required(_ name: String) throws(JobError) -> JSONValue {
    guard let value = values[name] else { throw error(name, "is missing") }
    return value
  }

  /// The text of a field; `nil` for none.
  public func string(_ name: String) throws(JobError) -> String? {
    guard let value = values[name] else { return nil }
    guard case .string(let text) = value.kind else { throw error(name, "must be a string, not \(value.kindName)") }
    return text
  }

  /// The text of a field that must be there.
  public func requiredString(_ name: String) throws(JobError) -> String {
    guard let text = try string(name) else { throw error(name, "is missing") }
    return text
  }

  /// Whether a field is `true`; it is not when it is left out.
  public func flag(_ name: String) throws(JobError) -> Bool {
    guard let value = values[name] else { return false }
    guard case .bool(let flag) = value.kind else {
      throw error(name, "must be true or false, not \(value.kindName)")
    }
    return flag
  }

  /// A string, or all of an array of them; `nil` for none.
  public func stringOrStrings(_ name: String) throws(JobError) -> [String]? {
    guard let value = values[name] else { return nil }
    if case .string(let text) = value.kind { return [text] }
    return try strings(name)
  }

  /// One of the raw values of an enum.
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

  /// Whether a list has an entry in the place of an erased user or token. Such a list may have no other entry.
  func hasErasedEntries(_ name: String) -> Bool {
    guard case .array(let elements)? = values[name]?.kind else { return false }
    return elements.contains(where: \.isErasedEntry)
  }

  /// The strings of an array.
  ///
  /// - Parameter skipsErased: whether an entry may stand there in the place of an erased one.
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

  /// The id of a user, as ``UserID`` reads it.
  func user(_ value: JSONValue, _ name: String) throws(JobError) -> String {
    do throws(IdentifierError) { return try UserID.read(value) } catch { throw self.error(name, error.description) }
  }

  /// The ids of an array of users; `nil` for none.
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

  /// Until when the push is of use; `nil` where the job doesn't say.
  ///
  /// - Parameter sendAt: when the campaign begins, in ms since the epoch; `nil` leaves out what depends on it.
  public func expiration(sendAt: Int?) throws(JobError) -> Expiration? {
    guard let value = value("expiration") else { return nil }
    switch value.kind {
    case .number("0"), .string("0"): return .immediate
    case .string(let text):
      if let seconds = DurationText.seconds(text), seconds > 0 { return .after(seconds: seconds) }
      if let instant = Timestamp.milliseconds(text), instant >= 1000 {
        if let sendAt, instant <= sendAt {
          throw error(
            "expiration", "is not after sendAt: nothing would be sent",
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
