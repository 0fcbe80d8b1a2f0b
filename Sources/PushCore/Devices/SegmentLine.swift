/// One line of a segment's file: a CSV record (RFC 4180) of one column, the id of a user. White space at the edges of
/// the id does not count.
public enum SegmentLine: Sendable, Equatable {
  case user(String)
  /// There is nothing on it.
  case empty
  /// The name of the column.
  case header
  /// It is no user's id; the text says why.
  case bad(String)

  /// What the column is called.
  public static let column = "user"

  /// What others call it: hardly anybody's id, and so not taken for one where a header stands.
  private static let lookAlikes: Set = ["users", "userid", "user_id", "user id", "user-id", "uid", "id"]

  /// - Parameters:
  ///   - text: the line, without its end.
  ///   - number: its number, from 1: a header stands on the first.
  public init(_ text: String, number: Int) {
    let bytes = Array(text.utf8.trimmingBlanks)
    guard !bytes.isEmpty else {
      self = .empty
      return
    }
    var fields = CSVFields()
    if case .malformed(let problem) = fields.scan(bytes, in: 0..<bytes.count, isFinal: true) {
      self = .bad("\(problem): an id with a quote or a comma in it stands in quotes, with every quote doubled")
      return
    }
    guard fields.count == 1, let id = fields.text(0, in: bytes) else {
      self = .bad(
        "has \(fields.count) columns: a segment's file has one, the user's id; one with a comma stands in quotes")
      return
    }
    // What stands in quotes is meant.
    let isQuoted = bytes.first == UInt8(ascii: "\"")
    if number == 1, !isQuoted, id.lowercased() == Self.column {
      self = .header
    } else if number == 1, !isQuoted, Self.lookAlikes.contains(id.lowercased()) {
      self = .bad("looks like the name of a column: call it \(Self.column) or leave it out; quotes make it a user's id")
    } else if !isQuoted, let problem = ForeignRow.problem(of: Identifier.trimmed(id)) {
      self = .bad(problem)
    } else {
      do throws(IdentifierError) {
        self = .user(try UserID.read(id))
      } catch {
        self = .bad(error.description)
      }
    }
  }

  /// A user's id as such a file has it, the inverse of reading it.
  public static func text(of user: String) -> String {
    let isPlain = user.utf8.allSatisfy { $0 != UInt8(ascii: ",") && $0 != UInt8(ascii: "\"") }
    let bytes = Array(user.utf8)
    if isPlain, bytes.trimmingBlanks.count == bytes.count, user.lowercased() != column,
      !lookAlikes.contains(user.lowercased()), ForeignRow.problem(of: user) == nil
    {
      return user
    }
    return "\"" + user.replacing("\"", with: "\"\"") + "\""
  }
}

extension Collection<UInt8> where Self: BidirectionalCollection {
  /// Without blanks and tabs at both ends.
  fileprivate var trimmingBlanks: SubSequence {
    let isBlank = { (byte: UInt8) in byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
    guard let first = firstIndex(where: { !isBlank($0) }), let last = lastIndex(where: { !isBlank($0) }) else {
      return self[endIndex...]
    }
    return self[first...last]
  }
}
