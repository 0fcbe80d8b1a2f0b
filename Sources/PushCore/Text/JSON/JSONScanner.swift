/// Reader of JSON (RFC 8259) that visits members in place, without a tree and without copies. Push services use this
/// reader for the bodies of their answers. Because every push has an answer, a JSON decoder would be too slow.
///
/// The reader accepts some texts that are not JSON. It never reads outside the bytes, and stops at the first byte that
/// it can't interpret. All functions that read a single token are inlinable, because a function call takes more time
/// than most tokens.
@frozen public struct JSONScanner {
  /// Bytes of a text, with unchanged escapes.
  public typealias Text = Slice<UnsafeRawBufferPointer>

  @usableFromInline let bytes: UnsafeRawBufferPointer
  @usableFromInline var place = 0
  @usableFromInline var depth = 0

  /// Maximum nesting that the reader accepts. Error answers of Google have five levels.
  @inlinable static var maximumDepth: Int { 16 }

  /// Creates a reader before the first token. The bytes must outlive the reader.
  @inlinable public init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

  /// Reads an object.
  ///
  /// - Parameter member: reads the value of a member, and returns whether this succeeded.
  /// - Returns: whether a whole object was read.
  @inlinable
  @discardableResult
  public mutating func object(_ member: (_ key: Text, _ scanner: inout JSONScanner) -> Bool) -> Bool {
    guard enter(UInt8(ascii: "{")) else { return false }
    defer { depth -= 1 }
    if take(UInt8(ascii: "}")) { return true }
    repeat {
      guard let key = string(), take(UInt8(ascii: ":")), member(key, &self) else { return false }
    } while take(UInt8(ascii: ","))
    return take(UInt8(ascii: "}"))
  }

  /// Reads an array.
  ///
  /// - Parameter element: reads an element, and returns whether this succeeded.
  /// - Returns: whether a whole array was read.
  @inlinable
  public mutating func array(_ element: (inout JSONScanner) -> Bool) -> Bool {
    guard enter(UInt8(ascii: "[")) else { return false }
    defer { depth -= 1 }
    if take(UInt8(ascii: "]")) { return true }
    repeat {
      guard element(&self) else { return false }
    } while take(UInt8(ascii: ","))
    return take(UInt8(ascii: "]"))
  }

  /// Reads a string and returns its content with unchanged escapes. Returns `nil` and reads nothing if no whole string
  /// is next.
  @inlinable
  public mutating func string() -> Text? {
    skipSpace()
    guard place < bytes.count, bytes[place] == UInt8(ascii: "\"") else { return nil }
    var end = place + 1
    while end < bytes.count, bytes[end] != UInt8(ascii: "\"") {
      end += bytes[end] == UInt8(ascii: "\\") ? 2 : 1
    }
    guard end < bytes.count else { return nil }
    defer { place = end + 1 }
    return bytes[place + 1..<end]
  }

  /// Reads a number, `true`, `false` or `null`. Returns `nil` and reads nothing if another token is next.
  @inlinable
  public mutating func literal() -> Text? {
    skipSpace()
    let start = place
    while place < bytes.count, Self.isLiteral(bytes[place]) { place += 1 }
    return place > start ? bytes[start..<place] : nil
  }

  /// Reads a value of any kind and ignores it.
  ///
  /// - Returns: whether a whole value was read.
  public mutating func skip() -> Bool {
    if string() != nil { return true }
    guard place < bytes.count else { return false }
    switch bytes[place] {
    case UInt8(ascii: "{"): return object { _, scanner in scanner.skip() }
    case UInt8(ascii: "["): return array { $0.skip() }
    default: return literal() != nil
    }
  }

  /// Reads a punctuation mark.
  ///
  /// - Returns: whether the mark was next. If not, nothing was read.
  @inlinable
  public mutating func take(_ byte: UInt8) -> Bool {
    skipSpace()
    guard place < bytes.count, bytes[place] == byte else { return false }
    place += 1
    return true
  }

  @inlinable
  mutating func enter(_ bracket: UInt8) -> Bool {
    guard depth < Self.maximumDepth, take(bracket) else { return false }
    depth += 1
    return true
  }

  @inlinable
  mutating func skipSpace() {
    while place < bytes.count, bytes[place] == 0x20 || (0x09...0x0d).contains(bytes[place]) { place += 1 }
  }

  /// Returns whether a byte is part of a number, `true`, `false` or `null`.
  @inlinable
  static func isLiteral(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"),
      UInt8(ascii: "+"), UInt8(ascii: "."), UInt8(ascii: "E"):
      true
    default: false
    }
  }
}
