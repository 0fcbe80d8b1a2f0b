import PushCore
import TLS
import TestKit
import Testing

@testable import PushTransport

@Suite("Ids of pushes")
struct PushIDTests {
  @Test("the UUIDv5 example of RFC 9562")
  func vectors() {
    let dns: [UInt8] = [
      0x6b, 0xa7, 0xb8, 0x10, 0x9d, 0xad, 0x11, 0xd1, 0x80, 0xb4, 0x00, 0xc0, 0x4f, 0xd4, 0x30, 0xc8,
    ]
    let id = PushID.version5(Digest(.sha1), namespace: dns, name: Array("www.example.com".utf8))
    // RFC 9562 appendix A.4.
    expect(UUIDText.text(id), is: "2ed6657d-e927-568b-95e1-2665a8aea6a2")
  }

  @Test("another program computes the same apns-id and collapse id from campaign and token")
  func stable() {
    let token = (0..<32).map(UInt8.init)
    let id = PushID(campaign: "spring-sale-2026").id(token: token)
    expect(UUIDText.text(id), is: "f1ed759e-eea1-5f0f-a1af-d04a495e4d6e")
    expect(PushID.collapseID(campaign: "spring-sale-2026"), is: "094315af381a6d512448a3c3c450de99")
  }

  @Test("each campaign and each token has a different id")
  func distinct() {
    let one = PushID(campaign: "a")
    let first = one.id(token: [1, 2, 3])
    expect(first == one.id(token: [1, 2, 3]))
    expect(first != one.id(token: [1, 2, 4]))
    expect(first != PushID(campaign: "b").id(token: [1, 2, 3]))
  }
}
