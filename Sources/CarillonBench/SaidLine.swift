import CommandSupport
import PushCore

/// A line of JSON that a program said, read for its numbers.
struct SaidLine {
  private let members: [JSONValue.Member]

  /// The first line of a text; `nil` when it is not a JSON object, or not yet whole.
  init?(_ text: some Sequence<UInt8>) {
    let line = Array(text.prefix { $0 != UInt8(ascii: "\n") })
    guard let value = try? JSONValue(parsing: line, maximumDepth: 4), case .object(let members) = value.kind else {
      return nil
    }
    self.members = members
  }

  /// The number of that name.
  ///
  /// - Throws: a ``CommandError`` when there is none.
  func number(_ name: String) throws -> Double {
    guard case .number(let text)? = members.first(where: { $0.name == name })?.value.kind, let number = Double(text)
    else { throw CommandError(.failed, "a program said no \(name)") }
    return number
  }
}
