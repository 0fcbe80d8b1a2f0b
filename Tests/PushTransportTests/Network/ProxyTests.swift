import APNsSimulator
import PushCore
import TLS
import TestKit
import TestSupport
import Testing

@testable import APNs
@testable import PushTransport

@Suite("HTTP proxies")
struct ProxyTests {
  @Test(
    "pushes go through a proxy with a login; only APNs behind it gets the certificate",
    arguments: PushEngineKind.allCases)
  func tunnelled(engine: PushEngineKind) async throws {
    let authority = try PushCertificateAuthority()
    var configuration = SimulatorConfiguration()
    configuration.clientAuthorityPEM = authority.authorityPEM
    let simulator = try await Simulator.start(configuration)
    let folder = try ScratchFolder()
    let roots = try folder.write("ca.pem", simulator.authorityPEM ?? "")
    let proxy = try ConnectProxy(login: "worker:pass:word")
    for (password, isLetIn) in [("pass:word", true), ("wrong", false)] {
      let completions = Completions()
      let endpoint = PushEndpoint(
        url: "https://127.0.0.1:\(simulator.port)", trustRoots: roots,
        proxy: .init(url: "http://127.0.0.1:\(proxy.port)", login: .init(user: "worker", password: password)))
      let pool = ConnectionPool(
        configuration: .init(
          endpoint: endpoint, service: APNsService(), connections: 1, reconnect: PoolHarness.hasty, engine: engine),
        credential: try ClientCertificate(authority.issue(topic: PoolHarness.topic)),
        onCompletions: { completions.add($0) })
      pool.submit(PoolHarness.batch(0..<50), lane: 0)
      if isLetIn {
        expect(await completions.next(50).allSatisfy { $0.status == 200 })
        expect(proxy.requests.last, is: "CONNECT 127.0.0.1:\(simulator.port) 200")
      } else {
        let completion = try await completions.one()
        expect(completion.kind, is: .notSent)
        expect(pool.published.lastError?.contains("407"), is: true, "\(pool.published.lastError ?? "")")
      }
      _ = await pool.drain(deadline: 0)
    }
    expect(await simulator.counters().received, is: 50)
    proxy.stop()
    await simulator.stop()
  }
}
