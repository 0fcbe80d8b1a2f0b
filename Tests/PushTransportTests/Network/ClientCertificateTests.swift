import APNsSimulator
import PushCore
import Synchronization
import TLS
import TestKit
import TestSupport
import Testing

@testable import APNs
@testable import PushTransport

/// Push certificates in both engines, with a simulator that requires them.
@Suite("Client certificates", .serialized)
struct ClientCertificateTests {
  /// A simulator that trusts an authority, and a pool with a certificate of that authority.
  private struct Scene {
    let authority: PushCertificateAuthority
    let simulator: Simulator
    let credential: ClientCertificate
    let pool: ConnectionPool
    let completions = Completions()
    let folder: ScratchFolder

    init(
      _ engine: PushEngineKind, environments: Set<SimulatorEnvironment> = [.production],
      validity: Range<Int> = -3600..<86_400,
      connections: Int = 1, knobs: SimulatorKnobs = .init()
    ) async throws {
      authority = try PushCertificateAuthority()
      folder = try ScratchFolder()
      var configuration = SimulatorConfiguration()
      configuration.clientAuthorityPEM = authority.authorityPEM
      configuration.knobs = knobs
      simulator = try await Simulator.start(configuration)
      credential = try ClientCertificate(
        authority.issue(topic: PoolHarness.topic, environments: environments, validity: validity))
      let (completions, roots) = (completions, try folder.write("ca.pem", simulator.authorityPEM ?? ""))
      pool = ConnectionPool(
        configuration: .init(
          endpoint: PushEndpoint(url: "https://127.0.0.1:\(simulator.port)", trustRoots: roots), service: APNsService(),
          connections: connections, reconnect: PoolHarness.hasty, engine: engine),
        credential: credential, onCompletions: { completions.add($0) })
    }

    func stop() async {
      _ = await pool.drain(deadline: 0)
      await simulator.stop()
    }

    /// Pushes until the credential is stopped, and repeats only pushes that provably were not sent.
    func pushUntilStopped(_ tag: UInt64 = 1) async throws -> PushCompletion {
      while true {
        pool.submit(PoolHarness.batch([tag]), lane: 0)
        let completion = try await completions.one()
        if completion.reason != .none { return completion }
        try #require(completion.kind == .notSent || completion.kind == .ambiguous)
      }
    }
  }

  @Test("pushes with a certificate are accepted", arguments: PushEngineKind.allCases)
  func accepted(engine: PushEngineKind) async throws {
    let scene = try await Scene(engine, connections: 2)
    scene.pool.submit(PoolHarness.batch(0..<500), lane: 0)
    let completions = await scene.completions.next(500)
    expect(completions.allSatisfy { $0.status == 200 })
    await scene.stop()
  }

  @Test(
    "a collapse id that looks like a GOAWAY ends no connection and stops no credential",
    arguments: PushEngineKind.allCases)
  func forgedGoAway(engine: PushEngineKind) async throws {
    let scene = try await Scene(engine)
    for tag in UInt64(0)..<4 {
      var batch = PoolHarness.batch([tag])
      batch.request =
        PushHeaders(
          topic: PoolHarness.topic, pushType: .alert, priority: 10, collapseID: "GOAWAY error=0 last_stream=0"
        ).request
      scene.pool.submit(batch, lane: 0)
      expect(await scene.completions.next(1).first?.status, is: 200)
    }
    expect(scene.pool.published.failures, is: 0)
    expect(scene.pool.published.openings, is: 1)
    expect(scene.credential.stopped, is: nil)
    await scene.stop()
  }

  @Test(
    "the alert shows an expired certificate: no push is sent, and the credential stops",
    arguments: PushEngineKind.allCases)
  func expired(engine: PushEngineKind) async throws {
    let scene = try await Scene(engine, validity: -7200 ..< -3600)
    let completion = try await scene.pushUntilStopped()
    expect(completion.kind, is: .notSent)
    expect(completion.reason, is: Reason.badCertificate.code)
    expect(scene.credential.stopped, is: Reason.badCertificate.code)
    let words = scene.credential.explain(Reason.badCertificate.code)
    expect(words.contains("Apple Push Services: com.example.news"))
    expect(words.contains("the certificate has expired"))
    expect(words.contains("certificate_expired"))
    // No push is sent any more, and no connection is opened.
    let openings = scene.pool.published.openings
    scene.pool.submit(PoolHarness.batch([2]), lane: 0)
    expect(scene.pool.authorization(), is: nil)
    expect(scene.pool.published.openings, is: openings)
    expect(scene.pool.cancelBacklog { _ in true }, is: [2])
    expect(await scene.simulator.counters().received, is: 0)
    await scene.stop()
  }

