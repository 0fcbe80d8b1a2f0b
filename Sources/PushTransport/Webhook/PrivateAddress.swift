/// Addresses that do not belong to the public Internet: loopback, local networks, and the metadata services of clouds.
/// A webhook must not reach these addresses, because its URL may come from a person without access to the network.
///
/// Source: IANA's registries of special-purpose addresses for IPv4 and IPv6 (RFC 6890).
enum PrivateAddress {
  /// Returns whether an address is private.
  ///
  /// - Parameter bytes: the address, four bytes for IPv4, sixteen for IPv6.
  static func contains(_ bytes: some Collection<UInt8>) -> Bool {
    let bytes = Array(bytes)
    switch bytes.count {
    case 4: return isPrivate(v4: bytes)
    case 16: return isPrivate(v6: bytes)
    default: return true
    }
  }

  private static let v4: [(prefix: [UInt8], bits: Int)] = [
    ([0], 8), ([10], 8), ([100, 64], 10), ([127], 8), ([169, 254], 16), ([172, 16], 12), ([192, 0, 0], 24),
    ([192, 0, 2], 24), ([192, 88, 99], 24), ([192, 168], 16), ([198, 18], 15), ([198, 51, 100], 24),
    ([203, 0, 113], 24),
    ([224], 3),
  ]

  private static let v6: [(prefix: [UInt8], bits: Int)] = [
    // The first prefix covers the unspecified address, loopback, and all other IPv4-compatible addresses.
    // 64:ff9b:1::/48 is reserved for address translation within a network (RFC 8215).
    ([0, 0, 0, 0, 0, 0, 0, 0], 64), ([0x01, 0, 0, 0, 0, 0, 0, 0], 64), ([0x20, 0x01, 0x0D, 0xB8], 32),
    ([0x20, 0x01, 0, 0], 32), ([0, 0x64, 0xFF, 0x9B, 0, 1], 48), ([0x3F, 0xFF], 20), ([0x5F], 16), ([0xFC], 7),
    ([0xFE, 0x80], 10), ([0xFE, 0xC0], 10),
    ([0xFF], 8),
  ]

  private static func isPrivate(v4 bytes: [UInt8]) -> Bool { v4.contains { matches(bytes, $0.prefix, bits: $0.bits) } }

  private static func isPrivate(v6 bytes: [UInt8]) -> Bool {
    // The address may contain an IPv4 address: mapped (::ffff:0:0/96), translated (64:ff9b::/96, RFC 6052), 6to4
    // (2002::/16).
    if matches(bytes, Array(repeating: 0, count: 10) + [0xFF, 0xFF], bits: 96)
      || matches(bytes, [0, 0x64, 0xFF, 0x9B, 0, 0, 0, 0, 0, 0, 0, 0], bits: 96)
    {
      return isPrivate(v4: Array(bytes[12...]))
    }
    if matches(bytes, [0x20, 0x02], bits: 16) { return isPrivate(v4: Array(bytes[2..<6])) }
    return v6.contains { matches(bytes, $0.prefix, bits: $0.bits) }
  }

  private static func matches(_ bytes: [UInt8], _ prefix: [UInt8], bits: Int) -> Bool {
    for index in 0..<((bits + 7) / 8) {
      let left = min(8, bits - 8 * index)
      let mask = UInt8(truncatingIfNeeded: 0xFF00 >> left)
      guard bytes[index] & mask == (index < prefix.count ? prefix[index] : 0) & mask else { return false }
    }
    return true
  }
}
