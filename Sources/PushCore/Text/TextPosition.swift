/// Position in a text, counted as in editors and compilers.
public struct TextPosition: Sendable, Equatable, CustomStringConvertible {
  /// Line, from 1.
  public var line: Int
  /// Column in bytes, from 1.
  public var column: Int

  init(line: Int, column: Int) { (self.line, self.column) = (line, column) }

  /// - Parameters:
  ///   - offset: the offset of a byte of the text, or of its end.
  ///   - bytes: the text.
  public init(of offset: Int, in bytes: [UInt8]) {
    let before = bytes[..<offset]
    line = before.reduce(1) { $1 == 0x0A ? $0 + 1 : $0 }
    column = before.endIndex - (before.lastIndex(of: 0x0A).map { $0 + 1 } ?? 0) + 1
  }

  public var description: String { "line \(line), column \(column)" }
}

/// Offsets at which the lines of a text begin. With them, many positions can be found after one pass over the text.
public struct TextLines: Sendable {
  private let starts: [Int]

  /// - Parameter bytes: the text.
  public init(_ bytes: [UInt8]) {
    starts = [0] + bytes.indices.filter { bytes[$0] == 0x0A }.map { $0 + 1 }
  }

  /// Returns the position of a byte of the text, or of its end.
  public func position(of offset: Int) -> TextPosition {
    var (low, high) = (0, starts.count)
    while high - low > 1 {
      let middle = (low + high) / 2
      if starts[middle] <= offset { low = middle } else { high = middle }
    }
    return TextPosition(line: low + 1, column: offset - starts[low] + 1)
  }
}
