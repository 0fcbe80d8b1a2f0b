import Foundation

/// A table on the page `Tests/Pages/NAME.md` that a test renders from its own data, so the page always agrees with the
/// test.
///
/// The table is between `<!-- NAME -->` and `<!-- end of NAME -->`.
public struct DocumentedTable: Sendable {
  private let name: String
  private let head: [String]
  private let rows: [[String]]

  /// - Parameters:
  ///   - name: the name of the page and of the marks around the table.
  ///   - head: the titles of the columns.
  ///   - rows: the cells of each row, one for each column. This type escapes bars and line breaks.
  public init(_ name: String, head: [String], rows: [[String]]) {
    self.name = name
    self.head = head
    self.rows = rows
  }

  /// The table in Markdown.
  public var markdown: String {
    let line = { (cells: [String]) in "| " + cells.map(Self.escaped).joined(separator: " | ") + " |\n" }
    return line(head) + line(head.map { _ in "---" }) + rows.map(line).joined()
  }

  /// Whether ``documented()`` writes the page, so a test must have all rows.
  public static var isWritten: Bool { ProcessInfo.processInfo.environment["CARILLON_WRITE_TABLES"] == "1" }

  /// Returns the rows that the page does not have. Use it in a test that has only some rows of the table.
  public func missing() throws -> [String] {
    let lines = try Set(documented().split(separator: "\n"))
    return markdown.split(separator: "\n").filter { !lines.contains($0) }.map(String.init)
  }

  /// Returns the table of the page. With `CARILLON_WRITE_TABLES=1` in the environment it first writes the table to the
  /// page.
  ///
  /// - Throws: if the page has no such marks.
  public func documented() throws -> String {
    let page = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .appending(path: "Pages/\(name).md")
    var text = try String(contentsOf: page, encoding: .utf8)
    guard let start = text.range(of: "<!-- \(name) -->\n"),
      let end = text.range(of: "<!-- end of \(name) -->", range: start.upperBound..<text.endIndex)
    else { throw TestSupportError("\(page.path) has no marks of the table \(name)") }
    let place = start.upperBound..<end.lowerBound
    guard Self.isWritten else { return String(text[place]) }
    text.replaceSubrange(place, with: markdown)
    try text.write(to: page, atomically: true, encoding: .utf8)
    return markdown
  }

  private static func escaped(_ cell: String) -> String {
    cell.replacing("|", with: "\\|").replacing("\n", with: " ")
  }
}
