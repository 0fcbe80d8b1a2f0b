/// A set of partitions in the format of Redis' `SETBIT`: the first partition is the highest bit of the first byte.
struct PartitionBitmap: Sendable {
  /// The bytes as in Redis. Partitions beyond the end are not in the set.
  private(set) var bytes: [UInt8] = []

  init(_ bytes: [UInt8] = []) {
    self.bytes = bytes
  }

  /// Creates the set of all partitions except these; without any bytes if no partition remains.
  init(allBut partitions: [Int], of count: Int) {
    guard partitions.count < count else { return }
    bytes = [UInt8](repeating: 0xFF, count: (count + 7) / 8)
    for partition in partitions { bytes[partition / 8] &= ~(0x80 >> UInt8(partition % 8)) }
  }

  func contains(_ partition: Int) -> Bool {
    partition / 8 < bytes.count && bytes[partition / 8] >> UInt8(7 - partition % 8) & 1 == 1
  }
}
