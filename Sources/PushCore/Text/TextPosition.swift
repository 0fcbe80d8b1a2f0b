/// A place in a text, as editors and compilers count.
public struct TextPosition: Sendable, Equatable, CustomStringConvertible {
  /// From 1.
  public var line: Int
  /// From 1, in bytes.
  public var column: Int

  /// - Parameters:
  ///   - offset: of a byte of the text, or of its end.
  ///   - bytes: the text.
  public init(of offset: Int, in bytes: [UInt8]) {
    let before = bytes[..<offset]
    line = before.reduce(1) { $1 == 0x0A ? $0 + 1 : $0 }
    column = before.endIndex - (before.lastIndex(of: 0x0A).map { $0 + 1 } ?? 0) + 1
  }

  public var description: String { "line \(line), column \(column)" }
}
