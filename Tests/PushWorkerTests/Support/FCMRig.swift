import APNs
import APNsSimulator
import CampaignStore
import FCM
import Foundation
import PushCore
import PushTransport
import PushWorker
import TLS
import TestSupport

/// A rig whose app uses FCM beside APNs. The simulator is FCM and Google's token endpoint too.
struct FCMRig {
  var rig: WorkerRig
  /// The source of FCM's access tokens.
  let credential: AccessTokenSource
  private let roots: String?

  static let project = "test-project"
  private static let email = "sender@test-project.iam.gserviceaccount.com"
  /// Ids of the service account's keys: the first one is in use, the other one is for a replacement.
  static let keyIDs = ["0123456789abcdef0123456789abcdef01234567", "89abcdef0123456789abcdef0123456789abcdef"]
  /// Generated once for all rigs, because a key takes a quarter of a second of CPU time.
  private static let keys = Result { try keyIDs.map { _ in try RSAPrivateKey.generate() } }
  private let keys: [RSAPrivateKey]

  /// - Parameters:
  ///   - users: number of users `u0`, `u1`, … with an Android device each.
  ///   - partitions: number of slices of a campaign.
  ///   - knobs: the behaviour of FCM.
  ///   - log: path for a log of the simulator with bodies; `nil` for none.
  ///   - state: state of each device at FCM.
  init(
    engine: PushEngineKind, users: Int, partitions: Int = 8, log: String? = nil, knobs: FCMKnobs = FCMKnobs(),
    state: (Int) -> SimulatedRegistration.State = { _ in .registered }
  ) async throws {
    let keys = try Self.keys.get()
    self.keys = keys
    rig = try await WorkerRig(engine: engine, partitions: partitions, others: [FCMService()]) { configuration in
      var fcm = FCMConfiguration()
      fcm.accounts = zip(Self.keyIDs, keys).map {
        .init(projectID: Self.project, clientEmail: Self.email, keyID: $0, pem: $1.publicPEM)
      }
      configuration.fcm = fcm
      configuration.log = log
      configuration.logsBodies = log != nil
      configuration.knobs.fcm = knobs
    }
    roots = rig.channel.services[0].endpoint.trustRoots
    let first = try Self.account(Self.keyIDs[0], keys[0], tokenPort: rig.simulator.tokenPort ?? 0)
    credential = AccessTokenSource(account: first, trustRoots: roots)
    rig.channel.services.append(
      ServiceChannel(
        service: FCMService(project: Self.project), environment: "production",
        endpoint: PushEndpoint(url: "https://127.0.0.1:\(rig.simulator.fcmPort ?? 0)", trustRoots: roots),
        credential: credential))
    try await rig.store.registry.register(
      (0..<users).map { number in
        var device = DeviceRecord(token: Array(Self.token(number).utf8), service: "fcm")
        device.app = "news"
        device.registeredAt = 1000
        return DeviceRegistration(user: "u\(number)", device: device)
      })
    rig.simulator.load((0..<users).map { SimulatedRegistration(Self.token($0), state: state($0)) })
  }

  static func token(_ number: Int) -> String { "cAAAAAAAAAAAAAAAAAAAAA:APA91b_\(number)" }

  /// Replaces the key of the service account by its second one, as after a change of its file.
  func replaceKey() throws {
    credential.replace(
      account: try Self.account(Self.keyIDs[1], keys[1], tokenPort: rig.simulator.tokenPort ?? 0))
  }

  private static func account(_ id: String, _ key: RSAPrivateKey, tokenPort: UInt16) throws -> ServiceAccount {
    let json = try JSONSerialization.data(withJSONObject: [
      "type": "service_account", "project_id": project, "private_key_id": id, "private_key": key.pem,
      "client_email": email, "token_uri": "https://localhost:\(tokenPort)/token",
    ])
    return try ServiceAccount(json: Array(json))
  }

  /// Returns a campaign's leg of a push service; `nil` before its activation.
  func leg(_ service: String, of id: String) async throws -> CampaignRecord? {
    try await rig.store.campaigns.show(id)?.parts.first { $0.service == service }
  }

  /// Returns the outcomes of a campaign's leg.
  func outcomes(_ service: String, of id: String) async throws -> [Outcome: Int] {
    try await leg(service, of: id)?.counters.outcomes.filter { $0.value > 0 } ?? [:]
  }

  /// Waits until a campaign's leg has this number of outcomes.
  func reached(_ outcomes: Int, _ service: String, of id: String) async throws {
    try await rig.until {
      try await leg(service, of: id)?.counters.outcomes.values.reduce(0, +) ?? 0 >= outcomes
    }
  }
}
