/// Rows of cells in aligned columns, for people.
package struct TextTable {
  private let rows: [[String]]

  package init(_ rows: [[String]]) {
    self.rows = rows
  }

  /// The table as text: one line for each row, two blanks between columns, no blanks at the end of a line.
  package var text: String {
    var widths: [Int] = []
    for row in rows {
      for (column, cell) in row.enumerated() {
        if column == widths.count { widths.append(0) }
        widths[column] = max(widths[column], cell.count)
      }
    }
    return rows.map { row in
      var line = ""
      for (column, cell) in row.enumerated() {
        line += cell
        if column < row.count - 1 { line += String(repeating: " ", count: widths[column] - cell.count + 2) }
      }
      return line
    }.joined(separator: "\n")
  }
}
