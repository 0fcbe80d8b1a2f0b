import TextInput

/// Reader of device rows from a file that arrives in chunks. The reader holds only one chunk and one record in memory.
public struct DeviceRowReader: Sendable {
  /// Format of the rows.
  public enum Format: String, CaseIterable, Sendable {
    /// RFC 4180 with a header. `\n` and `\r` also end a record, and a byte order mark is skipped.
    case csv
    /// One JSON object on each line.
    case ndjson
  }

  /// Invalid row. Reading continues after it.
  public struct RowError: Error, Equatable, Sendable {
    /// Line of the file where the row begins, from 1.
    public var line: Int
    /// Description of the error.
    public var message: String
    /// Whether the device is stored in spite of the error, because only a detail of the row was refused. In the result
    /// of ``read(_:)``, the row comes before this error.
    public var isKept = false
  }

  /// Error for a file that can't be read at all because its header is wrong.
  public struct FileError: Error, Equatable, Sendable, CustomStringConvertible {
    /// Description of the error.
    public var description: String
    /// The next step for the reader of the error.
    public var hint: String
  }

  /// Maximum length of a record in bytes: twice the size of a typical large row. The limit is small because the reader
  /// reads up to this number of bytes twice after a quote that is never closed.
  public static let maximumRecord = 16384

  /// Maximum length of a record in another system's export, which may contain all data of a user.
  public static let maximumForeignRecord = 1 << 20

  /// Position between two rows of a file.
  public struct Position: Equatable, Sendable {
    /// Number of bytes of the file before this position.
    public var offset: Int
    /// Number of the line of this position, from 1.
    public var line: Int

    /// Creates an instance with these values.
    public init(offset: Int, line: Int) {
      self.offset = offset
      self.line = line
    }
  }

  private let format: Format
  private let system: ForeignSystem?
  private let maximumRecord: Int
  private let vocabulary: DeviceVocabulary
  /// Cache from the column names in the file to attribute names: all rows of a file have the same names.
  private var attributes: [String: String] = [:]
  private var header: [Column]?
  /// Columns of another system's export that were read so far.
  public private(set) var foreign = ForeignColumns()
  private var fields = CSVFields()
  private var pending: [UInt8] = []
  private var position = 0
  /// Offset of ``pending`` in the file.
  private var origin = 0
  private var line = 1
  private var atStart = true
  /// Whether the reader is inside a record that was too long. The reader drops everything up to the next line.
  private var skipping = false

  private enum Column: Sendable {
    case known(DeviceColumn)
    case attribute(String)
    /// Column of another system.
    case foreign(String)
  }

  /// Creates a reader at the beginning of a file.
  ///
  /// - Parameters:
  ///   - format: the format of the rows.
  ///   - vocabulary: the allowed services, apps and attributes.
  ///   - system: the system that exported the file; `nil` for a file with Carillon's columns.
  public init(format: Format, _ vocabulary: DeviceVocabulary, from system: ForeignSystem? = nil) {
    self.format = format
    self.vocabulary = vocabulary
    self.system = system
    maximumRecord = system == nil ? Self.maximumRecord : Self.maximumForeignRecord
  }

  /// Reads the next bytes of the file and returns the rows that they complete.
  public mutating func read(_ chunk: some Sequence<UInt8>) throws(FileError) -> [Result<DeviceRow, RowError>] {
    pending.removeFirst(position)
    origin += position
    position = 0
    pending.append(contentsOf: chunk)
    return try readRecords(isFinal: false)
  }

  /// Returns the remaining rows at the end of the file.
  public mutating func finish() throws(FileError) -> [Result<DeviceRow, RowError>] {
    let rows = try readRecords(isFinal: true)
    if format == .csv, header == nil { throw Self.headerError("the file is empty") }
    return rows
  }

  /// Position after the returned rows. `nil` before the header and inside a row that is being skipped, because an
  /// import can't resume there.
  public var mark: Position? {
    skipping || atStart || (format == .csv && header == nil) ? nil : Position(offset: origin + position, line: line)
  }

  /// Resumes at another position in the file. A CSV reader must have read the header before. The next bytes must be the
  /// bytes from that position.
  public mutating func resume(at mark: Position) {
    pending = []
    position = 0
    (origin, line) = (mark.offset, mark.line)
    (skipping, atStart) = (false, false)
  }

