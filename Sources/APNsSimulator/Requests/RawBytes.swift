private import Glibc

extension UnsafeRawBufferPointer {
  /// Returns whether these are exactly the bytes of `text`.
  func matches(_ text: StaticString) -> Bool {
    matches(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
  }

  /// Returns whether these are exactly the bytes of `other`.
  func matches(_ other: UnsafeRawBufferPointer) -> Bool {
    guard count == other.count else { return false }
    guard let start = baseAddress, let otherStart = other.baseAddress else { return count == 0 }
    // memcmp(3) reads `count` bytes of both buffers. Both have this size.
    return memcmp(start, otherStart, count) == 0
  }

  /// Returns whether these are exactly `bytes`.
  func matches(_ bytes: [UInt8]) -> Bool {
    bytes.withUnsafeBytes { matches($0) }
  }

  /// Returns whether these begin with the bytes of `text`.
  func begins(with text: StaticString) -> Bool {
    let length = text.utf8CodeUnitCount
    guard count >= length, let start = baseAddress else { return false }
    return memcmp(start, text.utf8Start, length) == 0
  }

  /// Returns all but the first `count` bytes.
  func dropping(_ count: Int) -> UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: self[count...]) }

  /// The decimal number of at most 18 digits in these bytes, or `nil`.
  var decimal: Int64? {
    guard (1...18).contains(count) else { return nil }
    var number: Int64 = 0
    for byte in self {
      guard byte >= 0x30, byte <= 0x39 else { return nil }
      number = number * 10 + Int64(byte - 0x30)
    }
    return number
  }
}

/// Hexadecimal digits, in either case.
enum Hex {
  /// Returns the value of a digit, or a number above 15 for any other byte.
  static func value(_ digit: UInt8) -> UInt8 {
    switch digit {
    case 0x30...0x39: digit - 0x30
    case 0x61...0x66: digit - 0x61 + 10
    case 0x41...0x46: digit - 0x41 + 10
    default: 0xFF
    }
  }

  /// Returns the digits in lower case, or `nil` if they don't represent bytes.
  static func lowered(_ digits: UnsafeRawBufferPointer) -> [UInt8]? {
    guard !digits.isEmpty, digits.count % 2 == 0, digits.allSatisfy({ value($0) <= 0x0F }) else { return nil }
    // 0x20 sets letters to lower case and keeps decimal digits.
    return digits.map { $0 | 0x20 }
  }

  /// Returns the bytes of the digits, or `nil` if the digits are invalid.
  static func decoded(_ digits: UnsafeRawBufferPointer) -> [UInt8]? {
    let bytes = [UInt8](unsafeUninitializedCapacity: digits.count / 2) { buffer, count in
      count = decode(digits, into: UnsafeMutableRawBufferPointer(buffer)) ?? 0
    }
    return bytes.isEmpty ? nil : bytes
  }

  /// Decodes `digits` into `bytes`.
  ///
  /// - Returns: the number of bytes; `nil` if a digit is invalid or if the number of digits is odd, zero or too large.
  static func decode(_ digits: UnsafeRawBufferPointer, into bytes: UnsafeMutableRawBufferPointer) -> Int? {
    let count = digits.count / 2
    guard digits.count % 2 == 0, count > 0, count <= bytes.count else { return nil }
    var wrong: UInt8 = 0
    for index in 0..<count {
      let high = value(digits[2 * index])
      let low = value(digits[2 * index + 1])
      wrong |= high | low
      bytes[index] = high << 4 | low & 0x0F
    }
    return wrong > 0x0F ? nil : count
  }
}
