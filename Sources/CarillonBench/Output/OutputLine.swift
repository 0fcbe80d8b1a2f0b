import CommandSupport
import PushCore

/// A JSON line in a program's output, read for its numbers.
struct OutputLine {
  private let members: [JSONValue.Member]

  /// Reads the first line of a text; `nil` if it is not a complete JSON object.
  init?(_ text: some Sequence<UInt8>) {
    let line = Array(text.prefix { $0 != UInt8(ascii: "\n") })
    guard let value = try? JSONValue(parsing: line, maximumDepth: 4), case .object(let members) = value.kind else {
      return nil
    }
    self.members = members
  }

  /// Returns the number with this name.
  ///
  /// - Throws: a ``CommandError`` if there is none.
  func number(_ name: String) throws -> Double {
    guard case .number(let text)? = members.first(where: { $0.name == name })?.value.kind, let number = Double(text)
    else { throw CommandError(.failed, "a program did not print \(name)") }
    return number
  }
}
