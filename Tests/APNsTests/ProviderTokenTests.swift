import PushCore
import Synchronization
import TLS
import TestKit
import Testing

@testable import APNs

@Suite("Provider tokens")
struct ProviderTokenTests {
  @Test("on the grid a token is 5 to 35 minutes old, and its claims change every half hour")
  func grid() {
    for key in ["ABC123DEFG", "ZZZZZZZZZZ", "0000000001"] {
      let offset = ProviderTokenGrid.offset(of: key)
      expect((0..<1800).contains(offset))
      var changes = 0
      var last: Int64?
      for now in stride(from: Int64(1_800_000_000), to: 1_800_000_000 + 4 * 3600, by: 7) {
        let issuedAt = ProviderTokenGrid.issuedAt(now: now, keyID: key)
        expect((300..<2100).contains(now - issuedAt))
        expect((issuedAt - offset) % 1800, is: 0)
        if let last, last != issuedAt {
          expect(issuedAt - last, is: 1800)
          changes += 1
        }
        last = issuedAt
      }
      expect(changes, is: 8)
    }
  }

  @Test("the grid is the formula of the design, to the second")
  func gridByHand() {
    // FNV-1a of "ABC123DEFG" modulo 1800, computed by another program.
    expect(ProviderTokenGrid.offset(of: "ABC123DEFG"), is: 969)
    let offset: Int64 = 969
    expect(ProviderTokenGrid.issuedAt(now: 1800 * 1000 + 300 + offset, keyID: "ABC123DEFG"), is: 1800 * 1000 + offset)
    expect(ProviderTokenGrid.issuedAt(now: 1800 * 1000 + 299 + offset, keyID: "ABC123DEFG"), is: 1800 * 999 + offset)
    expect(
      ProviderTokenGrid.nextChange(after: 1800 * 1000 + 300 + offset, keyID: "ABC123DEFG"),
      is: 1800 * 1001 + 300 + offset)
    expect(ProviderTokenGrid.issuedAt(now: 0, keyID: "ABC123DEFG") <= -300)
  }

