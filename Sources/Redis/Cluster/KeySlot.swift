/// Slot of a key in a cluster: the CRC16 of its hash tag, or of the whole key if it has none, modulo 16,384.
///
/// Source: Redis Cluster specification, "Key distribution model" and "Hash tags".
struct KeySlot: Hashable, Sendable {
  static let count = 16_384

  let number: UInt16

  /// - Returns: `nil` for a number that is not a slot.
  init?(_ number: Int) {
    guard (0..<Self.count).contains(number) else { return nil }
    self.number = UInt16(number)
  }

  init(of key: UnsafeRawBufferPointer) {
    var tag = key
    if let open = key.firstIndex(of: UInt8(ascii: "{")),
      let close = key[(open + 1)...].firstIndex(of: UInt8(ascii: "}")), close > open + 1
    {
      tag = UnsafeRawBufferPointer(rebasing: key[(open + 1)..<close])
    }
    number = CRC16.of(tag) % UInt16(Self.count)
  }

  init(of key: String) {
    var key = key
    self = key.withUTF8 { KeySlot(of: UnsafeRawBufferPointer($0)) }
  }
}
