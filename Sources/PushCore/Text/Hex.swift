/// The alphabet that APNs' tokens, ids and digests are written in.
public enum Hex {
  /// ASCII `0` to `f`.
  public static let digits: [UInt8] = Array("0123456789abcdef".utf8)

  /// Two lower-case digits for every byte.
  @inlinable
  public static func encode(_ bytes: some Collection<UInt8>) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: bytes.count * 2) { buffer, count in
      for byte in bytes {
        buffer[count] = digit(byte >> 4)
        buffer[count + 1] = digit(byte & 15)
        count += 2
      }
    }
  }

  /// Two lower-case digits for every byte, at the beginning of a buffer that has the room.
  public static func encode(_ bytes: UnsafeRawBufferPointer, to buffer: UnsafeMutableRawBufferPointer) {
    precondition(buffer.count >= bytes.count * 2)
    var place = 0
    for byte in bytes {
      buffer[place] = digit(byte >> 4)
      buffer[place + 1] = digit(byte & 15)
      place += 2
    }
  }

  /// ASCII of a value below 16.
  @inlinable
  static func digit(_ value: UInt8) -> UInt8 { value + (value < 10 ? 0x30 : 0x57) }

  /// The value of a hex digit of any case; `nil` for any other byte.
  @inlinable
  public static func value(of digit: UInt8) -> UInt8? {
    switch digit {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}
