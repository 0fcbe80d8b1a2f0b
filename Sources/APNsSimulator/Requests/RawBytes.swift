private import Glibc

extension UnsafeRawBufferPointer {
  /// Whether these are exactly the bytes of `text`.
  func matches(_ text: StaticString) -> Bool {
    matches(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
  }

  /// Whether these are exactly the bytes of `other`.
  func matches(_ other: UnsafeRawBufferPointer) -> Bool {
    guard count == other.count else { return false }
    guard let start = baseAddress, let otherStart = other.baseAddress else { return count == 0 }
    // memcmp(3) reads `count` bytes from both, which both have.
    return memcmp(start, otherStart, count) == 0
  }

  /// Whether these are exactly `bytes`.
  func matches(_ bytes: [UInt8]) -> Bool {
    bytes.withUnsafeBytes { matches($0) }
  }

  /// Whether these begin with the bytes of `text`.
  func begins(with text: StaticString) -> Bool {
    let length = text.utf8CodeUnitCount
    guard count >= length, let start = baseAddress else { return false }
    return memcmp(start, text.utf8Start, length) == 0
  }

  /// All but the first `count` bytes.
  func dropping(_ count: Int) -> UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: self[count...]) }

  /// The decimal number that these bytes spell, or `nil`; at most 18 digits.
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

/// Hexadecimal digits, either case.
enum Hex {
  /// The value of a digit, or a number above 15 for anything else.
  static func value(_ digit: UInt8) -> UInt8 {
    switch digit {
    case 0x30...0x39: digit - 0x30
    case 0x61...0x66: digit - 0x61 + 10
    case 0x41...0x46: digit - 0x41 + 10
    default: 0xFF
    }
  }

  /// The digits in lower case, or `nil` when they spell no bytes.
  static func lowered(_ digits: UnsafeRawBufferPointer) -> [UInt8]? {
    guard !digits.isEmpty, digits.count % 2 == 0, digits.allSatisfy({ value($0) <= 0x0F }) else { return nil }
    // 0x20 sets letters to lower case and leaves decimal digits as they are.
    return digits.map { $0 | 0x20 }
  }

  /// The bytes that the digits spell, or `nil` when they spell none.
  static func decoded(_ digits: UnsafeRawBufferPointer) -> [UInt8]? {
    let bytes = [UInt8](unsafeUninitializedCapacity: digits.count / 2) { buffer, count in
      count = decode(digits, into: UnsafeMutableRawBufferPointer(buffer)) ?? 0
    }
    return bytes.isEmpty ? nil : bytes
  }

  /// Decodes `digits` into `bytes`.
  ///
  /// - Returns: how many bytes, or `nil` when the digits are odd in number, none, too many, or no digits.
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
