/// A set of byte strings: open addressing over strings one behind the other, so that thousands cost a few allocations.
/// Expansion asks it whether SSCAN repeats itself.
struct ByteStringSet {
  private var bytes: [UInt8] = []
  /// Where each string ends in `bytes`.
  private var ends: [UInt32] = []
  /// Positions in `ends`, one more than they are; 0 is empty. A power of two, at most half full.
  private var slots: [UInt32] = Array(repeating: 0, count: 64)

  var isEmpty: Bool { ends.isEmpty }

  /// Whether it is in.
  func contains(_ string: UnsafeRawBufferPointer) -> Bool { slots[find(string)] != 0 }

  /// - Returns: false when it was in already.
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
    // FNV-1a: short keys, and no adversary who could gain by collisions within one partition.
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