  @Test(
    "revoked and unknown certificates are distinguished",
    arguments: PushEngineKind.allCases,
    [(SimulatorKnobs.CertificateAlert.revoked, "was revoked"), (.unknownAuthority, "trust the issuer")])
  func alerts(engine: PushEngineKind, _ alert: (kind: SimulatorKnobs.CertificateAlert, says: String)) async throws {
    let knobs = SimulatorKnobs { $0.certificateAlert = alert.kind }
    let scene = try await Scene(engine, knobs: knobs)
    let completion = try await scene.pushUntilStopped()
    expect(completion.reason, is: Reason.badCertificate.code)
    expect(scene.credential.explain(Reason.badCertificate.code).contains(alert.says))
    await scene.stop()
  }

  @Test(
    "under TLS 1.2 the alert comes within the handshake and is detected too", arguments: PushEngineKind.allCases,
    [true, false])
  func inTheHandshake(engine: PushEngineKind, isKnown: Bool) async throws {
    let authority = try PushCertificateAuthority()
    let server = try SelfSignedIdentity()
    let folder = try ScratchFolder()
    let names = ["server.pem", "server.key", "server-ca.pem", "clients-ca.pem"]
    let believed = isKnown ? authority : try PushCertificateAuthority()
    let texts = [
      server.identity.certificateChainPEM, server.identity.privateKeyPEM, server.authorityPEM, believed.authorityPEM,
    ]
    for (name, text) in zip(names, texts) { try folder.write(name, text) }
    // The simulator uses TLS 1.3 with every client that supports it, so the test needs another server.
    let process = try await ChildProcess.start(
      "openssl",
      [
        "s_server", "-accept", "127.0.0.1:0", "-tls1_2", "-alpn", "h2", "-cert", names[0], "-key", names[1], "-CAfile",
        names[3], "-Verify", "1", "-verify_return_error", "-www",
      ], folder: folder.url)
    let line = try #require(await process.line(containing: "ACCEPT "))
    let port = try #require(line.split(separator: ":").last.flatMap { UInt16($0) })
    let credential = try ClientCertificate(
      authority.issue(topic: PoolHarness.topic, validity: isKnown ? -7200 ..< -3600 : -3600..<86_400))
    let completions = Completions()
    let pool = ConnectionPool(
      configuration: .init(
        endpoint: PushEndpoint(url: "https://127.0.0.1:\(port)", trustRoots: folder.path(names[2])),
        service: APNsService(), connections: 1,
        reconnect: PoolHarness.hasty, engine: engine),
      credential: credential, onCompletions: { completions.add($0) })
    pool.submit(PoolHarness.batch([1]), lane: 0)
    let completion = try await completions.one()
    expect((completion.kind, Reason(completion.reason)) == (.notSent, .badCertificate))
    expect(credential.explain(Reason.badCertificate.code).contains(isKnown ? "certificate_expired" : "unknown_ca"))
    _ = await pool.drain(deadline: 0)
  }

  @Test(
    "a certificate revoked during a campaign stops at the next connection, and is retried after a resume",
    arguments: PushEngineKind.allCases)
  func revokedLater(engine: PushEngineKind) async throws {
    let scene = try await Scene(engine)
    scene.pool.submit(PoolHarness.batch([0]), lane: 0)
    expect(try await scene.completions.one().status, is: 200)
    var knobs = scene.simulator.knobs
    knobs.certificateAlert = .revoked
    await scene.simulator.set(knobs)
    await scene.simulator.goAway()
    expect(try await scene.pushUntilStopped().reason, is: Reason.badCertificate.code)
    knobs.certificateAlert = .none
    await scene.simulator.set(knobs)
    scene.credential.resume()
    scene.pool.submit(PoolHarness.batch([2]), lane: 0)
    expect(try await scene.completions.one().status, is: 200)
    await scene.stop()
  }

