import PushCore

/// Counters of the pushes of an app to a push service in a lane, since the worker's start. They are plain numbers
/// confined to the worker's loop, so that a push costs one addition. Readers get a copy.
final class PushTally {
  let app: String
  let lane: Lane
  let service: any PushService
  /// Pushes that were passed to connections.
  var submitted = 0
  /// Accepted pushes. Separate from the other outcomes, because almost every push is accepted.
  var accepted = 0
  /// Pushes whose connection ended, or whose time limit passed, before an answer arrived.
  var unanswered = 0
  /// Pushes to retry later.
  var retries = 0
  /// Devices whose tokens the service reported as gone.
  var prunes = 0
  /// Devices whose tokens the service reported as bad.
  var quarantines = 0
  /// Counters of outcomes, by the position in ``PushCore/Outcome``.
  private var outcomes = [Int](repeating: 0, count: Outcome.allCases.count)
  /// Answers other than acceptances, by the code of their reason.
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
      app: app, service: service.name, lane: lane, submitted: submitted, outcomes: outcomes, refusals: refusals,
      unanswered: unanswered, retries: retries, prunes: prunes, quarantines: quarantines)
  }
}
