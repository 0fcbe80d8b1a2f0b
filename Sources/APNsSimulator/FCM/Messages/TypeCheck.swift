/// Checks names and types of a request's JSON, as Google's front end does before FCM gets the request.
struct TypeCheck {
  /// A violation with the field's path, such as `message.data[0].value`.
  struct Violation: Equatable {
    var field: String
    var description: String
  }

  private(set) var violations: [Violation] = []
  /// The path of the current field. Its text is made only for a violation.
  private var path: [Step] = []

  /// A step from a value to a value within it.
  private enum Step {
    case field(String)
    case index(Int)
  }

  /// - Parameter request: the value of the whole body.
  init(_ request: JSONTree) {
    guard case .object(let members) = request else {
      violations = [Violation(field: "", description: "Invalid JSON payload received. Root element must be a message.")]
      return
    }
    check(members, by: MessageSchema.request)
  }

  private mutating func check(_ members: [JSONTree.Member], by fields: [MessageSchema.Field]) {
    for member in members {
      guard let field = fields.first(where: { $0.name == member.name || $0.camelName == member.name }) else {
        let place = path.isEmpty ? "" : " at '\(Self.text(path))'"
        fail("Invalid JSON payload received. Unknown name \"\(member.name)\"\(place): Cannot find field.")
        continue
      }
      check(member.value, field.kind, at: .field(field.name))
    }
  }

  private mutating func check(_ value: JSONTree, _ kind: MessageSchema.Kind, at step: Step) {
    path.append(step)
    check(value, kind)
    path.removeLast()
  }

  private mutating func check(_ value: JSONTree, _ kind: MessageSchema.Kind) {
    if value.isNull { return }
    switch kind {
    case .list(let element):
      // Google's proto3 JSON parser also accepts a single value instead of a list with one element.
      guard case .array(let values) = value else { return check(value, element) }
      for (index, value) in values.enumerated() { check(value, element, at: .index(index)) }
    case .group(let fields):
      guard case .object(let members) = value else { return wrong(value, type: nil) }
      check(members, by: fields)
    case .anyObject: if case .object = value {} else { wrong(value, type: nil) }
    case .textMap:
      guard case .object(let members) = value else { return wrong(value, type: nil) }
      for (index, member) in members.enumerated() {
        path.append(.index(index))
        check(member.value, .text, at: .field("value"))
        path.removeLast()
      }
    case .text: if case .string = value {} else { wrong(value, type: "TYPE_STRING") }
    case .flag: if case .bool = value {} else { wrong(value, type: "TYPE_BOOL") }
    case .integer: if Self.digits(value).flatMap({ Int32($0) }) == nil { wrong(value, type: "TYPE_INT32") }
    case .number: if Self.digits(value).flatMap({ Double($0) }) == nil { wrong(value, type: "TYPE_FLOAT") }
    case .duration:
      if Self.milliseconds(value.text) == nil { wrong(value, type: "type.googleapis.com/google.protobuf.Duration") }
    case .timestamp:
      if !Self.isTimestamp(value.text) { wrong(value, type: "type.googleapis.com/google.protobuf.Timestamp") }
    case .choice(let type, let words):
      // FCM also accepts the words in lower case, and an enumeration's number.
      if let text = value.text, words.contains(text) || words.contains(text.uppercased()) { return }
      if case .number(let digits) = value, let number = Int(digits), words.indices.contains(number) { return }
      wrong(value, type: type)
    }
  }

  private mutating func wrong(_ value: JSONTree, type: String?) {
    let field = Self.text(path)
    let place = "Invalid value at '\(field)'" + (type.map { " (\($0))" } ?? "")
    switch value {
    case .array:
      fail(
        "Invalid JSON payload received. Unknown name \"\(Self.last(field))\" at "
          + "'\(Self.parent(field))': Proto field is not repeating, cannot start list.")
    case .object: fail("\(place), Starting an object on a scalar field")
    case .string(let text): fail("\(place), \(JSONTree.quoted(text))")
    case .number(let digits): fail("\(place), \(digits)")
    case .bool(let flag): fail("\(place), \(flag)")
    case .null: break
    }
  }

  private mutating func fail(_ description: String) {
    violations.append(Violation(field: Self.text(path), description: description))
  }

  private static func text(_ path: [Step]) -> String {
    path.reduce(into: "") { text, step in
      switch step {
      case .field(let name): text += text.isEmpty ? name : ".\(name)"
      case .index(let index): text += "[\(index)]"
      }
    }
  }

  private static func last(_ path: String) -> Substring { path.split(separator: ".").last ?? "" }
  private static func parent(_ path: String) -> String { path.split(separator: ".").dropLast().joined(separator: ".") }

  private static func digits(_ value: JSONTree) -> String? {
    switch value {
    case .number(let digits): digits
    case .string(let digits): digits
    default: nil
    }
  }

  /// Returns a duration in milliseconds, rounded down; `nil` if the text is not seconds with the suffix `s`.
  static func milliseconds(_ text: String?) -> Int64? {
    guard let text, text.last == "s" else { return nil }
    let parts = text.dropLast().split(separator: ".", omittingEmptySubsequences: false)
    guard (1...2).contains(parts.count), let seconds = Int64(parts[0]), abs(seconds) <= 315_576_000_000,
      parts[0].first != "+"
    else { return nil }
    guard parts.count == 2 else { return seconds * 1000 }
    guard (1...9).contains(parts[1].count), parts[1].allSatisfy({ $0.isASCII && $0.isNumber }) else { return nil }
    let thousandths = Int64((parts[1] + "00").prefix(3)) ?? 0
    return seconds * 1000 + (parts[0].hasPrefix("-") ? -thousandths : thousandths)
  }

  /// Returns whether the text has the form `2026-01-31T12:00:00.5Z` or with an offset.
  private static func isTimestamp(_ text: String?) -> Bool {
    guard let text else { return false }
    let bytes = Array(text.utf8)
    let form = Array("0000-00-00T00:00:00".utf8)
    guard bytes.count > form.count else { return false }
    for (byte, wanted) in zip(bytes, form) {
      guard wanted == UInt8(ascii: "0") ? (0x30...0x39).contains(byte) : byte == wanted else { return false }
    }
    var rest = bytes[form.count...]
    if rest.first == UInt8(ascii: ".") { rest = rest.dropFirst().drop { (0x30...0x39).contains($0) } }
    return Array(rest) == [UInt8(ascii: "Z")] || rest.count == 6 && [0x2B, 0x2D].contains(rest.first)
  }
}
