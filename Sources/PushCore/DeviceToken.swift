/// An APNs device token: 1 to 200 bytes, written as lower-case hex.
///
/// Apple documents no length; 32 bytes is usual, 40, 48, 54 and 80 are on record.
public struct DeviceToken: Hashable, Sendable {
  /// The longest token accepted; generous against the 80 bytes on record, small enough for a length byte.
  public static let maximumLength = 200

  /// The raw bytes.
  public let bytes: [UInt8]

  /// - Parameter bytes: `nil` is returned unless there are 1 to ``maximumLength`` of them.
  public init?(bytes: some Collection<UInt8>) {
    guard (1...Self.maximumLength).contains(bytes.count) else { return nil }
    self.bytes = Array(bytes)
  }

  /// Parses hex of any case; `<`, `>` and blanks, which old logs put around tokens, are stripped.
  ///
  /// - Returns: `nil` for anything else, an odd number of digits, or a length out of range.
  public init?(hex text: some StringProtocol) {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(32)
    var high: UInt8?
    for character in text.utf8 {
      guard let digit = Hex.value(of: character) else {
        switch character {
        case UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: " "), UInt8(ascii: "\t"): continue
        default: return nil
        }
      }
      if let pending = high {
        bytes.append(pending << 4 | digit)
        high = nil
      } else {
        high = digit
      }
    }
    guard high == nil else { return nil }
    self.init(bytes: bytes)
  }

  /// Lower-case hex.
  public var hex: String { String(decoding: hexBytes, as: UTF8.self) }

  /// As much of the hex as tells tokens apart and is of no use to anybody else: for logs and terminals.
  public var shortened: String {
    bytes.count > 8 ? "\(hex.prefix(8))…\(hex.suffix(4))" : hex
  }

  /// Lower-case hex as ASCII.
  public var hexBytes: [UInt8] { Hex.encode(bytes) }
}

/// The alphabet that tokens, ids and digests are written in.
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
  public static func encode(_ bytes: Slice<UnsafeBufferPointer<UInt8>>, to buffer: UnsafeMutableBufferPointer<UInt8>) {
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
