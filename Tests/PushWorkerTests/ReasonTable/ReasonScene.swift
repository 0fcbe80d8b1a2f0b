import APNsSimulator
import PushCore

/// A way to make APNs give an answer: naturally from a real error, or by a knob of the simulator.
struct ReasonScene: Sendable {
  /// The pushes that get the answer.
  enum Hit: Sendable {
    /// The first `times` pushes to the device of the first user. The others are accepted.
    case one(times: Int)
    /// All pushes.
    case all
  }

  /// The difference from other scenes of the row, for the names of tests.
  var remark = "natural"
  /// The reason in the body; `nil` if the request itself causes the error. The reason is then that of the row.
  var word: String?
  var hit = Hit.one(times: 1)
  var knobs = SimulatorKnobs()
  /// The state of the first user's device.
  var state = SimulatedDevice.State.registered
  /// The time since which APNs reports the device as gone, in ms since the epoch. The device registered at
  /// ``registeredAt``.
  var deadSince: Int64 = 2000
  /// The topic of the device.
  var deviceTopic: String? = WorkerRig.topic
  /// The only environment of the device.
  var deviceEnvironment: SimulatorEnvironment?
  /// The topic in the app's configuration.
  var topic = WorkerRig.topic
  /// The only environment of the key.
  var keyEnvironment: SimulatorEnvironment?
  /// The only topics of the key.
  var keyTopics: [String]?
  /// Whether APNs knows the key.
  var isKeyKnown = true
  /// The topic of the certificate.
  var certificateTopic = WorkerRig.topic
  /// The environments in which the certificate is valid.
  var certificateEnvironments = Set(SimulatorEnvironment.allCases)
  /// The validity of the certificate, in seconds from now.
  var certificateValidity = -86_400..<86_400
  /// The channel of the job; `nil` for a job to all users.
  var channel: Channel?

  /// The channel of a job.
  enum Channel: Sendable {
    /// A channel that stores no message.
    case open
    /// A channel that APNs does not know.
    case named(String)
  }
  /// Further fields of the job.
  var fields = ""

  /// The time at which devices registered, in ms since the epoch.
  static let registeredAt: Int64 = 1000

  /// Returns a scene with a real error.
  static func natural(_ hit: Hit = .one(times: 1), _ change: (inout ReasonScene) -> Void = { _ in }) -> ReasonScene {
    var scene = ReasonScene(hit: hit)
    change(&scene)
    return scene
  }

  /// Returns a scene in which the simulator gives the answer although the request is valid.
  static func answering(
    _ word: String, _ status: Int, _ hit: Hit = .one(times: 1), _ form: SimulatorKnobs.BodyForm = .json,
    _ change: (inout ReasonScene) -> Void = { _ in }
  ) -> ReasonScene {
    var scene = ReasonScene(remark: form == .json ? "told “\(word)”" : "body \(form)", hit: hit)
    scene.word = form == .json ? word : ""
    scene.knobs.bodyForm = form
    switch hit {
    case .one(let times):
      scene.knobs.tokenFailures = [.init(token: ReasonStage.firstToken, status: status, reason: word, times: times)]
    case .all: scene.knobs.failures = [.init(share: 1, status: status, reason: word)]
    }
    change(&scene)
    return scene
  }
}