  private mutating func readRecords(isFinal: Bool) throws(FileError) -> [Result<DeviceRow, RowError>] {
    if atStart {
      guard pending.count >= ByteOrderMark.bytes.count || isFinal else { return [] }
      if pending.starts(with: ByteOrderMark.bytes) { position = ByteOrderMark.bytes.count }
      atStart = false
    }
    var rows: [Result<DeviceRow, RowError>] = []
    while position < pending.count {
      if skipping, !skipLine(isFinal: isFinal) { break }
      let start = position
      let startLine = line
      let end = min(pending.count, start + maximumRecord + 1)
      let step =
        switch format {
        case .csv: fields.scan(pending, in: start..<end, isFinal: isFinal && end == pending.count)
        case .ndjson: NDJSONLine.scan(pending, in: start..<end, isFinal: isFinal && end == pending.count)
        }
      switch step {
      case .needsMore:
        guard end - start > maximumRecord else { return rows }
        let message = "longer than \(maximumRecord) bytes" + (format == .csv ? ", or a quote is not closed" : "")
        rows.append(dropLine(message, at: startLine, isFinal: isFinal))
      case .malformed(let message):
        rows.append(dropLine(message, at: startLine, isFinal: isFinal))
      case .record(let content, let next, let lines):
        position = next
        line += lines
        guard !content.isEmpty else { continue }
        if let system, format == .ndjson || header != nil {
          rows += foreignRows(content, of: system, line: startLine)
        } else if let row = try row(content, line: startLine) {
          rows.append(row)
          if case .success(let device) = row, let refusal = device.refusal {
            rows.append(.failure(RowError(line: startLine, message: refusal, isKept: true)))
          }
        }
      }
    }
    return rows
  }

  /// Returns the row of a complete record; `nil` for the header.
  private mutating func row(_ content: Range<Int>, line: Int) throws(FileError) -> Result<DeviceRow, RowError>? {
    if format == .csv, header == nil {
      header = try readHeader()
      return nil
    }
    do {
      return .success(
        format == .csv ? try readCSVRow() : try NDJSONLine.row(Array(pending[content]), vocabulary, &attributes))
    } catch {
      return .failure(RowError(line: line, message: error.description))
    }
  }

  /// Returns the rows of a record of another system.
  private mutating func foreignRows(
    _ content: Range<Int>, of system: ForeignSystem, line: Int
  ) -> [Result<DeviceRow, RowError>] {
    do throws(DeviceRowDraft.Problem) {
      let members = try format == .csv ? foreignFields() : NDJSONLine.members(Array(pending[content]))
      let problems = format == .csv ? foreignIDProblems() : [:]
      return try ForeignRecord.rows(members, idProblems: problems, of: system, vocabulary, &foreign).map { row in
        row.mapError { RowError(line: line, message: $0.description) }
      }
    } catch {
      return [.failure(RowError(line: line, message: error.description))]
    }
  }

  /// Returns the fields of a record with their names.
  private func foreignFields() throws(DeviceRowDraft.Problem) -> [(name: String, value: JSONValue)] {
    let header = header ?? []
    try checkCount(header)
    var members: [(name: String, value: JSONValue)] = []
    for (index, column) in header.enumerated() {
      guard case .foreign(let name) = column else { continue }
      members.append((name, JSONValue(kind: .string(try text(index)), range: 0..<0)))
    }
    return members
  }

  /// Returns the fields of another system's record that can't be ids: the name of each column with the reason. As in
  /// Carillon's own files, a text in quotes is always an id.
  private func foreignIDProblems() -> [String: String] {
    var problems: [String: String] = [:]
    for (index, column) in (header ?? []).enumerated() where index < fields.count {
      guard case .foreign(let name) = column, system?.mapping.hasUsers(in: name) == true,
        !fields.isQuoted(index, in: pending), let text = fields.text(index, in: pending)
      else { continue }
      problems[name] = ForeignRow.problem(ofNumber: Identifier.trimmed(text))
    }
    return problems
  }

