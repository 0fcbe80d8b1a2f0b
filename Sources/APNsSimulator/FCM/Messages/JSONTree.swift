/// A JSON value that keeps the order of its members and the text of its numbers, because FCM's error texts contain
/// them.
indirect enum JSONTree: Equatable, Sendable {
  case null
  case bool(Bool)
  case number(String)
  case string(String)
  case array([JSONTree])
  case object([Member])

  /// A member of an object.
  struct Member: Equatable, Sendable {
    var name: String
    var value: JSONTree
  }

  /// Returns an object with these members.
  static func members(_ members: KeyValuePairs<String, JSONTree>) -> JSONTree {
    .object(members.map { Member(name: $0.key, value: $0.value) })
  }

  /// Returns the member with one of two spellings; `nil` if it is missing or null.
  func member(_ name: String, or other: String? = nil) -> JSONTree? {
    guard case .object(let members) = self,
      let found = members.first(where: { $0.name == name || $0.name == other }), !found.value.isNull
    else { return nil }
    return found.value
  }

  var isNull: Bool { if case .null = self { true } else { false } }

  /// The text of a string; `nil` for another value.
  var text: String? { if case .string(let text) = self { text } else { nil } }

  /// The members of an object; empty for another value.
  var members: [Member] { if case .object(let members) = self { members } else { [] } }

  // MARK: Writing

  /// The value as JSON over several lines, as Google's APIs write it, with a final line break.
  var pretty: [UInt8] {
    var text = ""
    write(into: &text, indent: "")
    return Array((text + "\n").utf8)
  }

  private func write(into text: inout String, indent: String) {
    let deeper = indent + "  "
    switch self {
    case .null: text += "null"
    case .bool(let value): text += value ? "true" : "false"
    case .number(let digits): text += digits
    case .string(let value): text += Self.quoted(value)
    case .array(let values):
      guard !values.isEmpty else { return text += "[]" }
      text += "[\n"
      for (index, value) in values.enumerated() {
        text += deeper
        value.write(into: &text, indent: deeper)
        text += index == values.count - 1 ? "\n" : ",\n"
      }
      text += indent + "]"
    case .object(let members):
      guard !members.isEmpty else { return text += "{}" }
      text += "{\n"
      for (index, member) in members.enumerated() {
        text += deeper + Self.quoted(member.name) + ": "
        member.value.write(into: &text, indent: deeper)
        text += index == members.count - 1 ? "\n" : ",\n"
      }
      text += indent + "}"
    }
  }

  /// Returns the text in quotation marks, with escapes (RFC 8259 section 7).
  static func quoted(_ text: String) -> String {
    // Most texts need no escapes.
    if text.utf8.allSatisfy({ $0 >= 0x20 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }) {
      return "\"" + text + "\""
    }
    var result = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": result += "\\\""
      case "\\": result += "\\\\"
      case "\n": result += "\\n"
      case "\r": result += "\\r"
      case "\t": result += "\\t"
      case _ where scalar.value < 0x20:
        let digits = String(scalar.value, radix: 16)
        result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result + "\""
  }
}
