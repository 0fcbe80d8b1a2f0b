import EventLoop
import TestKit
import TestSupport
import Testing

@testable import Redis

/// A Redis with TLS, and its possible errors.
@Suite struct RedisTLSTests {
  private static let quick = Backoff(base: .milliseconds(1), cap: .milliseconds(20))

  private func options(
    _ certificates: RedisCertificates?, clientCertificate: Bool = false, serverName: String? = nil
  ) -> RedisOptions {
    var options = RedisOptions.unhurried(backoff: Self.quick)
    options.tls = RedisTLS(
      trustRoots: certificates?.trustRoots, certificate: clientCertificate ? certificates?.clientCertificate : nil,
      key: clientCertificate ? certificates?.clientKey : nil, serverName: serverName)
    return options
  }

  private func failure(_ url: String, _ options: RedisOptions) async throws -> RedisError {
    let url = try RedisURL(url)
    let error = await #expect(throws: RedisError.self) {
      try await RedisConnection.connect(to: url, options: options).close()
    }
    return try #require(error)
  }

  @Test(arguments: ["127.0.0.1", "localhost"])
  func nameAndAddressAreVerified(host: String) async throws {
    let server = try await RedisServer.sharedTLS
    let client = RedisClient(
      url: try RedisURL("rediss://\(host):\(server.port)"), options: options(server.certificates))
    expect(try await client.command("PING").get().string, is: "PONG")
    await client.close()
  }

  @Test func serverOfAnUnknownAuthorityIsNotTrusted() async throws {
    let server = try await RedisServer.sharedTLS
    for other in [nil, try RedisCertificates()] {
      let error = try await failure(server.url, options(other))
      expect(error.code == .untrusted && error.message.contains("is not trusted"))
      expect(error.hint.contains("tls.trustRoots"))
    }
  }

  @Test func certificateForAnotherNameIsRefusedUnlessExpected() async throws {
    let certificates = try RedisCertificates(names: ["redis.example"])
    let server = try await RedisServer.start(certificates: certificates)
    let error = try await failure(server.url, options(certificates))
    expect(error.code == .untrusted && error.message.contains("not for 127.0.0.1"))
    expect(error.hint.contains("tls.serverName"))
    try await RedisConnection.connect(
      to: try RedisURL(server.url), options: options(certificates, serverName: "redis.example")
    ).close()
    await server.stop()
  }

  @Test func serverThatAsksForACertificateGetsIt() async throws {
    let certificates = try RedisCertificates(asksClients: true)
    let server = try await RedisServer.start(certificates: certificates)
    try await RedisConnection.connect(
      to: try RedisURL(server.url), options: options(certificates, clientCertificate: true)
    ).close()

    // No certificate, and a certificate of another authority.
    let stranger = try RedisCertificates()
    var withOther = options(certificates)
    withOther.tls.certificate = stranger.clientCertificate
    withOther.tls.key = stranger.clientKey
    for options in [options(certificates), withOther] {
      let error = try await failure(server.url, options)
      expect(error.code == .untrusted && error.message.contains("this client's certificate"), "\(error)")
      expect(error.hint.contains("tls.certificate"))
    }
    await server.stop()
  }

  @Test func fileThatCannotBeUsedIsNamed() async throws {
    let server = try await RedisServer.sharedTLS
    let certificates = try #require(server.certificates)
    let folder = try ScratchFolder()
    let junk = try folder.writeSecret("junk", "junk")
    func expectFailure(_ tls: RedisTLS, _ file: String, _ says: String) async throws {
      var options = options(nil)
      options.tls = tls
      let error = try await failure(server.url, options)
      expect(error.code == .unusableFile && error.message.contains(file) && "\(error)".contains(says), "\(error)")
    }
    let roots = certificates.trustRoots
    try await expectFailure(RedisTLS(trustRoots: "/nowhere"), "/nowhere", "trust roots")
    try await expectFailure(RedisTLS(trustRoots: junk), junk, "trust roots")
    try await expectFailure(RedisTLS(trustRoots: roots, certificate: "/nowhere", key: junk), "/nowhere", "No such file")
    try await expectFailure(
      RedisTLS(trustRoots: roots, certificate: certificates.clientCertificate, key: junk), junk, "not PEM")
    try await expectFailure(
      RedisTLS(trustRoots: roots, certificate: roots, key: certificates.clientKey), roots, "belongs to none")
    let exposed = try folder.write("exposed.key", "-----BEGIN PRIVATE KEY-----")
    try await expectFailure(RedisTLS(trustRoots: roots, certificate: roots, key: exposed), exposed, "Run: chmod 600")
  }

  @Test func plainServerIsReported() async throws {
    let server = try await RedisServer.shared
    var options = options(nil)
    // The server interprets the start of TLS as a command, and waits for the rest.
    options.connectTimeout = .milliseconds(500)
    let error = try await failure("rediss://127.0.0.1:\(server.port)", options)
    expect(error.code, is: .connectTimeout)
    expect(error.hint.contains("Check that this port uses TLS."))
  }

  @Test func serverWithoutAHandshakeIsReportedAsSlow() async throws {
    let silent = try await FakeServer([])
    var options = options(nil)
    options.connectTimeout = .milliseconds(200)
    let error = try await failure("rediss://127.0.0.1:\(silent.port)", options)
    expect(error.code == .connectTimeout && error.hint.contains("Check that this port uses TLS."))
  }

  @Test func plainClientReportsAServerWithTLS() async throws {
    let server = try await RedisServer.sharedTLS
    let error = try await failure("redis://127.0.0.1:\(server.port)", options(nil))
    expect(error.hint.contains("write rediss://"), "\(error)")
  }

  @Test func megabytesAreSentAndReceivedConcurrently() async throws {
    let server = try await RedisServer.start(certificates: RedisCertificates())
    let client = RedisClient(url: try RedisURL(server.url), options: options(server.certificates))
    let values = (0..<64).map { index in [UInt8](repeating: UInt8(index), count: 100_000 + index) }
    var pipeline = RedisPipeline()
    for value in values {
      pipeline.append("SET", "large", value)
      pipeline.append("GET", "large")
    }
    // There are two concurrent calls. The writing of one must not wait for the reading of the other.
    async let first = client.execute(pipeline)
    async let second = client.execute(pipeline)
    for replies in [try await first, try await second] {
      expect(replies.count, is: 128)
      for (index, value) in values.enumerated() { expect(replies[2 * index + 1].bytes?.count, is: value.count) }
    }
    await client.close()
    await server.stop()
  }

  @Test func replacedCertificateIsTrustedAtTheNextConnection() async throws {
    let certificates = try RedisCertificates()
    let server = try await RedisServer.start(certificates: certificates)
    let client = RedisClient(url: try RedisURL(server.url), options: options(certificates))
    expect(try await client.command("PING").get().string, is: "PONG")
    let before = try await client.connectionNumber()

    // The files get another authority, key and certificate. The server reads them immediately, and open connections
    // stay open.
    try certificates.renew()
    _ = try await client.command("CONFIG", "SET", "tls-cert-file", certificates.serverCertificate).get()
    expect(try await client.command("PING").get().string, is: "PONG")
    expect(try await client.connectionNumber(), is: before)
    try await server.command("client", "kill", "type", "normal")
    expect(try await client.connectionNumber() > before)

    try await server.restart()
    try await poll(until: "the server answers") {
      try await client.execute(ping, waitTimeout: .seconds(60)).first?.string == "PONG"
    }
    await client.close()
    await server.stop()
  }

  private var ping: RedisPipeline {
    var pipeline = RedisPipeline()
    pipeline.append("PING")
    return pipeline
  }
}
