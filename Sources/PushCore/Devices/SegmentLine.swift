/// Line of a file with the users of a segment: a CSV record (RFC 4180) with one column, the id of a user. White space
/// at both ends of the id is removed.
public enum SegmentLine: Sendable, Equatable {
  case user(String)
  /// The line is empty.
  case empty
  /// The line is the header with the name of the column.
  case header
  /// The line is not a user's id; the text has the reason.
  case bad(String)

  /// Name of the column.
  public static let column = "user"

  /// Names of this column in other systems. Such a name is almost never an id, so it is an error in line 1 if it has no
  /// quotes.
  private static let lookAlikes: Set = ["users", "userid", "user_id", "user id", "user-id", "uid", "id"]

  /// - Parameters:
  ///   - text: the line without its end.
  ///   - number: the number of the line, from 1. Only line 1 may be a header.
  public init(_ text: String, number: Int) {
    let bytes = Array(text.utf8.trimmingBlanks)
    guard !bytes.isEmpty else {
      self = .empty
      return
    }
    var fields = CSVFields()
    if case .malformed(let problem) = fields.scan(bytes, in: 0..<bytes.count, isFinal: true) {
      self = .bad("\(problem): put an id with a quote or a comma in quotes, and double every quote in it")
      return
    }
    guard fields.count == 1, let id = fields.text(0, in: bytes) else {
      self = .bad(
        "has \(fields.count) columns: a segment's file has one, the user's id; put an id with a comma in quotes")
      return
    }
    // A text in quotes is always an id.
    let isQuoted = bytes.first == UInt8(ascii: "\"")
    if number == 1, !isQuoted, id.lowercased() == Self.column {
      self = .header
    } else if number == 1, !isQuoted, Self.lookAlikes.contains(id.lowercased()) {
      self = .bad(
        "looks like the name of a column: rename it to \(Self.column) or remove it; put it in quotes if it is a user's id"
      )
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

  /// Returns the line for a user's id, in quotes if ``init(_:number:)`` would otherwise not read the id back.
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
  /// The bytes without blanks and tabs at both ends.
  fileprivate var trimmingBlanks: SubSequence {
    let isBlank = { (byte: UInt8) in byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
    guard let first = firstIndex(where: { !isBlank($0) }), let last = lastIndex(where: { !isBlank($0) }) else {
      return self[endIndex...]
    }
    return self[first...last]
  }
}
