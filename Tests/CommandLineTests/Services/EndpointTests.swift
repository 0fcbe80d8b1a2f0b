import ServiceTools
import TestKit
import Testing

@testable import CommandSupport
@testable import carillon

struct EndpointTests {
  @Test(arguments: [
    ("https://api.push.apple.com", "api.push.apple.com", 443), ("https://127.0.0.1:2197/", "127.0.0.1", 2197),
    ("https://[::1]:2197", "::1", 2197), ("https://[::1]", "::1", 443),
  ])
  func reads(url: String, host: String, port: Int) {
    expect(EndpointAddress(url: url), is: .init(host: host, port: port))
  }

  @Test(arguments: [
    "", "https://", "http://a", "a:443", "https://a:", "https://a:x", "https://a:65536", "https://a/b", "https://a b",
    "https://u@a", "https://:443",
  ])
  func refuses(url: String) {
    expect(EndpointAddress(url: url), is: nil)
  }
}
