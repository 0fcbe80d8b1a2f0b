/// A set of byte strings. It stores the strings one after the other in one array, with a hash table of their positions,
/// so that thousands of strings need only a few allocations. The expansion uses it to detect members that SSCAN has
/// returned before.
struct ByteStringSet {
  private var bytes: [UInt8] = []
  /// End of each string in `bytes`.
  private var ends: [UInt32] = []
  /// Hash table with open addressing. A used slot has a position in `ends`, plus one; 0 is an empty slot. The number of
  /// slots is a power of two, and at most half of them are used.
  private var slots: [UInt32] = Array(repeating: 0, count: 64)

  var isEmpty: Bool { ends.isEmpty }

  /// Returns whether the set contains the string.
  func contains(_ string: UnsafeRawBufferPointer) -> Bool { slots[find(string)] != 0 }

  /// Inserts a string.
  /// - Returns: false if the set contained the string already.
  mutating func insert(_ string: UnsafeRawBufferPointer) -> Bool {
    let slot = find(string)
    guard slots[slot] == 0 else { return false }
    bytes.append(contentsOf: string)
    ends.append(UInt32(bytes.count))
    slots[slot] = UInt32(ends.count)
    if ends.count * 2 > slots.count { grow() }
    return true
  }

  private subscript(position: Int) -> ArraySlice<UInt8> {
    bytes[Int(position == 0 ? 0 : ends[position - 1])..<Int(ends[position])]
  }

  private func find(_ string: UnsafeRawBufferPointer) -> Int {
    // The hash FNV-1a is sufficient: the strings are short, and collisions within one partition do not help an
    // attacker.
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in string { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
    let mask = slots.count - 1
    var slot = Int(truncatingIfNeeded: hash ^ hash >> 32) & mask
    while slots[slot] != 0 {
      if self[Int(slots[slot]) - 1].elementsEqual(string) { break }
      slot = (slot + 1) & mask
    }
    return slot
  }

  private mutating func grow() {
    slots = Array(repeating: 0, count: slots.count * 2)
    for position in ends.indices {
      let slot = self[position].withUnsafeBytes { find($0) }
      slots[slot] = UInt32(position + 1)
    }
  }
}
