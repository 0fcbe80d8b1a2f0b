import TestKit
import Testing

@testable import APNs
@testable import PushTransport

@Suite("Spreading over addresses")
struct AddressSpreadTests {
  /// Tries a look-up's addresses as libcurl does, and returns the address that was used.
  private func open(_ book: inout AddressSpread, _ connection: Int, _ addresses: [String]) -> String? {
    addresses.first { book.admits($0, for: connection) }
  }

  @Test("connections use different addresses as soon as several are known")
  func spreads() {
    var book = AddressSpread()
    expect(open(&book, 0, ["a", "b", "c"]), is: "a")
    // Another address is not known yet.
    expect(open(&book, 1, ["a", "b", "c"]), is: "a")
    book.closed(1)
    expect(open(&book, 1, ["b", "a", "c"]), is: "b")
    expect(open(&book, 2, ["c", "a", "b"]), is: "c")
    book.closed(0)
    expect(open(&book, 0, ["b", "c", "a"]), is: "a")
  }

  @Test("all connections use the only address")
  func single() {
    var book = AddressSpread()
    for connection in 0..<5 { expect(open(&book, connection, ["a"]), is: "a") }
  }

  @Test("a connection without a free address uses any address until a push is accepted")
  func connectionAcceptsAnyAddressAfterAFailure() {
    var book = AddressSpread()
    expect(open(&book, 0, ["a"]), is: "a")
    expect(open(&book, 1, ["b"]), is: "b")
    book.closed(1)
    // The look-up returns only the address that is already in use.
    expect(open(&book, 1, ["a"]), is: nil)
    book.failed(1)
    expect(open(&book, 1, ["a"]), is: "a")
    book.established(1)
    book.closed(1)
    expect(open(&book, 1, ["a", "b"]), is: "b")
  }

  @Test("a connection whose first address does not work uses any other one in the same opening")
  func fallback() {
    var book = AddressSpread()
    expect(open(&book, 0, ["a", "b"]), is: "a")
    expect(open(&book, 1, ["b"]), is: "b")
    expect(open(&book, 1, ["a"]), is: "a", "b has not worked")
    book.closed(1)
    expect(open(&book, 1, ["a"]), is: nil, "the next opening begins anew")
  }

  @Test("the memory of addresses is bounded")
  func bounded() {
    var book = AddressSpread()
    for number in 0..<10_000 { expect(book.admits("\(number)", for: number % 3), is: true) }
    book.closed(1)
    // Only the latest of all these addresses are remembered.
    expect(open(&book, 1, ["9999"]), is: nil)
  }
}
