/// Byte strings one behind the other, so that thousands cost a few allocations.
struct EntryList {
  private(set) var bytes: [UInt8] = []
  private var ends: [Int] = []

  var count: Int { ends.count }

  /// Appends the string that `write` appends to the bytes.
  mutating func append(_ write: (inout [UInt8]) -> Void) {
    write(&bytes)
    ends.append(bytes.count)
  }

  subscript(position: Int) -> ArraySlice<UInt8> {
    bytes[(position == 0 ? 0 : ends[position - 1])..<ends[position]]
  }
}

/// A set of byte strings: open addressing over an ``EntryList``. Expansion asks it whether SSCAN repeats itself.
struct ByteStringSet {
  private var entries = EntryList()
  /// Positions in `entries`, one more than they are; 0 is empty. A power of two, at most half full.
  private var slots: [UInt32] = Array(repeating: 0, count: 64)

  /// - Returns: false when it was in already.
  mutating func insert(_ string: UnsafeRawBufferPointer) -> Bool {
    let slot = find(string)
    guard slots[slot] == 0 else { return false }
    entries.append { $0.append(contentsOf: string) }
    slots[slot] = UInt32(entries.count)
    if entries.count * 2 > slots.count { grow() }
    return true
  }

  private func find(_ string: UnsafeRawBufferPointer) -> Int {
    // FNV-1a: short keys, and no adversary who could gain by collisions within one partition.
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in string { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
    let mask = slots.count - 1
    var slot = Int(truncatingIfNeeded: hash ^ hash >> 32) & mask
    while slots[slot] != 0 {
      if entries[Int(slots[slot]) - 1].elementsEqual(string) { break }
      slot = (slot + 1) & mask
    }
    return slot
  }

  private mutating func grow() {
    slots = Array(repeating: 0, count: slots.count * 2)
    for position in 0..<entries.count {
      let slot = entries[position].withUnsafeBytes { find($0) }
      slots[slot] = UInt32(position + 1)
    }
  }
}
