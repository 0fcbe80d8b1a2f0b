import PushCore

/// What became of the pushes of an app in a lane, since the worker's start. Plain numbers, confined to the worker's loop, so
/// that a push costs one addition; who wants to know gets a copy.
final class PushTally {
  let app: String
  let lane: Lane
  let service: any PushService
  /// Handed to connections.
  var submitted = 0
  /// Apart from the other outcomes: of these there is one for nearly every push.
  var accepted = 0
  /// Ended without an answer.
  var unanswered = 0
  /// To be tried again later.
  var retries = 0
  /// Devices whose tokens are gone, by what the service said.
  var prunes = 0
  /// Devices whose tokens the service called bad.
  var quarantines = 0
  /// By ``PushCore/Outcome``'s position.
  private var outcomes = [Int](repeating: 0, count: Outcome.allCases.count)
  /// Answers that were no acceptance, by the code of their reason.
  private var refusals = [Int](repeating: 0, count: 256)

  init(app: String, lane: Lane, service: any PushService) {
    self.app = app
    self.lane = lane
    self.service = service
  }

  func count(_ outcome: Outcome) { outcomes[Int(outcome.rawValue - Outcome.accepted.rawValue)] += 1 }

  func count(refusal reason: ReasonCode) { refusals[Int(reason.rawValue)] += 1 }

  var published: WorkerMetrics.App {
    var outcomes: [Outcome: Int] = [:]
    for outcome in Outcome.allCases {
      let count = self.outcomes[Int(outcome.rawValue - Outcome.accepted.rawValue)]
      outcomes[outcome] = outcome == .accepted ? count + accepted : count
    }
    var refusals: [String: Int] = [:]
    for (code, count) in self.refusals.enumerated() where count > 0 {
      let reason = ReasonCode(rawValue: UInt8(code))
      let text =
        reason == .none
        ? "none" : reason == .other ? "other" : String(decoding: service.reasonText(of: reason), as: UTF8.self)
      refusals[text, default: 0] += count
    }
    return WorkerMetrics.App(
      app: app, lane: lane, submitted: submitted, outcomes: outcomes, refusals: refusals, unanswered: unanswered,
      retries: retries, prunes: prunes, quarantines: quarantines)
  }
}
