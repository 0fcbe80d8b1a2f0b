/// Hexadecimal text, the notation of tokens, ids and digests.
public enum Hex {
  /// ASCII `0` to `f`.
  public static let digits: [UInt8] = Array("0123456789abcdef".utf8)

  /// Returns two lower-case digits for every byte.
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

  /// Writes two lower-case digits for every byte to the beginning of a buffer, which must be large enough. The function
  /// runs for every push, so it processes four bytes at a time.
  public static func encode(_ bytes: UnsafeRawBufferPointer, to buffer: UnsafeMutableRawBufferPointer) {
    precondition(buffer.count >= bytes.count * 2)
    var place = 0
    while place + 4 <= bytes.count {
      let word = UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: place, as: UInt32.self))
      buffer.storeBytes(of: digits(of: word).bigEndian, toByteOffset: 2 * place, as: UInt64.self)
      place += 4
    }
    for place in place..<bytes.count {
      buffer[2 * place] = digit(bytes[place] >> 4)
      buffer[2 * place + 1] = digit(bytes[place] & 15)
    }
  }

  /// Returns the eight digits of a number as ASCII; the first digit is in the highest byte. A push needs 25 calls, so
  /// the function computes all digits together.
  static func digits(of number: UInt32) -> UInt64 {
    var nibbles = UInt64(number)
    nibbles = (nibbles & 0xffff_0000) << 16 | nibbles & 0xffff
    nibbles = (nibbles & 0x0000_ff00_0000_ff00) << 8 | nibbles & 0x0000_00ff_0000_00ff
    nibbles = (nibbles & 0x00f0_00f0_00f0_00f0) << 4 | nibbles & 0x000f_000f_000f_000f
    // A byte of `letters` is 1 if its digit is 10 or more. For such a digit, the distance from `9` to `a` is added.
    let letters = (nibbles + 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101
    return nibbles + 0x3030_3030_3030_3030 + letters * UInt64(UInt8(ascii: "a") - UInt8(ascii: "9") - 1)
  }

  /// Returns the ASCII digit of a value below 16.
  @inlinable
  static func digit(_ value: UInt8) -> UInt8 { value + (value < 10 ? 0x30 : 0x57) }

  /// Returns the value of a hex digit of any case; `nil` for any other byte.
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
