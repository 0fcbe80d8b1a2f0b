/// An encoder of HPACK, the compression of header fields in HTTP/2 (RFC 7541). It has the dynamic table and encodes
/// fields.
///
/// The encoder uses no Huffman code. Huffman code would make hexadecimal digits 30 % shorter, but costs CPU time at
/// both ends.
struct HeaderTable {
  struct Field: Equatable {
    var name: [UInt8]
    var value: [UInt8]

    init(name: [UInt8], value: [UInt8]) { (self.name, self.value) = (name, value) }

    init(_ name: String, _ value: String) { self.init(name: Array(name.utf8), value: Array(value.utf8)) }

    /// Size of the entry in bytes (RFC 7541 section 4.1).
    var size: Int { name.count + value.count + 32 }
  }

  /// The initial size of every peer's table in bytes (RFC 9113 section 6.5.2). The encoder never uses a larger table.
  static let largest = 4096
  /// Number of entries in the static table (RFC 7541 appendix A).
  private static let staticCount = 61
  /// Names of the static table that requests use, except those in ``RequestHeaderBlock``.
  private static let staticNames: [(name: String, index: Int)] = [
    (":authority", 1), (":path", 4), ("accept", 19), ("authorization", 23), ("content-type", 31), ("user-agent", 58),
  ]

  /// The entries, oldest first.
  private var entries: [Field] = []
  private var size = 0
  private var limit = largest
  /// The lowest table size that was set since the last size update in a header block; `nil` if no update is due (RFC
  /// 7541 section 4.2).
  private var lowestUnreported: Int?
  /// A counter that grows whenever the meaning of an index changes.
  private(set) var changes = 0

  /// Sets the size of the peer's table (SETTINGS_HEADER_TABLE_SIZE).
  mutating func setLimit(_ wanted: Int) {
    let wanted = min(wanted, Self.largest)
    guard wanted != limit else { return }
    limit = wanted
    lowestUnreported = min(lowestUnreported ?? wanted, wanted)
    evict(for: 0)
    changes += 1
  }

  /// Begins a header block. If the size of the table has changed, the block starts with a size update.
  mutating func begin(_ block: inout [UInt8]) {
    guard let lowest = lowestUnreported else { return }
    if lowest < limit { Self.append(lowest, prefix: 5, pattern: 0x20, to: &block) }
    Self.append(limit, prefix: 5, pattern: 0x20, to: &block)
    lowestUnreported = nil
    changes += 1
  }

  /// Encodes a field: as an index if the table contains the field, otherwise as a literal. Adds a literal to the table
  /// if it fits.
  mutating func append(_ field: Field, to block: inout [UInt8]) {
    if let place = entries.lastIndex(of: field) {
      return Self.append(index(place), prefix: 7, pattern: 0x80, to: &block)
    }
    let fits = field.size <= limit
    appendName(field.name, prefix: fits ? 6 : 4, pattern: fits ? 0x40 : 0, to: &block)
    Self.append(field.value.count, prefix: 7, pattern: 0, to: &block)
    block += field.value
    if fits { insert(field) }
  }

  /// Encodes the name of a field whose value differs between requests. The caller adds the length and the bytes of the
  /// value.
  ///
  /// - Returns: Whether the caller must add this field to the table (``insert(_:)``), so that later fields can refer to
  ///   its name.
  func appendName(ofLiteral name: [UInt8], to block: inout [UInt8]) -> Bool {
    let isKnown = nameIndex(name) != nil
    appendName(name, prefix: isKnown ? 4 : 6, pattern: isKnown ? 0 : 0x40, to: &block)
    return !isKnown
  }

  /// Adds a field to the table, as the peer does when it reads the literal. A field that is too large empties the
  /// table.
  mutating func insert(_ field: Field) {
    changes += 1
    evict(for: field.size)
    guard field.size <= limit else { return }
    entries.append(field)
    size += field.size
  }

  private mutating func evict(for room: Int) {
    while size + room > limit, !entries.isEmpty { size -= entries.removeFirst().size }
  }

  private func index(_ place: Int) -> Int { Self.staticCount + entries.count - place }

  private func nameIndex(_ name: [UInt8]) -> Int? {
    if let known = Self.staticNames.first(where: { $0.name.utf8.elementsEqual(name) }) { return known.index }
    return entries.lastIndex { $0.name == name }.map(index)
  }

  private func appendName(_ name: [UInt8], prefix: Int, pattern: UInt8, to block: inout [UInt8]) {
    if let index = nameIndex(name) { return Self.append(index, prefix: prefix, pattern: pattern, to: &block) }
    block.append(pattern)
    Self.append(name.count, prefix: 7, pattern: 0, to: &block)
    block += name
  }

  /// Appends an integer after the bits of a pattern (RFC 7541 section 5.1).
  static func append(_ value: Int, prefix: Int, pattern: UInt8, to block: inout [UInt8]) {
    let most = 1 << prefix - 1
    guard value >= most else { return block.append(pattern | UInt8(value)) }
    block.append(pattern | UInt8(most))
    var rest = value - most
    while rest >= 128 {
      block.append(UInt8(rest & 127 | 128))
      rest >>= 7
    }
    block.append(UInt8(rest))
  }
}
