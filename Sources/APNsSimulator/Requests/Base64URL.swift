/// Base64 as JSON Web Tokens have it (RFC 7515 section 2); the standard alphabet and padding are let through, because
/// senders in use send them and APNs takes them.
enum Base64URL {
  /// The decoded bytes, or `nil` when `text` is not Base64.
  static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.count * 3 / 4)
    var bits: UInt32 = 0
    var count = 0
    var hasEnded = false
    for character in text {
      guard character != 0x3D else {
        hasEnded = true
        continue
      }
      guard !hasEnded, let value = value(character) else { return nil }
      bits = bits << 6 | UInt32(value)
      count += 6
      if count >= 8 {
        count -= 8
        bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
      }
    }
    // Six bits left over are a lone character, which no encoder makes.
    return count < 6 ? bytes : nil
  }

  private static func value(_ character: UInt8) -> UInt8? {
    switch character {
    case 0x41...0x5A: character - 0x41
    case 0x61...0x7A: character - 0x61 + 26
    case 0x30...0x39: character - 0x30 + 52
    case 0x2D, 0x2B: 62
    case 0x5F, 0x2F: 63
    default: nil
    }
  }
}