  @Test(
    "a GOAWAY for the wrong environment means provably unsent, and stops the credential",
    arguments: PushEngineKind.allCases)
  func wrongEnvironment(engine: PushEngineKind) async throws {
    let scene = try await Scene(engine, environments: [.sandbox])
    let completion = try await scene.pushUntilStopped()
    expect(completion.kind, is: .notSent)
    expect(completion.reason, is: Reason.badCertificateEnvironment.code)
    expect(scene.pool.published.openings, is: engine.connectionsTurnedAway)
    expect(scene.credential.explain(Reason.badCertificateEnvironment.code).contains("not for this environment"))
    expect(await scene.simulator.counters().received, is: 0)
    await scene.stop()
  }

  @Test(
    "a 403 for the wrong environment is an ordinary answer",
    arguments: PushEngineKind.allCases)
  func wrongEnvironmentByAnswer(engine: PushEngineKind) async throws {
    let knobs = SimulatorKnobs { $0.refusesCertificateByGoAway = false }
    let scene = try await Scene(engine, environments: [.sandbox], knobs: knobs)
    scene.pool.submit(PoolHarness.batch([1]), lane: 0)
    let completion = try await scene.completions.one()
    expect((completion.status, Reason(completion.reason)) == (403, .badCertificateEnvironment))
    await scene.stop()
  }

  @Test("servers that shut down in turn do not stop a certificate that was accepted in between")
  func shutdowns() throws {
    let authority = try PushCertificateAuthority()
    let credential = try ClientCertificate(authority.issue(topic: "a"))
    for _ in 0..<5 {
      for _ in 1..<ClientCertificate.turnedAwayLimit { credential.record(.turnedAway(generation: 1)) }
      credential.record(.accepted)
    }
    expect(credential.stopped, is: nil)
    // Answers about an older certificate have no effect on this one.
    try credential.replace(authority.issue(topic: "a"))
    for _ in 0..<5 { credential.record(.turnedAway(generation: 1)) }
    credential.record(.certificateRefused(.certificateExpired, generation: 1))
    expect(credential.stopped, is: nil)
  }

  @Test(
    "new connections use a replaced certificate; pushes in flight with the old one are answered",
    arguments: PushEngineKind.allCases)
  func exchanged(engine: PushEngineKind) async throws {
    let knobs = SimulatorKnobs { $0.latencyMilliseconds = 50 }
    let scene = try await Scene(engine, knobs: knobs)
    scene.pool.submit(PoolHarness.batch(0..<20), lane: 0)
    expect(await scene.completions.next(1)[0].status, is: 200)
    try scene.credential.replace(scene.authority.issue(topic: PoolHarness.topic, environments: [.production]))
    expect(await scene.completions.next(19).allSatisfy { $0.status == 200 })
    scene.pool.submit(PoolHarness.batch(20..<40), lane: 0)
    expect(await scene.completions.next(20).allSatisfy { $0.status == 200 })
    expect(scene.pool.published.openings, is: 2)
    expect(scene.pool.published.failures, is: 0)
    await scene.stop()
  }

  @Test(
    "a stopped certificate is retried after it is replaced",
    arguments: PushEngineKind.allCases)
  func exchangedWhenStopped(engine: PushEngineKind) async throws {
    let scene = try await Scene(engine, validity: -7200 ..< -3600)
    _ = try await scene.pushUntilStopped()
    scene.pool.submit(PoolHarness.batch([2]), lane: 0)
    try scene.credential.replace(scene.authority.issue(topic: PoolHarness.topic))
    expect(try await scene.completions.one().status, is: 200)
    await scene.stop()
  }

