/// CRC16 that Redis Cluster uses to hash keys: XMODEM (polynomial 0x1021, no reflection, start 0).
///
/// Source: Redis Cluster specification, appendix A.
public enum CRC16 {
  private static let table: [UInt16] = (0..<256).map { index in
    (0..<8).reduce(UInt16(index) << 8) { crc, _ in crc & 0x8000 == 0 ? crc << 1 : crc << 1 ^ 0x1021 }
  }

  /// Returns the checksum of the bytes.
  public static func of(_ bytes: UnsafeRawBufferPointer) -> UInt16 {
    // The caller owns the buffer during this call, and this function only reads from it.
    table.withUnsafeBufferPointer { table in
      var crc: UInt16 = 0
      for byte in bytes { crc = crc << 8 ^ table[Int(UInt8(truncatingIfNeeded: crc >> 8) ^ byte)] }
      return crc
    }
  }

  /// Returns the checksum of the bytes.
  public static func of(_ bytes: [UInt8]) -> UInt16 {
    bytes.withUnsafeBytes { of($0) }
  }

  /// Returns the checksum of the text's UTF-8.
  public static func of(_ text: String) -> UInt16 {
    var text = text
    return text.withUTF8 { of(UnsafeRawBufferPointer($0)) }
  }
}
