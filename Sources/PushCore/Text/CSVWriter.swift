/// Writer of CSV according to RFC 4180.
public struct CSVWriter: Sendable {
  /// Bytes that were written since the last ``take()``.
  public private(set) var bytes: [UInt8] = []
  /// Whether the text is made safe for spreadsheets. A cell that a spreadsheet would run as a formula gets an
  /// apostrophe in front. Characters that make a cell look like another text are replaced, see
  /// ``Excerpt/harmless(_:)``. Line breaks and tabs are kept.
  public let spreadsheetSafe: Bool
  private var needsComma = false

  /// - Parameter spreadsheetSafe: whether cells that begin with `=`, `+`, `-`, `@`, tab or carriage return get an
  ///   apostrophe in front; see OWASP, "CSV Injection".
  public init(spreadsheetSafe: Bool = false) {
    self.spreadsheetSafe = spreadsheetSafe
  }

  /// Returns the bytes that were written since the last call.
  public mutating func take() -> [UInt8] {
    defer { bytes = [] }
    return bytes
  }

  /// Appends a cell to the record; `nil` is an empty cell.
  ///
  /// - Parameter isQuoted: whether the cell gets quotes even if none of its characters needs them.
  public mutating func cell(_ text: String?, isQuoted: Bool = false) {
    if needsComma { bytes.append(UInt8(ascii: ",")) }
    needsComma = true
    guard var text, let first = text.utf8.first else { return }
    if spreadsheetSafe {
      text = Excerpt.replacing(in: text) { Excerpt.isMisleading($0) && $0 != "\t" && $0 != "\r" && $0 != "\n" }
    }
    let isFormula = spreadsheetSafe && "=+-@\t\r".utf8.contains(first)
    let needsQuotes = isQuoted || text.utf8.contains(where: ",\"\n\r".utf8.contains)
    if needsQuotes { bytes.append(UInt8(ascii: "\"")) }
    if isFormula { bytes.append(UInt8(ascii: "'")) }
    if needsQuotes {
      for byte in text.utf8 {
        if byte == UInt8(ascii: "\"") { bytes.append(byte) }
        bytes.append(byte)
      }
      bytes.append(UInt8(ascii: "\""))
    } else {
      bytes.append(contentsOf: text.utf8)
    }
  }

  /// Ends the record.
  public mutating func endRecord() {
    bytes.append(contentsOf: [UInt8(ascii: "\r"), UInt8(ascii: "\n")])
    needsComma = false
  }
}
