/// A fast hash of byte strings for tables in memory, similar to wyhash: it takes eight bytes per step and folds the
/// product of a multiplication. The hash is not safe for hostile input, but a simulator on loopback gets no such input.
enum ByteHash {
  private static let first: UInt64 = 0xA076_1D64_78BD_642F
  private static let second: UInt64 = 0xE703_7ED1_A0B4_28DB

  static func hash(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
    var state = first ^ UInt64(bytes.count)
    var offset = 0
    while offset + 8 <= bytes.count {
      state = fold(state ^ bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self), second)
      offset += 8
    }
    var rest: UInt64 = 0
    while offset < bytes.count {
      rest = rest << 8 | UInt64(bytes[offset])
      offset += 1
    }
    return fold(state ^ rest, first)
  }

  static func hash(_ key: MessageID.Key) -> UInt64 { fold(key.high ^ first, key.low ^ second) }

  private static func fold(_ left: UInt64, _ right: UInt64) -> UInt64 {
    let product = left.multipliedFullWidth(by: right)
    return product.high ^ product.low
  }
}
