import EventLoop
import Glibc
import TLS
import TestKit
import Testing

@Suite struct TLSStreamTests {
  private func pair(
    trust: TLSContext.Trust? = nil, name: String? = "localhost", offers: [String] = ["h2"], speaks: [String] = ["h2"]
  ) throws -> TLSPair {
    let identity = try SelfSignedIdentity()
    return try TLSPair(
      client: try .client(trust: trust ?? .pem(identity.authorityPEM), protocols: offers),
      server: try .server(identity: identity.identity, protocols: speaks), serverName: name)
  }

  @Test func bytesArriveBothWays() throws {
    let pair = try pair()
    try pair.handshake()
    expect(try pair.send([1, 2, 3], from: pair.client), is: .bytes(3))
    expect(try pair.receive(at: pair.server).bytes, is: [1, 2, 3])
    expect(try pair.send([4], from: pair.server), is: .bytes(1))
    expect(try pair.receive(at: pair.client).bytes, is: [4])
    expect(pair.client.version, is: "TLSv1.3")
  }

  @Test(arguments: ["localhost", "127.0.0.1", "::1"])
  func certificateCarriesEveryNameOfThisMachine(name: String) throws {
    try pair(name: name).handshake()
  }

  @Test func protocolIsSettledByALPN() throws {
    let pair = try pair(offers: ["http/1.1", "h2"])
    try pair.handshake()
    expect(pair.client.negotiatedProtocol, is: "h2")
    expect(pair.server.negotiatedProtocol, is: "h2")
  }

  @Test func clientWithoutALPNIsLetIn() throws {
    let pair = try pair(offers: [])
    try pair.handshake()
    expect(pair.server.negotiatedProtocol, is: nil)
  }

  @Test func clientWithOtherProtocolsIsRefused() throws {
    let pair = try pair(offers: ["http/1.1"])
    #expect(throws: TLSError.self) { try pair.handshake() }
  }

  @Test func unknownAuthorityIsNamedAsTheCause() throws {
    let other = try SelfSignedIdentity()
    let pair = try pair(trust: .pem(other.authorityPEM))
    let error = try #require(throws: TLSError.self) { try pair.handshake() }
    expect(error.reason.contains("certificate verify failed"))
    expect(error.reason.contains("unable to get local issuer certificate") || error.reason.contains("signature"))
  }

  @Test func wrongHostNameIsNamedAsTheCause() throws {
    let pair = try pair(name: "example.com")
    let error = try #require(throws: TLSError.self) { try pair.handshake() }
    expect(error.reason.lowercased().contains("hostname mismatch"))
    expect(error.operation.contains("example.com"))
  }

  @Test func wrongAddressIsNamedAsTheCause() throws {
    let pair = try pair(name: "127.0.0.2")
    let error = try #require(throws: TLSError.self) { try pair.handshake() }
    expect(error.reason.lowercased().contains("ip address mismatch"))
  }

  @Test func orderlyEndReadsAsClosed() throws {
    let pair = try pair()
    try pair.handshake()
    pair.client.finishWriting()
    expect(try pair.receive(at: pair.server).result, is: .closed)
  }

  @Test func bareEndOfFileReadsAsClosed() throws {
    let pair = try pair()
    try pair.handshake()
    // Reads the session tickets: closing with unread bytes would cause a reset instead of an end of file.
    var buffer = [UInt8](repeating: 0, count: 16)
    _ = try buffer.withUnsafeMutableBytes { try pair.client.read(into: $0) }
    pair.sockets.client.close()
    expect(try pair.receive(at: pair.server).result, is: .closed)
  }

  @Test func writingToAClosedPeerThrowsAndDoesNotKill() throws {
    let pair = try pair()
    try pair.handshake()
    pair.sockets.server.close()
    // The first write may still succeed, because the reset arrives after it.
    let error = try #require(throws: TLSError.self) {
      for _ in 0..<100_000 { _ = try pair.send([UInt8](repeating: 7, count: 1000), from: pair.client) }
    }
    expect(error.operation.contains("write"))
  }

  @Test func aFullSocketAsksToWaitForWriting() throws {
    let pair = try pair()
    try pair.handshake()
    let chunk = [UInt8](repeating: 7, count: 16_384)
    var sent = 0
    while case .bytes(let count) = try pair.send(chunk, from: pair.client) { sent += count }
    expect(try pair.send(chunk, from: pair.client), is: .wantsWrite)
    var received = 0
    while received < sent { received += try pair.receive(at: pair.server).bytes.count }
    // The buffer differs from the first attempt, which SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER allows.
    expect(try pair.send([UInt8](repeating: 7, count: 16_384), from: pair.client), is: .bytes(16_384))
  }

  @Test func keyThatDoesNotMatchItsCertificateIsRefused() throws {
    let (one, other) = (try SelfSignedIdentity().identity, try SelfSignedIdentity().identity)
    let mixed = TLSIdentity(certificateChainPEM: one.certificateChainPEM, privateKeyPEM: other.privateKeyPEM)
    #expect(throws: TLSError.self) { try TLSContext.server(identity: mixed) }
  }

  @Test func invalidCertificateTextIsRefused() {
    #expect(throws: TLSError.self) { try TLSContext.client(trust: .pem("hello")) }
    #expect(throws: TLSError.self) { try TLSContext.client(trust: .file("/nonexistent.pem")) }
  }

  /// A read that finds only messages of TLS itself returns before it has read all of them. So other connections of the
  /// thread get their turn.
  @Test func keyUpdatesDoNotHoldARead() throws {
    let pair = try pair()
    try pair.handshake()
    // Their 162 kB are more than one call receives, and less than the buffers of the two sockets.
    for _ in 0..<6000 { expect(try pair.server.updateKeys(), is: nil) }
    expect(try pair.send([7], from: pair.server), is: .bytes(1))
    var buffer = [UInt8](repeating: 0, count: 16)
    var reads = 0
    while true {
      TLSPair.wait(pair.client.descriptor, for: POLLIN)
      reads += 1
      let result = try buffer.withUnsafeMutableBytes { try pair.client.read(into: $0) }
      if result == .bytes(1) { break }
      try #require(result == .wantsRead && reads < 6000)
    }
    expect(buffer[0] == 7 && reads > 1)
  }

  @Test func nameThatIsTooLongForTLSIsRefused() {
    #expect(throws: TLSError.self) { try pair(name: String(repeating: "a", count: 300)) }
  }
}
