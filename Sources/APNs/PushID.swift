internal import TLS

/// The ids that make a push of a campaign recognisable when it is sent twice.
///
/// `apns-id` is UUIDv5(campaign, token): any worker, at any time, gives the same push the same id. Confined to one
/// thread at a time, as the ``TLS/Digest`` in it.
public struct PushID {
  /// The namespace of Carillon's campaigns: random, fixed for ever (RFC 9562 section 6.6).
  static let carillon: [UInt8] = [
    0x1d, 0x5c, 0x8e, 0x0f, 0x6b, 0x3a, 0x4c, 0x92, 0x9f, 0x27, 0x54, 0xe1, 0xb8, 0x0d, 0x73, 0xa6,
  ]

  private let digest = Digest(.sha1)
  private let namespace: [UInt8]

  /// - Parameter campaign: the campaign's id. Its UUIDv5 is the namespace of its pushes.
  public init(campaign: String) {
    let id = Self.version5(digest, namespace: Self.carillon, name: Array(campaign.utf8))
    namespace = Self.bytes(id)
  }

  /// `apns-id` of the push to a token, in two halves in network order.
  ///
  /// - Parameter token: the raw bytes.
  public func apnsID(token: UnsafeRawBufferPointer) -> (high: UInt64, low: UInt64) {
    namespace.withUnsafeBytes { digest.update($0) }
    digest.update(token)
    return Self.finish(digest)
  }

  /// `apns-id` of the push to a token, in two halves in network order.
  public func apnsID(token: [UInt8]) -> (high: UInt64, low: UInt64) {
    token.withUnsafeBytes { apnsID(token: $0) }
  }

  /// The default `apns-collapse-id`: the first 32 hex digits of SHA-256(campaign id), so a duplicate replaces the first.
  public static func collapseID(campaign: String) -> String {
    let digest = Digest(.sha256).hash(Array(campaign.utf8))
    return String(decoding: digest.prefix(16).flatMap { [hexDigit($0 >> 4), hexDigit($0 & 15)] }, as: UTF8.self)
  }

  /// A UUID as `apns-id` wants it: 8-4-4-4-12 lower-case digits.
  public static func text(_ id: (high: UInt64, low: UInt64)) -> String {
    String(unsafeUninitializedCapacity: textLength) { buffer in
      write(id, to: UnsafeMutableRawBufferPointer(buffer))
      return textLength
    }
  }

  /// The characters of a UUID.
  static let textLength = 36

  /// Writes the 36 characters of a UUID to the beginning of `buffer`.
  static func write(_ id: (high: UInt64, low: UInt64), to buffer: UnsafeMutableRawBufferPointer) {
    precondition(buffer.count >= textLength)
    let middle = hexDigits(UInt32(truncatingIfNeeded: id.high))
    let third = hexDigits(UInt32(truncatingIfNeeded: id.low >> 32))
    buffer.storeBytes(of: hexDigits(UInt32(truncatingIfNeeded: id.high >> 32)).bigEndian, as: UInt64.self)
    buffer[8] = UInt8(ascii: "-")
    buffer.storeBytes(of: UInt32(truncatingIfNeeded: middle >> 32).bigEndian, toByteOffset: 9, as: UInt32.self)
    buffer[13] = UInt8(ascii: "-")
    buffer.storeBytes(of: UInt32(truncatingIfNeeded: middle).bigEndian, toByteOffset: 14, as: UInt32.self)
    buffer[18] = UInt8(ascii: "-")
    buffer.storeBytes(of: UInt32(truncatingIfNeeded: third >> 32).bigEndian, toByteOffset: 19, as: UInt32.self)
    buffer[23] = UInt8(ascii: "-")
    buffer.storeBytes(of: UInt32(truncatingIfNeeded: third).bigEndian, toByteOffset: 24, as: UInt32.self)
    let last = hexDigits(UInt32(truncatingIfNeeded: id.low))
    buffer.storeBytes(of: last.bigEndian, toByteOffset: 28, as: UInt64.self)
  }

  /// Computed, not looked up: a global array costs an access check and a bounds check for each digit.
  static func hexDigit(_ nibble: UInt8) -> UInt8 { nibble + (nibble < 10 ? UInt8(ascii: "0") : UInt8(ascii: "a") - 10) }

  /// Writes the digits of `bytes` to the beginning of `buffer`, two each.
  static func writeHex(_ bytes: UnsafeRawBufferPointer, to buffer: UnsafeMutableRawBufferPointer) {
    precondition(buffer.count >= 2 * bytes.count)
    var place = 0
    while place + 4 <= bytes.count {
      let word = UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: place, as: UInt32.self))
      buffer.storeBytes(of: hexDigits(word).bigEndian, toByteOffset: 2 * place, as: UInt64.self)
      place += 4
    }
    for place in place..<bytes.count {
      buffer[2 * place] = hexDigit(bytes[place] >> 4)
      buffer[2 * place + 1] = hexDigit(bytes[place] & 15)
    }
  }

  /// The eight digits of a number, the first in the highest byte; all at once, as there are 25 such words in a push.
  private static func hexDigits(_ number: UInt32) -> UInt64 {
    var nibbles = UInt64(number)
    nibbles = (nibbles & 0xffff_0000) << 16 | nibbles & 0xffff
    nibbles = (nibbles & 0x0000_ff00_0000_ff00) << 8 | nibbles & 0x0000_00ff_0000_00ff
    nibbles = (nibbles & 0x00f0_00f0_00f0_00f0) << 4 | nibbles & 0x000f_000f_000f_000f
    // Of each byte, one if it is ten or more: then the digit is as far on as `a` is behind `9`.
    let letters = (nibbles + 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101
    return nibbles + 0x3030_3030_3030_3030 + letters * UInt64(UInt8(ascii: "a") - UInt8(ascii: "9") - 1)
  }

  static func version5(_ digest: Digest, namespace: [UInt8], name: [UInt8]) -> (high: UInt64, low: UInt64) {
    namespace.withUnsafeBytes { digest.update($0) }
    name.withUnsafeBytes { digest.update($0) }
    return finish(digest)
  }

  private static func finish(_ digest: Digest) -> (high: UInt64, low: UInt64) {
    withUnsafeTemporaryAllocation(byteCount: 20, alignment: 8) { buffer in
      digest.finish(into: buffer)
      let high = UInt64(bigEndian: buffer.load(as: UInt64.self))
      let low = UInt64(bigEndian: buffer.load(fromByteOffset: 8, as: UInt64.self))
      // RFC 9562 section 5.5: version 5 in the high nibble of byte 6, variant 10 in the top bits of byte 8.
      return (high & 0xffff_ffff_ffff_0fff | 0x5000, low & 0x3fff_ffff_ffff_ffff | 0x8000_0000_0000_0000)
    }
  }

  private static func bytes(_ id: (high: UInt64, low: UInt64)) -> [UInt8] {
    [id.high, id.low].flatMap { half in (0..<8).map { UInt8(truncatingIfNeeded: half >> UInt64(56 - 8 * $0)) } }
  }
}
