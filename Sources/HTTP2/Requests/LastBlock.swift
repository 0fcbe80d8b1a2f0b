/// Copy of the last header block. If decoding the block left the decoder's dynamic table unchanged, the same bytes have
/// the same meaning again and need not be decoded. Services often repeat the block of an accepted push.
struct LastBlock: ~Copyable {
  /// Size of the largest block that is stored, in bytes. If a service repeats its blocks, most of their fields are
  /// indexed, with one or two bytes each.
  private static let largest = 256

  private let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: largest, alignment: 8)
  /// Number of used bytes of `memory`; 0 if no block is stored.
  private var count = 0
  /// Whether the block is known to leave the table unchanged. This is examined only when a block is repeated. Most
  /// blocks of APNs are never repeated, because each contains its own id.
  private var isReusable = false

  deinit { memory.deallocate() }

  /// Stores a block that was decoded without an error.
  mutating func store(_ block: UnsafeRawBufferPointer) {
    guard block.count <= Self.largest else { return count = 0 }
    memory.copyMemory(from: block)
    count = block.count
    isReusable = false
  }

  /// Removes the block. Required before the decoder reads other bytes.
  mutating func remove() { count = 0 }

  /// Returns whether a block is the same as the last one and has the same meaning.
  mutating func isRepeated(by block: UnsafeRawBufferPointer) -> Bool {
    guard count == block.count, count > 0 else { return false }
    for index in 0..<count where memory[index] != block[index] { return false }
    if !isReusable { isReusable = Self.leavesTableUnchanged(block) }
    return isReusable
  }

  /// Returns whether a block contains only indexed fields and literals without indexing. A literal with incremental
  /// indexing and a size update change the table (RFC 7541 section 6).
  private static func leavesTableUnchanged(_ block: UnsafeRawBufferPointer) -> Bool {
    var next = 0
    while next < block.count {
      switch block[next] {
      case 0x80...:
        guard integer(block, &next, prefix: 7) != nil else { return false }
      case 0x20...: return false
      default:
        guard let name = integer(block, &next, prefix: 4) else { return false }
        if name == 0 {
          guard skipString(block, &next) else { return false }
        }
        guard skipString(block, &next) else { return false }
      }
    }
    return true
  }

  private static func skipString(_ block: UnsafeRawBufferPointer, _ next: inout Int) -> Bool {
    guard let length = integer(block, &next, prefix: 7) else { return false }
    next += length
    return next <= block.count
  }

  /// Reads an integer (RFC 7541 section 5.1); `nil` for a number of more than three bytes, and after the end of the
  /// block.
  private static func integer(_ block: UnsafeRawBufferPointer, _ next: inout Int, prefix: Int) -> Int? {
    guard next < block.count else { return nil }
    let most = 1 << prefix - 1
    var value = Int(block[next]) & most
    next += 1
    guard value == most else { return value }
    for shift in [0, 7] {
      guard next < block.count else { return nil }
      let byte = Int(block[next])
      next += 1
      value += byte & 127 << shift
      if byte < 128 { return value }
    }
    return nil
  }
}
