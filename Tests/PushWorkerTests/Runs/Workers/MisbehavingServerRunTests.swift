import APNs
import CampaignStore
import Glibc
import PushCore
import PushTransport
import PushWorker
import Synchronization
import TLS
import TestKit
import TestSupport
import Testing

/// A push service that sends frames without end. The worker stops in time, and records only answers that it received.
@Suite(.timeLimit(.minutes(6)))
struct MisbehavingServerRunTests {
  private final class Counts: Sendable {
    struct Values {
      var accepted = 0
      var floods = 0
      var isOver = false
    }
    private let values = Mutex(Values())
    var now: Values { values.withLock { $0 } }
    func change(_ body: (inout Values) -> Void) { values.withLock { body(&$0) } }
  }

  /// A server that answers the first push and then sends frames without end.
  private func flooding(_ counts: Counts, _ identity: SelfSignedIdentity) throws -> RawServer {
    let context = try TLSContext.server(identity: identity.identity, protocols: ["h2"])
    return try RawServer { descriptor in
      defer { shutdown(descriptor, Int32(SHUT_RDWR)) }
      guard let peer = RawPeer(descriptor, context, isOver: { counts.now.isOver }), peer.takePreface() else { return }
      peer.write(.settings)
      guard let first = peer.nextRequest() else { return }
      // `:status: 200` (RFC 7541 appendix A).
      counts.change { $0.accepted += 1 }
      peer.write(.headers(first, [0x88], ends: true))
      guard peer.nextRequest() != nil else { return }
      counts.change { $0.floods += 1 }
      peer.flood(.windowUpdate(0))
    }
  }

  /// Runs a worker until the flood has begun, and stops it.
  ///
  /// - Returns: the time that the stop takes.
  private func stopTime(_ rig: inout WorkerRig, _ counts: Counts) async throws -> Duration {
    let identity = try SelfSignedIdentity()
    let server = try flooding(counts, identity)
    defer {
      counts.change { $0.isOver = true }
      server.stop()
    }
    rig.channel = AppChannel([
      ServiceChannel(
        service: APNsService(AppTraits(topic: WorkerRig.topic)), environment: "production",
        endpoint: PushEndpoint(
          url: "https://127.0.0.1:\(server.port)",
          trustRoots: try rig.folder.write("flood.pem", identity.authorityPEM)),
        credential: try ProviderTokenSource(keyID: "ABC123DEFG", teamID: "DEF123GHIJ", key: .generate()))
    ])
    try await rig.submit("flooded")
    let worker = rig.worker("w", window: 100, drains: false)
    async let running: Void = worker.run()
    try await rig.until { counts.now.floods > 0 }
    let began = ContinuousClock.now
    await worker.stop(within: 1)
    try await running
    return ContinuousClock.now - began
  }

  @Test(arguments: PushEngineKind.one(for: "workerStopsInTimeDespiteEndlessFrames"))
  func workerStopsInTimeDespiteEndlessFrames(engine: PushEngineKind) async throws {
    var rig = try await WorkerRig(engine: engine, partitions: 1)
    try await rig.register(50)
    let counts = Counts()
    // One second is for answers and two are for connections. The rest is for a busy machine.
    expect(try await stopTime(&rig, counts) < .seconds(45))
    let record = try #require(try await rig.store.campaigns.show("flooded"))
    expect(record.counters.outcomes.keys.allSatisfy { $0 == .accepted })
    expect(record.counters.outcomes[.accepted] ?? 0 <= counts.now.accepted)
  }

  /// A reload is a stop and a new worker with the new configuration. The new worker sends the rest to another server.
  @Test(arguments: PushEngineKind.one(for: "reloadReplacesAnEndpointThatSendsFramesWithoutEnd"))
  func reloadReplacesAnEndpointThatSendsFramesWithoutEnd(engine: PushEngineKind) async throws {
    var rig = try await WorkerRig(engine: engine, partitions: 1)
    try await rig.register(50)
    let healthy = rig.channel
    expect(try await stopTime(&rig, Counts()) < .seconds(45))
    rig.channel = healthy
    try await rig.worker("w", window: 100).run()
    let record = try #require(try await rig.store.campaigns.show("flooded"))
    expect(record.state == .completed && record.counters.outcomes == [.accepted: 50])
  }
}
