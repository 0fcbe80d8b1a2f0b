/// The nine bytes before each frame (RFC 9113 section 4.1).
struct FrameHeader: Equatable {
  /// The frame types of RFC 9113 section 6. Other types must be ignored (section 5.5).
  enum Kind {
    static let data: UInt8 = 0
    static let headers: UInt8 = 1
    static let priority: UInt8 = 2
    static let resetStream: UInt8 = 3
    static let settings: UInt8 = 4
    static let pushPromise: UInt8 = 5
    static let ping: UInt8 = 6
    static let goAway: UInt8 = 7
    static let windowUpdate: UInt8 = 8
    static let continuation: UInt8 = 9
  }

  /// The flags of RFC 9113 section 6. The meaning of a bit depends on the frame type.
  enum Flag {
    static let acknowledgement: UInt8 = 0x1
    static let endStream: UInt8 = 0x1
    static let endHeaders: UInt8 = 0x4
    static let padded: UInt8 = 0x8
    static let priority: UInt8 = 0x20
  }

  /// Size of the header in bytes.
  static let size = 9
  /// Maximum payload of a frame in bytes. Every endpoint accepts this size, and this end announces no larger size (RFC
  /// 9113 section 4.2).
  static let largestPayload = 16_384

  /// Length of the payload in bytes.
  var length: Int
  var kind: UInt8
  var flags: UInt8 = 0
  /// The stream identifier. A frame with the identifier 0 concerns the whole connection.
  var stream: UInt32 = 0

  /// Returns a number in network byte order, as frames contain it.
  static func bytes(_ number: some FixedWidthInteger) -> [UInt8] { withUnsafeBytes(of: number.bigEndian) { Array($0) } }

  func has(_ flag: UInt8) -> Bool { flags & flag != 0 }
}

extension FrameHeader {
  /// Reads a header from ``size`` bytes.
  init(_ bytes: UnsafeRawPointer) {
    let head = UInt32(bigEndian: bytes.loadUnaligned(as: UInt32.self))
    length = Int(head >> 8)
    kind = UInt8(truncatingIfNeeded: head)
    flags = bytes.load(fromByteOffset: 4, as: UInt8.self)
    // The first bit of the identifier is reserved.
    stream = UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: 5, as: UInt32.self)) & 0x7fff_ffff
  }

  /// Writes the header as ``size`` bytes.
  func write(to bytes: UnsafeMutableRawPointer) {
    bytes.storeBytes(of: (UInt32(truncatingIfNeeded: length) << 8 | UInt32(kind)).bigEndian, as: UInt32.self)
    bytes.storeBytes(of: flags, toByteOffset: 4, as: UInt8.self)
    bytes.storeBytes(of: stream.bigEndian, toByteOffset: 5, as: UInt32.self)
  }
}
