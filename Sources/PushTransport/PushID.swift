internal import PushCore
internal import TLS

/// Makes the ids of a campaign's pushes. If a push is sent twice, both have the same id, so the app can recognise the
/// duplicate.
///
/// An id is UUIDv5(campaign, token), so every worker gives the same push the same id at any time. Only one thread at a
/// time may use a value, because it contains a ``TLS/Digest``.
public struct PushID {
  /// UUID namespace of Carillon's campaigns: random, and it never changes (RFC 9562 section 6.6).
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

  /// Returns the id of the push to a token, in two halves in network order.
  ///
  /// - Parameter token: the raw bytes.
  public func id(token: UnsafeRawBufferPointer) -> (high: UInt64, low: UInt64) {
    namespace.withUnsafeBytes { digest.update($0) }
    digest.update(token)
    return Self.finish(digest)
  }

  /// Returns the id of the push to a token, in two halves in network order.
  public func id(token: [UInt8]) -> (high: UInt64, low: UInt64) {
    token.withUnsafeBytes { id(token: $0) }
  }

  /// Returns an id that all pushes of a campaign share: the first 32 hex digits of SHA-256(campaign id). If a push has
  /// this id as its collapse id or tag, a duplicate replaces the first push.
  public static func collapseID(campaign: String) -> String {
    let digest = Digest(.sha256).hash(Array(campaign.utf8))
    return String(decoding: Hex.encode(digest.prefix(16)), as: UTF8.self)
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
