import APNsSimulator
import PushCore

/// How APNs is brought to give an answer: naturally where it arises from what is wrong, or by a knob.
struct ReasonScene: Sendable {
  /// Whom the answer hits.
  enum Hit: Sendable {
    /// The device of the first user, that many times; the others are accepted.
    case one(times: Int)
    /// Everybody.
    case all
  }

  /// What makes it another than its siblings, for the names of tests.
  var remark = "natural"
  /// The reason that the body gives; `nil` for what follows from the request itself, which is the row's.
  var word: String?
  var hit = Hit.one(times: 1)
  var knobs = SimulatorKnobs()
  /// The device of the first user.
  var state = SimulatedDevice.State.registered
  /// Since when APNs calls it dead, in ms since the epoch; it registered at ``registeredAt``.
  var deadSince: Int64 = 2000
  /// The topic that the device is for.
  var deviceTopic: String? = WorkerRig.topic
  /// The only environment that the device is for.
  var deviceEnvironment: SimulatorEnvironment?
  /// What the app is configured with.
  var topic = WorkerRig.topic
  /// The only environment that the key is for.
  var keyEnvironment: SimulatorEnvironment?
  /// The only topics that the key is for.
  var keyTopics: [String]?
  /// Whether APNs knows the key.
  var isKeyKnown = true
  /// What the certificate is for.
  var certificateTopic = WorkerRig.topic
  /// Where the certificate is good.
  var certificateEnvironments = Set(SimulatorEnvironment.allCases)
  /// When the certificate is good, in seconds from now.
  var certificateValidity = -86_400..<86_400
  /// A job to this channel; `nil` for one to everybody.
  var channel: Channel?

  /// The channel of a job.
  enum Channel: Sendable {
    /// That keeps no message.
    case open
    /// That APNs doesn't know.
    case named(String)
  }
  /// Further fields of the job.
  var fields = ""

  /// When devices registered, in ms since the epoch.
  static let registeredAt: Int64 = 1000

  /// Something is really wrong.
  static func natural(_ hit: Hit = .one(times: 1), _ change: (inout ReasonScene) -> Void = { _ in }) -> ReasonScene {
    var scene = ReasonScene(hit: hit)
    change(&scene)
    return scene
  }

  /// The simulator says so, having nothing to object to.
  static func told(
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