  @Test("two workers have the same claims at the same time, also with different clocks")
  func fleet() throws {
    let key = try ECPrivateKey.generate()
    let one = try ProviderTokenSource(keyID: "ABC123DEFG", teamID: "DEF123GHIJ", key: key, clock: { 1_800_000_000 })
    let two = try ProviderTokenSource(
      keyID: "ABC123DEFG", teamID: "DEF123GHIJ", key: key, clock: { 1_800_000_000 - 7200 })
    two.setOffset(7200)
    let tokens = try [#require(one.current()), #require(two.current())]
    expect(claims(tokens[0]), is: claims(tokens[1]))
    expect(tokens[0].issuedAt, is: tokens[1].issuedAt)
  }

  @Test("header and claims have the form that Apple requires, signed with ES256")
  func contents() throws {
    let key = try ECPrivateKey.generate()
    let token = try ProviderToken(
      keyID: "ABC123DEFG", teamID: "DEF123GHIJ", issuedAt: 1_800_000_000, generation: 1, key: key)
    let parts = token.jwt.split(separator: ".")
    expect(parts.count, is: 3)
    expect(decode(parts[0]), is: Array(#"{"alg":"ES256","kid":"ABC123DEFG"}"#.utf8))
    expect(decode(parts[1]), is: Array(#"{"iss":"DEF123GHIJ","iat":1800000000}"#.utf8))
    let verifier = try ECPublicKey(pem: key.publicPEM)
    expect(verifier.verify(rawSignature: decode(parts[2]), of: Array("\(parts[0]).\(parts[1])".utf8)))
  }

  @Test("a token is used until the next step of the grid")
  func stable() throws {
    let clock = TestClock(1_800_000_000)
    let source = try self.source(clock)
    let first = try #require(source.current())
    expect(source.current(), is: first)
    clock.advance(1800)
    let second = try #require(source.current())
    expect(second.issuedAt, is: first.issuedAt + 1800)
    expect(second.generation, is: first.generation + 1)
  }

  @Test("after TooManyProviderTokenUpdates the token stays for 20 minutes, unless it expires before")
  func kept() throws {
    let clock = TestClock(1_800_000_000)
    let source = try self.source(clock)
    let first = try #require(source.current())
    clock.set(ProviderTokenGrid.nextChange(after: clock.now, keyID: "ABC123DEFG") - 1)
    source.tooManyUpdates(generation: first.generation)
    clock.advance(1199)
    expect(source.current(), is: first)
    clock.advance(1)
    expect(source.current() != first)
  }

  @Test("after ExpiredProviderToken the clock is measured and one token minted off the grid; then the credential stops")
  func expired() async throws {
    let clock = TestClock(1_800_000_000)
    let (changes, continuation) = AsyncStream.makeStream(of: Void.self)
    var change = changes.makeAsyncIterator()
    let source = try self.source(clock, measured: 5000)
    source.observe { continuation.yield() }
    let first = try #require(source.current())
    source.expired(generation: first.generation)
    await change.next()
    let second = try #require(source.current())
    expect(second.issuedAt, is: 1_800_005_000)
    // An answer to the old token has no effect on the new one.
    source.expired(generation: first.generation)
    expect(source.current(), is: second)
    source.expired(generation: second.generation)
    expect(source.current(), is: nil)
    expect(source.stopped, is: Reason.expiredProviderToken.code)
    source.resume()
    expect(source.stopped, is: nil)
    expect(source.current() != nil)
  }

  @Test("a token off the grid returns to it after half an hour, with at most one change in 20 minutes")
  func backOnTheGrid() throws {
    let clock = TestClock(1_800_000_000)
    let source = try ProviderTokenSource(
      keyID: "ABC123DEFG", teamID: "DEF123GHIJ", key: .generate(), clock: { clock.now })
    let first = try #require(source.current())
    source.expired(generation: first.generation)
    var seen = [try #require(source.current())]
    var changedAt = clock.now
    for _ in 0..<(3 * 3600 / 10) {
      clock.advance(10)
      let token = try #require(source.current())
      expect(clock.now - token.issuedAt < ProviderTokenSource.oldest)
      if token != seen.last {
        expect(clock.now - changedAt >= 1200)
        changedAt = clock.now
        seen.append(token)
      }
    }
    expect(seen.count == 6 || seen.count == 7)
    expect(seen.last?.issuedAt, is: ProviderTokenGrid.issuedAt(now: clock.now, keyID: "ABC123DEFG"))
  }

  @Test("ids that would break the JSON are refused")
  func badIDs() throws {
    let key = try ECPrivateKey.generate()
    #expect(throws: ProviderTokenError.self) { try ProviderTokenSource(keyID: "a\"b", teamID: "DEF123GHIJ", key: key) }
    #expect(throws: ProviderTokenError.self) { try ProviderTokenSource(keyID: "ABC123DEFG", teamID: "", key: key) }
  }

  private func source(_ clock: TestClock, measured: Int64? = nil) throws -> ProviderTokenSource {
    try ProviderTokenSource(
      keyID: "ABC123DEFG", teamID: "DEF123GHIJ", key: .generate(), clock: { clock.now }, measureOffset: { measured })
  }

  private func claims(_ token: ProviderToken) -> [Substring] { Array(token.jwt.split(separator: ".").prefix(2)) }

  private func decode(_ text: Substring) -> [UInt8] {
    let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
    var bytes: [UInt8] = []
    var group = 0
    var bits = 0
    for character in text {
      group = group << 6 | (alphabet.firstIndex(of: character) ?? 0)
      bits += 6
      if bits >= 8 {
        bits -= 8
        bytes.append(UInt8(truncatingIfNeeded: group >> bits))
      }
    }
    return bytes
  }
}

/// A wall clock that the test controls.
final class TestClock: Sendable {
  private let seconds: Mutex<Int64>
  init(_ seconds: Int64) { self.seconds = Mutex(seconds) }
  var now: Int64 { seconds.withLock { $0 } }
  func advance(_ by: Int64) { seconds.withLock { $0 += by } }
  func set(_ to: Int64) { seconds.withLock { $0 = to } }
}

extension ProviderTokenGrid {
  /// Returns the time at which the token for the time `now` is replaced by the next one.
  fileprivate static func nextChange(after now: Int64, keyID: String) -> Int64 {
    issuedAt(now: now, keyID: keyID) + period + lag
  }
}
