import PushTransport
import APNs
import APNsSimulator
import Foundation
import PushWorker
import TLS
import TestSupport

/// The endpoint of an app, which a test stops and restores at the same address.
actor FailingEndpoint {
  /// Failure of an endpoint.
  enum Trouble {
    /// The process is killed. Connections are reset, and new ones are refused.
    case killed
    /// The process is suspended. Connections stay open, nothing is read or answered, and only the kernel accepts new
    /// ones.
    case frozen
    /// Every answer takes ten seconds, so the app's campaign outlasts the campaigns of a healthy app also on a loaded
    /// machine.
    case slow
  }

  /// The channel to the endpoint, for an app of its own.
  nonisolated let channel: AppChannel
  /// The latency of a healthy endpoint in ms. It is long enough for a campaign to have a middle.
  static let latency = 50
  private var configuration: SimulatorConfiguration
  private var simulator: Simulator?
  /// The number of requests that killed simulators received.
  private var receivedBefore = 0

  private static let keyID = "SICK123456"
  private static let teamID = "DEF123GHIJ"

  /// Starts a healthy endpoint.
  ///
  /// - Parameter topic: the app's topic.
  init(topic: String, folder: ScratchFolder) async throws {
    let identity = try SelfSignedIdentity()
    let key = try ECPrivateKey.generate()
    var configuration = SimulatorConfiguration()
    configuration.port = try FreePort.find()
    configuration.identity = identity.identity
    configuration.keys = [.init(keyID: Self.keyID, teamID: Self.teamID, pem: key.publicPEM)]
    configuration.knobs.latencyMilliseconds = Self.latency
    channel = AppChannel([
      ServiceChannel(
        service: APNsService(AppTraits(topic: topic)), environment: "production",
        endpoint: PushEndpoint(
          url: "https://127.0.0.1:\(configuration.port)",
          trustRoots: try folder.write("sick.pem", identity.authorityPEM)),
        credential: try ProviderTokenSource(keyID: Self.keyID, teamID: Self.teamID, key: key))
    ])
    self.configuration = configuration
    simulator = try await Simulator.start(configuration)
  }

  /// The number of requests that were received in full so far.
  var received: Int {
    get async { receivedBefore + (await simulator?.counters().received ?? 0) }
  }

  /// Makes a healthy endpoint fail.
  func suffer(_ trouble: Trouble) async {
    switch trouble {
    case .killed:
      guard let simulator else { return }
      receivedBefore += await simulator.counters().received
      await simulator.stop()
      self.simulator = nil
    case .frozen:
      await turn {
        $0.silentAfterRequests = 1
        $0.handshakeDelayMilliseconds = 600_000
      }
    case .slow: await turn { $0.latencyMilliseconds = 10_000 }
    }
  }

  /// Restores the endpoint. Connections that it did not answer stay silent.
  func heal() async throws {
    if let simulator {
      await simulator.set(configuration.knobs)
    } else {
      simulator = try await Simulator.start(configuration)
    }
  }

  private func turn(_ change: (inout SimulatorKnobs) -> Void) async {
    guard let simulator else { return }
    var knobs = simulator.knobs
    change(&knobs)
    await simulator.set(knobs)
  }
}
