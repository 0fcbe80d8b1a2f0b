/// Partitions as Redis' `SETBIT` numbers them: the first is the highest bit of the first byte.
struct PartitionBitmap: Sendable {
  /// As it stands in Redis; what is beyond its end is not in it.
  private(set) var bytes: [UInt8] = []

  init(_ bytes: [UInt8] = []) {
    self.bytes = bytes
  }

  /// All partitions of a store but these; no bytes at all when that leaves none.
  init(allBut partitions: [Int], of count: Int) {
    guard partitions.count < count else { return }
    bytes = [UInt8](repeating: 0xFF, count: (count + 7) / 8)
    for partition in partitions { bytes[partition / 8] &= ~(0x80 >> UInt8(partition % 8)) }
  }

  func contains(_ partition: Int) -> Bool {
    partition / 8 < bytes.count && bytes[partition / 8] >> UInt8(7 - partition % 8) & 1 == 1
  }
}
