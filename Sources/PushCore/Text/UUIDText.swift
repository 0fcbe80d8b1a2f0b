/// UUID as text: 8-4-4-4-12 lower-case hex digits (RFC 9562 section 4).
public enum UUIDText {
  /// Number of characters of a UUID.
  public static let count = 36

  /// Returns the text of a UUID.
  ///
  /// - Parameter id: the UUID, as the two halves of 16 bytes in network order.
  public static func text(_ id: (high: UInt64, low: UInt64)) -> String {
    String(unsafeUninitializedCapacity: count) { buffer in
      write(id, to: UnsafeMutableRawBufferPointer(buffer))
      return count
    }
  }

  /// Appends the text of a UUID.
  public static func append(_ id: (high: UInt64, low: UInt64), to bytes: inout [UInt8]) {
    withUnsafeTemporaryAllocation(byteCount: count, alignment: 8) {
      write(id, to: $0)
      bytes.append(contentsOf: $0)
    }
  }

  /// Writes the text of a UUID to the beginning of `buffer`.
  public static func write(_ id: (high: UInt64, low: UInt64), to buffer: UnsafeMutableRawBufferPointer) {
    precondition(buffer.count >= count)
    let middle = Hex.digits(of: UInt32(truncatingIfNeeded: id.high))
    let third = Hex.digits(of: UInt32(truncatingIfNeeded: id.low >> 32))
    buffer.storeBytes(of: Hex.digits(of: UInt32(truncatingIfNeeded: id.high >> 32)).bigEndian, as: UInt64.self)
    buffer[8] = UInt8(ascii: "-")
    buffer.storeBytes(of: UInt32(truncatingIfNeeded: middle >> 32).bigEndian, toByteOffset: 9, as: UInt32.self)
    buffer[13] = UInt8(ascii: "-")
    buffer.storeBytes(of: UInt32(truncatingIfNeeded: middle).bigEndian, toByteOffset: 14, as: UInt32.self)
    buffer[18] = UInt8(ascii: "-")
    buffer.storeBytes(of: UInt32(truncatingIfNeeded: third >> 32).bigEndian, toByteOffset: 19, as: UInt32.self)
    buffer[23] = UInt8(ascii: "-")
    buffer.storeBytes(of: UInt32(truncatingIfNeeded: third).bigEndian, toByteOffset: 24, as: UInt32.self)
    let last = Hex.digits(of: UInt32(truncatingIfNeeded: id.low))
    buffer.storeBytes(of: last.bigEndian, toByteOffset: 28, as: UInt64.self)
  }
}
