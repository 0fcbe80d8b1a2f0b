import PushTransport
import APNs
import APNsSimulator
import Foundation
import PushWorker
import TLS
import TestSupport

/// The endpoint of an app, which a test takes away and gives back at the same address.
actor SickEndpoint {
  /// How an endpoint is sick.
  enum Trouble {
    /// Its process dies: connections are reset, new ones refused.
    case killed
    /// Its process stands still: connections stay, nothing is read or answered, new ones are taken by the kernel alone.
    case frozen
    /// Every answer takes two seconds.
    case slow
  }

  /// The way there, for an app of its own.
  nonisolated let channel: AppChannel
  /// Milliseconds that an answer takes while it is well: long enough for a campaign to have a middle.
  static let latency = 50
  private var configuration: SimulatorConfiguration
  private var simulator: Simulator?
  /// Received by the simulators that were killed.
  private var receivedBefore = 0

  private static let keyID = "SICK123456"
  private static let teamID = "DEF123GHIJ"

  /// Starts well.
  ///
  /// - Parameter topic: the app's.
  init(topic: String, folder: ScratchFolder) async throws {
    let identity = try SelfSignedIdentity()
    let key = try ECPrivateKey.generate()
    var configuration = SimulatorConfiguration()
    configuration.port = try FreePort.find()
    configuration.identity = identity.identity
    configuration.keys = [.init(keyID: Self.keyID, teamID: Self.teamID, pem: key.publicPEM)]
    configuration.knobs.latencyMilliseconds = Self.latency
    channel = AppChannel(
      service: APNsService(AppTraits(topic: topic)), environment: "production",
      endpoint: PushEndpoint(
        url: "https://127.0.0.1:\(configuration.port)",
        trustRoots: try folder.write("sick.pem", identity.authorityPEM)),
      credential: try ProviderTokenSource(keyID: Self.keyID, teamID: Self.teamID, key: key))
    self.configuration = configuration
    simulator = try await Simulator.start(configuration)
  }

  /// Requests received in full so far.
  var received: Int {
    get async { receivedBefore + (await simulator?.counters().received ?? 0) }
  }

  /// Makes it sick; it must be well.
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
    case .slow: await turn { $0.latencyMilliseconds = 2000 }
    }
  }

  /// Makes it well again. Connections that it was silent on stay so.
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