  /// Drops the line on which an invalid record began. Good rows may follow it.
  private mutating func dropLine(_ message: String, at line: Int, isFinal: Bool) -> Result<DeviceRow, RowError> {
    skipping = true
    _ = skipLine(isFinal: isFinal)
    return .failure(RowError(line: line, message: message))
  }

  /// Moves the position past the end of the line; returns `false` if the end has not arrived yet.
  private mutating func skipLine(isFinal: Bool) -> Bool {
    while position < pending.count {
      let isReturn = pending[position] == UInt8(ascii: "\r") && format == .csv
      // The line feed after the carriage return may be in the next chunk.
      if isReturn, position + 1 == pending.count, !isFinal { return false }
      let isPair = isReturn && position + 1 < pending.count && pending[position + 1] == UInt8(ascii: "\n")
      let isEnd = isReturn || pending[position] == UInt8(ascii: "\n")
      position += isPair ? 2 : 1
      guard isEnd else { continue }
      line += 1
      skipping = false
      return true
    }
    return false
  }

  private func readHeader() throws(FileError) -> [Column] {
    var names: [String] = []
    var known: Set<String> = []
    for index in 0..<fields.count {
      guard let text = fields.text(index, in: pending) else { throw Self.headerError("the header is not UTF-8") }
      let name = Identifier.trimmed(text)
      guard known.insert(name).inserted else {
        throw Self.headerError("two columns are named \(Excerpt.quoted(name))")
      }
      names.append(name)
    }
    if let system {
      guard names.contains(where: system.mapping.isToken) else {
        throw Self.headerError(
          "it has no column with tokens of \(system.rawValue): "
            + system.mapping.tokenColumns.joined(separator: ", "))
      }
      return names.map { .foreign($0) }
    }
    for needed in [DeviceColumn.user, .token] where !names.contains(needed.rawValue) {
      if names.count == 1, let problem = ForeignRow.problem(of: names[0]) {
        throw Self.headerError("the header \(problem)")
      }
      let near = Nearest.match(needed.rawValue, among: names).map { "; is \(Excerpt.quoted($0)) meant?" } ?? ""
      throw Self.headerError("the header has no column '\(needed.rawValue)'\(near)")
    }
    var columns: [Column] = []
    for (index, name) in names.enumerated() {
      if let known = DeviceColumn(rawValue: name) {
        columns.append(.known(known))
        continue
      }
      do {
        columns.append(.attribute(try vocabulary.attributeName(name)))
      } catch {
        throw Self.headerError("column \(index + 1): \(error.description)")
      }
    }
    return columns
  }

  private static func headerError(_ message: String) -> FileError {
    FileError(
      description: message,
      hint: "the first line names the columns: user,token and any of "
        + DeviceColumn.allCases.dropFirst(2).map(\.rawValue).joined(separator: ",") + " and attributes")
  }

  private func readCSVRow() throws(DeviceRowDraft.Problem) -> DeviceRow {
    let header = header ?? []
    try checkCount(header)
    var draft = DeviceRowDraft(vocabulary)
    for (index, column) in header.enumerated() {
      let text = try text(index)
      switch column {
      case .known(let known):
        if known == .user, !fields.isQuoted(index, in: pending), let problem = ForeignRow.problem(ofNumber: text) {
          throw .init(description: problem)
        }
        try draft.accept(known, text)
      case .attribute(let name): try draft.setAttribute(name, to: text)
      case .foreign: break
      }
    }
    return try draft.row()
  }

  private func checkCount(_ header: [Column]) throws(DeviceRowDraft.Problem) {
    guard fields.count == header.count else {
      throw .init(description: "\(fields.count) fields, but the header has \(header.count)")
    }
  }

  private func text(_ index: Int) throws(DeviceRowDraft.Problem) -> String {
    guard let text = fields.text(index, in: pending) else {
      throw .init(description: "field \(index + 1) is not UTF-8")
    }
    return text
  }
}

/// Result of the search for the next record.
enum RecordStep {
  /// The end of the record has not arrived yet.
  case needsMore
  /// The bytes at this position are not a record.
  case malformed(String)
  /// A record: its bytes without the line end, the position of the next record, and the number of line ends.
  case record(content: Range<Int>, next: Int, lines: Int)
}
