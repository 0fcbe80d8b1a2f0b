import PushCore
import TLS

/// Replaces device tokens in log lines, because logs are copied to places where tokens must not be stored. Within a
/// process, a token always has the same replacement, so all log lines about the token can be found. The token can't be
/// computed from the replacement without the key.
struct TokenScrubber: Sendable {
  /// Length of the shortest run of hex digits that counts as a token. Ids in log lines have shorter runs. For example,
  /// the longest run of a UUID has 12 digits.
  static let shortest = 32

  private let key: [UInt8]

  init(key: [UInt8]) { self.key = key }

  /// Returns the text without tokens.
  func scrub(_ text: String) -> String {
    let bytes = Array(text.utf8)
    // Almost no line contains a token, so first check whether there is one at all.
    var run = 0
    guard
      bytes.contains(where: { byte in
        run = Self.isHex(byte) ? run + 1 : 0
        return run >= Self.shortest
      })
    else { return text }
    var result: [UInt8] = []
    var start = 0
    while start < bytes.count {
      let end = bytes[start...].firstIndex { !Self.isHex($0) } ?? bytes.count
      result += end - start >= Self.shortest ? replacement(for: bytes[start..<end]) : Array(bytes[start..<end])
      start = end
      while start < bytes.count, !Self.isHex(bytes[start]) {
        result.append(bytes[start])
        start += 1
      }
    }
    return String(decoding: result, as: UTF8.self)
  }

  private func replacement(for token: ArraySlice<UInt8>) -> [UInt8] {
    let lower = token.map { (UInt8(ascii: "A")...UInt8(ascii: "F")).contains($0) ? $0 | 0x20 : $0 }
    return Array("token:".utf8) + Hex.encode(Array(HMAC.sha256(lower, key: key).prefix(4)))
  }

  private static func isHex(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
      UInt8(ascii: "A")...UInt8(ascii: "F"):
      true
    default: false
    }
  }
}
