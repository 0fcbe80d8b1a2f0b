import TextInput

/// Reads device rows from a file that arrives in chunks; what it holds is one chunk and one record.
public struct DeviceRowReader: Sendable {
  /// How rows are written.
  public enum Format: String, CaseIterable, Sendable {
    /// RFC 4180 with a header; `\n` and `\r` end records too, a byte order mark is skipped.
    case csv
    /// One JSON object a line.
    case ndjson
  }

  /// A row that is not one. Reading goes on behind it.
  public struct RowError: Error, Equatable, Sendable {
    /// The line of the file where the row begins, from 1.
    public var line: Int
    /// What is wrong with it.
    public var message: String
    /// Whether its device is kept: the row itself stands before this error. Only a detail was refused.
    public var isKept = false
  }

  /// A file that can't be read at all: its header is wrong.
  public struct FileError: Error, Equatable, Sendable, CustomStringConvertible {
    /// What is wrong.
    public var description: String
    /// What to do about it.
    public var hint: String
  }

  /// The longest record in bytes: twice what the bounds of ``DeviceRowDraft`` leave for a usual row, and little enough to
  /// read again when a quote turns out to be never closed.
  public static let maximumRecord = 16384

  /// The same of another system's export, where a record may be all that is known of a user.
  public static let maximumForeignRecord = 1 << 20

  /// Between two rows of a file.
  public struct Mark: Equatable, Sendable {
    /// Bytes of the file before it.
    public var offset: Int
    /// The line that begins there, or that the row begins on, from 1.
    public var line: Int

    /// Memberwise.
    public init(offset: Int, line: Int) {
      self.offset = offset
      self.line = line
    }
  }

  private let format: Format
  private let system: ForeignSystem?
  private let maximumRecord: Int
  private let vocabulary: DeviceVocabulary
  /// What names of attributes mean: rows of a file have the same ones.
  private var attributes: [String: String] = [:]
  private var header: [Column]?
  /// What the columns of another system's export became, so far.
  public private(set) var foreign = ForeignColumns()
  private var fields = CSVFields()
  private var pending: [UInt8] = []
  private var position = 0
  /// Where ``pending`` begins in the file.
  private var origin = 0
  private var line = 1
  private var atStart = true
  /// Inside a record that was too long: everything up to the next line is dropped.
  private var skipping = false

  private enum Column: Sendable {
    case known(DeviceColumn)
    case attribute(String)
    /// A column of another system.
    case foreign(String)
  }

  /// A reader at the beginning of a file.
  ///
  /// - Parameters:
  ///   - format: how its rows are written.
  ///   - vocabulary: what its rows may name.
  ///   - system: whose export it is; `nil` for a file with columns of ours.
  public init(format: Format, _ vocabulary: DeviceVocabulary, from system: ForeignSystem? = nil) {
    self.format = format
    self.vocabulary = vocabulary
    self.system = system
    maximumRecord = system == nil ? Self.maximumRecord : Self.maximumForeignRecord
  }

  /// Takes the next bytes of the file and gives the rows that they complete.
  public mutating func read(_ chunk: some Sequence<UInt8>) throws(FileError) -> [Result<DeviceRow, RowError>] {
    pending.removeFirst(position)
    origin += position
    position = 0
    pending.append(contentsOf: chunk)
    return try readRecords(isFinal: false)
  }

  /// Gives the last rows, at the end of the file.
  public mutating func finish() throws(FileError) -> [Result<DeviceRow, RowError>] {
    let rows = try readRecords(isFinal: true)
    if format == .csv, header == nil { throw Self.headerError("the file is empty") }
    return rows
  }

  /// Behind the rows that were given so far; `nil` before a header, and inside a row that is dropped, where nobody can go
  /// on.
  public var mark: Mark? {
    skipping || atStart || (format == .csv && header == nil) ? nil : Mark(offset: origin + position, line: line)
  }

  /// Goes on elsewhere in the file, in CSV once the header has been read: what comes next must be the bytes from there.
  public mutating func goOn(at mark: Mark) {
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
        let message = "longer than \(maximumRecord) bytes" + (format == .csv ? ", or a quote is never closed" : "")
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

  /// A record that was read whole, or `nil` where it was the header.
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

  /// The rows of a record of another system.
  private mutating func foreignRows(
    _ content: Range<Int>, of system: ForeignSystem, line: Int
  ) -> [Result<DeviceRow, RowError>] {
    do throws(DeviceRowDraft.Problem) {
      let members = try format == .csv ? foreignFields() : NDJSONLine.members(Array(pending[content]))
      return try ForeignRecord.rows(members, of: system, vocabulary, &foreign).map { row in
        row.mapError { RowError(line: line, message: $0.description) }
      }
    } catch {
      return [.failure(RowError(line: line, message: error.description))]
    }
  }

  /// A record's fields under their names.
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

  /// Drops the line that a bad record began on: what stands behind it may be good rows.
  private mutating func dropLine(_ message: String, at line: Int, isFinal: Bool) -> Result<DeviceRow, RowError> {
    skipping = true
    _ = skipLine(isFinal: isFinal)
    return .failure(RowError(line: line, message: message))
  }

  /// Moves behind the end of the line; `false` when it isn't there yet.
  private mutating func skipLine(isFinal: Bool) -> Bool {
    while position < pending.count {
      let isReturn = pending[position] == UInt8(ascii: "\r") && format == .csv
      // Whether a line feed belongs to the carriage return may be in the next chunk.
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
          "no column of it is one in which \(system.rawValue) has tokens: "
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

/// What a look for the next record found.
enum RecordStep {
  /// The record's end is not in the bytes yet.
  case needsMore
  /// There is no record to be had from here.
  case malformed(String)
  /// A record: its bytes without the line end, where the next begins, and how many line ends it took.
  case record(content: Range<Int>, next: Int, lines: Int)
}
