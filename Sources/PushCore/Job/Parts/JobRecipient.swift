/// User in `audience.users` of a job: an id, or `{"user":"ada","vars":{"price":12.5}}` with values for this user. With
/// `token`, only this device of the user gets the push.
public struct JobRecipient: Sendable {
  /// Id of the user.
  public let user: String
  /// Object with the values of placeholders for this user; `nil` for none.
  let values: JSONValue?
  /// Text of the token of the only device; `nil` for all devices.
  let token: String?

  /// Maximum number of values of a recipient.
  private static let maximumValues = 64
  /// Maximum size of the values in bytes, without white space: four times the maximum size of a push.
  private static let maximumBytes = 16_384

  /// Returns the recipients in the `users` of an audience; `nil` if it has none.
  static func all(_ fields: JobFields) throws(JobError) -> [JobRecipient]? {
    guard let value = fields.value("users") else { return nil }
    guard case .array(let elements) = value.kind else {
      throw fields.error("users", "must be an array, not \(value.kindName)")
    }
    var all: [JobRecipient] = []
    all.reserveCapacity(elements.count)
    for (index, element) in elements.enumerated() where !element.isErasedEntry {
      switch element.kind {
      case .string, .number:
        all.append(JobRecipient(user: try fields.user(element, "users[\(index)]"), values: nil, token: nil))
      case .object, .array, .bool, .null:
        all.append(try recipient(element, path: fields.path("users[\(index)]")))
      }
    }
    return all
  }

  /// Returns whether an element of `users` has a user id at the place that the format defines, or replaces an erased
  /// user. The element may be invalid in other ways.
  static func hasUser(_ element: JSONValue) -> Bool {
    guard case .object(let members) = element.kind else { return (try? UserID.read(element)) != nil }
    return element.isErasedEntry || members.value("user").map { (try? UserID.read($0)) != nil } ?? false
  }

  private static func recipient(_ value: JSONValue, path: String) throws(JobError) -> JobRecipient {
    guard case .object = value.kind else {
      throw JobError(
        field: path, message: "must be a string, or an object with user and vars, not \(value.kindName)")
    }
    let fields = try JobFields(value, path: path, known: ["user", "vars", "token"], planned: [])
    let user = try fields.user(try fields.required("user"), "user")
    let values = fields.value("vars")
    if let values { try check(values, fields) }
    return JobRecipient(user: user, values: values, token: try fields.string("token"))
  }

  private static func check(_ values: JSONValue, _ fields: JobFields) throws(JobError) {
    guard case .object(let members) = values.kind else {
      throw fields.error(
        "vars", "must be an object, not \(values.kindName)", hint: "write names and values: {\"price\":12.5}")
    }
    guard members.count <= maximumValues else {
      throw fields.error("vars", "has \(members.count) values, more than the limit of \(maximumValues)")
    }
    for member in members {
      let name = "vars." + Excerpt.bare(member.name)
      do throws(IdentifierError) {
        _ = try AttributeName.read(member.name)
      } catch {
        throw fields.error(
          name, error.description, hint: "a name has 1 to \(DeviceRowDraft.maximumAttributeName) bytes")
      }
      switch member.value.kind {
      case .string, .number, .bool, .null: break
      case .array, .object:
        throw fields.error(name, "must be a string, a number or a boolean, not \(member.value.kindName)")
      }
    }
  }

  /// Maximum length in bytes of a line for one recipient in a file.
  public static let maximumLineBytes = maximumBytes + 4 * UserID.maximumLength

  /// Parses a line of a file: `{"user":"ada","vars":{"price":12.5}}`.
  ///
  /// - Returns: the user, and the values without white space.
  public static func line(_ text: String) throws(JobError) -> (user: String, values: [UInt8]) {
    let bytes = Array(text.utf8)
    let root: JSONValue
    do {
      root = try JSONValue(parsing: bytes, maximumDepth: 4)
    } catch {
      throw JobError(field: "", message: "not valid JSON: \(error)")
    }
    let recipient = try recipient(root, path: "")
    guard let values = recipient.values else { throw JobError(field: "vars", message: "is missing") }
    guard recipient.token == nil else {
      throw JobError(field: "token", message: "has no effect in a file of values", hint: "add it to the job")
    }
    return (recipient.user, json(values, in: bytes))
  }

  /// Returns the values as an object without white space. Their names are converted to the canonical form that
  /// templates use (``AttributeName``).
  private static func json(_ values: JSONValue, in bytes: [UInt8]) -> [UInt8] {
    guard case .object(let members) = values.kind else { return [] }
    var json = JSONWriter()
    json.beginObject()
    for member in members {
      json.name((try? AttributeName.read(member.name)) ?? member.name)
      json.raw(JSONValue.minified(bytes[member.value.range]))
    }
    json.endObject()
    return json.take()
  }

  /// Returns the values in an audience, by user: objects without white space.
  ///
  /// - Parameter bytes: the text that contains the fields.
  static func values(
    of recipients: [JobRecipient], _ fields: JobFields, in bytes: [UInt8]
  ) throws(JobError) -> [String: [UInt8]] {
    var all: [String: [UInt8]] = [:]
    for (index, recipient) in recipients.enumerated() {
      guard let values = recipient.values else { continue }
      let json = json(values, in: bytes)
      guard json.count <= maximumBytes else {
        throw fields.error(
          "users[\(index)].vars",
          "has \(json.count) bytes, \(json.count - maximumBytes) over the limit of \(maximumBytes)")
      }
      guard all.updateValue(json, forKey: recipient.user) == nil else {
        throw fields.error(
          "users[\(index)]", "\(Excerpt.quoted(recipient.user)) has vars twice", hint: "list each user once")
      }
    }
    return all
  }
}
