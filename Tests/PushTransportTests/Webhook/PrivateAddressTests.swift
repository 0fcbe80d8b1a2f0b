import EventLoop
import TestKit
import Testing

@testable import PushTransport

/// Addresses that a webhook must not have.
struct PrivateAddressTests {
  private static func bytes(_ text: String) -> [UInt8] {
    guard text.contains(":") else { return text.split(separator: ".").compactMap { UInt8($0) } }
    let halves = text.split(separator: "::", maxSplits: 1, omittingEmptySubsequences: false).map { half in
      half.split(separator: ":").flatMap { word -> [UInt8] in
        let number = UInt16(word, radix: 16) ?? 0
        return [UInt8(number >> 8), UInt8(number & 255)]
      }
    }
    let tail = halves.count > 1 ? halves[1] : []
    return halves[0] + Array(repeating: 0, count: 16 - halves[0].count - tail.count) + tail
  }

  @Test(arguments: [
    "0.0.0.0", "10.0.0.1", "100.64.0.1", "100.127.255.255", "127.0.0.1", "127.255.0.9", "169.254.169.254", "172.16.0.1",
    "172.31.255.255", "192.0.0.1", "192.0.2.5", "192.168.1.1", "198.18.0.1", "198.19.9.9", "198.51.100.1",
    "203.0.113.7", "224.0.0.1", "255.255.255.255",
    "::", "::1", "fc00::1", "fdff::1", "fe80::1", "fec0::1", "ff02::1", "2001:db8::1", "2001::1", "::ffff:7f00:1",
    "::ffff:a00:1", "64:ff9b::a00:1", "64:ff9b:1::101:101", "64:ff9b:1:ffff::1", "2002:a00:1::", "100::1", "3fff::1",
    "5f00::1",
  ])
  func isPrivate(address: String) {
    expect(PrivateAddress.contains(Self.bytes(address)))
  }

  @Test(arguments: [
    "1.1.1.1", "9.255.255.255", "11.0.0.1", "100.63.255.255", "100.128.0.1", "126.0.0.1", "128.0.0.1", "172.15.0.1",
    "172.32.0.1", "192.0.1.1", "192.167.1.1", "198.17.0.1", "198.20.0.1", "223.255.255.255",
    "2606:4700::1111", "2a00:1450::1", "::ffff:101:101", "64:ff9b::101:101", "2002:101:101::",
  ])
  func isPublic(address: String) {
    expect(!PrivateAddress.contains(Self.bytes(address)))
  }

  @Test func invalidAddressIsRefused() {
    expect(PrivateAddress.contains([UInt8]()) && PrivateAddress.contains([1, 2, 3]))
  }
}
