import Admin
import CommandSupport
import PushCore

/// Reads the members of a request's body by name. An unknown member, a missing required member or a member of a wrong
/// type is an error.
struct RequestFields {
  private let members: [JSONValue.Member]

  /// - Parameters:
  ///   - body: one JSON object. An empty body counts as an empty object.
  ///   - known: the names of the allowed members.
  init(_ body: [UInt8], known: [String]) throws {
    guard !body.isEmpty else {
      members = []
      return
    }
    let value: JSONValue
    do {
      value = try JSONValue(parsing: body, maximumDepth: 8)
    } catch {
      throw CommandError(.input, "the body is not valid JSON: \(error)")
    }
    guard case .object(let members) = value.kind else {
      throw CommandError(.input, "the body must be a JSON object, not \(value.kindName)")
    }
    for member in members where !known.contains(member.name) {
      throw CommandError(
        .input, "\(Excerpt.quoted(member.name)) is unknown", hint: Nearest.hint(member.name, among: known))
    }
    self.members = members
  }

  func string(_ name: String) throws -> String? {
    guard let value = members.value(name) else { return nil }
    guard case .string(let text) = value.kind else { throw invalidValue(name, "a string", value) }
    return text
  }

  func flag(_ name: String) throws -> Bool {
    guard let value = members.value(name) else { return false }
    guard case .bool(let flag) = value.kind else { throw invalidValue(name, "true or false", value) }
    return flag
  }

  /// Returns an array of strings with at least one element.
  ///
  /// - Returns: `nil` if the member is missing.
  func strings(_ name: String, limit: Int) throws -> [String]? {
    try elements(name, limit: limit)?.map { element in
      guard case .string(let text) = element.kind else { throw invalidValue(name, "an array of strings", element) }
      return text
    }
  }

  /// Returns an array of user ids in the canonical form of ``UserID``, with at least one element.
  func users(_ name: String, limit: Int) throws -> [String] {
    guard let elements = try elements(name, limit: limit) else { throw CommandError(.input, "\(name): is missing") }
    return try elements.enumerated().map { index, element throws(CommandError) in
      do throws(IdentifierError) {
        return try UserID.read(element)
      } catch {
        throw CommandError(.input, "\(name)[\(index)]: \(error)")
      }
    }
  }

  private func elements(_ name: String, limit: Int) throws -> [JSONValue]? {
    guard let value = members.value(name) else { return nil }
    guard case .array(let elements) = value.kind else { throw invalidValue(name, "an array of strings", value) }
    guard !elements.isEmpty else { throw CommandError(.input, "\(name): must not be empty") }
    guard elements.count <= limit else {
      throw CommandError(
        .input, "\(name): has \(elements.count) elements, more than \(limit)", hint: "send several requests")
    }
    return elements
  }

  func requiredStrings(_ name: String, limit: Int) throws -> [String] {
    guard let strings = try strings(name, limit: limit) else { throw CommandError(.input, "\(name): is missing") }
    return strings
  }

  private func invalidValue(_ name: String, _ wanted: String, _ value: JSONValue) -> CommandError {
    CommandError(.input, "\(name): must be \(wanted), not \(value.kindName)")
  }
}
