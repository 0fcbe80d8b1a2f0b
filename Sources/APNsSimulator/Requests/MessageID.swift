/// An `apns-id`: its 128 bits, and the 36 characters that the sender wrote.
struct MessageID {
  /// The 128 bits as a key of a hash table.
  struct Key: Hashable {
    var high: UInt64
    var low: UInt64
  }

  private typealias Text = (UInt64, UInt64, UInt64, UInt64, UInt32)

  let key: Key
  private var text: Text

  /// - Parameter value: the canonical form 8-4-4-4-12 (RFC 9562 section 4), hexadecimal digits in either case.
  init?(_ value: UnsafeRawBufferPointer) {
    guard value.count == 36 else { return nil }
    var halves: (UInt64, UInt64) = (0, 0)
    var digits = 0
    for (index, byte) in value.enumerated() {
      if index == 8 || index == 13 || index == 18 || index == 23 {
        guard byte == 0x2D else { return nil }
        continue
      }
      let digit = Hex.value(byte)
      guard digit <= 0x0F else { return nil }
      if digits < 16 { halves.0 = halves.0 << 4 | UInt64(digit) } else { halves.1 = halves.1 << 4 | UInt64(digit) }
      digits += 1
    }
    key = Key(high: halves.0, low: halves.1)
    var text: Text = (0, 0, 0, 0, 0)
    withUnsafeMutableBytes(of: &text) { $0.copyMemory(from: value) }
    self.text = text
  }

  /// Creates an identifier in upper case, as observed from APNs.
  init(random generator: inout some RandomNumberGenerator) {
    // Version 4 and its variant (RFC 9562 section 5.4).
    let high = generator.next() & 0xFFFF_FFFF_FFFF_0FFF | 0x4000
    let low = generator.next() & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000
    key = Key(high: high, low: low)
    var text: Text = (0, 0, 0, 0, 0)
    withUnsafeMutableBytes(of: &text) { bytes in
      var digit = 0
      for index in 0..<36 {
        if index == 8 || index == 13 || index == 18 || index == 23 {
          bytes[index] = 0x2D
          continue
        }
        let half = digit < 16 ? high : low
        let value = UInt8(truncatingIfNeeded: half >> (60 - 4 * UInt64(digit % 16))) & 0x0F
        bytes[index] = value < 10 ? 0x30 + value : 0x41 + value - 10
        digit += 1
      }
    }
    self.text = text
  }

  /// The same identifier in upper case.
  var raised: MessageID {
    var copy = self
    withUnsafeMutableBytes(of: &copy.text) { bytes in
      for index in bytes.indices where (0x61...0x66).contains(bytes[index]) { bytes[index] -= 0x20 }
    }
    return copy
  }

  /// Passes the 36 characters to `body`. They are valid only during the call.
  func withText<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
    try withUnsafeBytes(of: text) { try body(UnsafeRawBufferPointer(rebasing: $0[..<36])) }
  }
}
