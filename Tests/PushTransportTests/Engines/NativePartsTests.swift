import PushCore
import TestKit
import Testing

@testable import PushTransport

/// The pure parts of the native engine, and parts that it shares with the curl engine.
@Suite("Parts of the native engine")
struct NativePartsTests {
  @Test(
    "host and port of a URL",
    arguments: [
      ("https://api.push.apple.com", "api.push.apple.com", 443, "api.push.apple.com"),
      ("https://api.push.apple.com:443", "api.push.apple.com", 443, "api.push.apple.com"),
      ("https://127.0.0.1:2197", "127.0.0.1", 2197, "127.0.0.1:2197"),
      ("https://[::1]:2197/x", "::1", 2197, "[::1]:2197"), ("https://[::1]", "::1", 443, "[::1]"),
    ])
  func authority(url: String, host: String, port: UInt16, text: String) throws {
    let authority = try #require(Authority(url: url, scheme: "https", defaultPort: 443))
    expect((authority.host, authority.port, authority.text) == (host, port, text))
  }

  @Test(
    "other URLs are rejected", arguments: ["http://a", "https://", "https://a:b", "https://[::1", "https://:1"])
  func noAuthority(url: String) { expect(Authority(url: url, scheme: "https", defaultPort: 443), is: nil) }

  @Test("hexadecimal digits of any number of bytes")
  func hex() {
    let bytes = (0..<203).map { UInt8(truncatingIfNeeded: $0 &* 37) }
    for count in [0, 1, 3, 4, 5, 7, 8, 32, 200, 203] {
      var text = [UInt8](repeating: 0, count: 2 * count)
      bytes.prefix(count).withUnsafeBytes { bytes in
        text.withUnsafeMutableBytes { Hex.encode(bytes, to: $0) }
      }
      let expected = bytes.prefix(count).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
      expect(String(decoding: text, as: UTF8.self), is: expected)
    }
  }
}