  @Test(
    "credentials do not affect each other: teams, environments and certificates are separate",
    arguments: PushEngineKind.allCases)
  func apart(engine: PushEngineKind) async throws {
    let authority = try PushCertificateAuthority()
    let keys = try (0..<2).map { _ in try ECPrivateKey.generate() }
    let teams = ["TEAM000001", "TEAM000002"]
    let folder = try ScratchFolder()
    var simulators: [Simulator] = []
    for environment in [SimulatorEnvironment.production, .sandbox] {
      var configuration = SimulatorConfiguration()
      configuration.environment = environment
      configuration.clientAuthorityPEM = authority.authorityPEM
      configuration.keys = zip(teams, keys).map { .init(keyID: PoolHarness.keyID, teamID: $0, pem: $1.publicPEM) }
      configuration.keys[1].keyID = "ZZZ123DEFG"
      simulators.append(try await Simulator.start(configuration))
    }
    let credentials: [any PushCredential] = [
      try ProviderTokenSource(keyID: PoolHarness.keyID, teamID: teams[0], key: keys[0]),
      try ProviderTokenSource(keyID: "ZZZ123DEFG", teamID: teams[1], key: keys[1]),
      try ClientCertificate(authority.issue(topic: PoolHarness.topic)),
      // The simulator does not know this key.
      try ProviderTokenSource(keyID: PoolHarness.keyID, teamID: teams[0], key: .generate()),
    ]
    let completions = Completions()
    var pools: [ConnectionPool] = []
    for (place, simulator) in simulators.enumerated() {
      let roots = try folder.write("ca\(place).pem", simulator.authorityPEM ?? "")
      let endpoint = PushEndpoint(url: "https://127.0.0.1:\(simulator.port)", trustRoots: roots)
      pools += credentials.map {
        ConnectionPool(
          configuration: .init(
            endpoint: endpoint, service: APNsService(), connections: 1, reconnect: PoolHarness.hasty, engine: engine),
          credential: $0,
          onCompletions: { completions.add($0) })
      }
    }
    for (index, pool) in pools.enumerated() {
      pool.submit(PoolHarness.batch((0..<50).map { UInt64(index * 1000 + $0) }), lane: 0)
    }
    // The first refusal stops a credential. Its other pushes wait.
    var accepted = [Int](repeating: 0, count: pools.count)
    var isRefused = false
    while accepted.reduce(0, +) < 300 || !isRefused {
      let completion = try await completions.one()
      if completion.status == 200 { accepted[Int(completion.tag / 1000)] += 1 } else { isRefused = true }
    }
    expect(accepted, is: [50, 50, 50, 0, 50, 50, 50, 0])
    expect(credentials.map { $0.stopped != nil }, is: [false, false, false, true])
    for pool in pools { _ = await pool.drain(deadline: 0) }
    for simulator in simulators { await simulator.stop() }
  }
}

@Suite("Replaced signing keys")
struct ExchangedKeyTests {
  @Test(
    "a replaced key signs from then on, over a new connection",
    arguments: PushEngineKind.allCases)
  func exchanged(engine: PushEngineKind) async throws {
    let harness = try await PoolHarness(engine: engine)
    let wrong = try ECPrivateKey.generate()
    let right = try ECPrivateKey(pem: Array(harness.key.pem.utf8))
    harness.credential.replace(key: wrong)
    harness.pool.submit(PoolHarness.batch([1]), lane: 0)
    expect(try await harness.completions.one().reason, is: Reason.invalidProviderToken.code)
    expect(harness.credential.stopped, is: Reason.invalidProviderToken.code)
    harness.credential.replace(key: right)
    expect(harness.credential.stopped, is: nil)
    // An engine may have read the old credential just before it was replaced.
    var statuses: [UInt16] = []
    while statuses.last != 200, statuses.count < 2 {
      harness.pool.submit(PoolHarness.batch([UInt64(2 + statuses.count)]), lane: 0)
      statuses.append(try await harness.completions.one().status)
    }
    expect(statuses.last, is: 200)
    expect(harness.pool.published.openings, is: 2)
    await harness.stop()
  }

  @Test("the same key again changes nothing, not even a token")
  func same() throws {
    let key = try ECPrivateKey.generate()
    let source = try ProviderTokenSource(keyID: "ABC123DEFG", teamID: "DEF123GHIJ", key: key)
    let token = try #require(source.current())
    source.replace(key: try ECPrivateKey(pem: Array(key.pem.utf8)))
    expect(source.current(), is: token)
    source.record(.refused(Reason.invalidProviderToken.code, generation: token.generation))
    expect(source.current(), is: nil)
    source.resume()
    // Tokens have different numbers, even after a stop.
    expect(try #require(source.current()).generation, is: token.generation + 1)
    // An answer to the previous token has no effect on this one.
    source.record(.refused(Reason.invalidProviderToken.code, generation: token.generation))
    expect(source.stopped, is: nil)
  }
}
