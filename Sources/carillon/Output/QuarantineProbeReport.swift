import APNs
import PushCore

/// What the other environment said of tokens that the configured one calls bad, and what follows.
struct QuarantineProbeReport {
  /// One push and its answer.
  struct Answer {
    var token: DeviceToken
    var status: UInt16
    var reason: Reason

    /// Whether it shows that the environment knows the token, whatever became of the push.
    var isKnown: Bool { status == 200 || status == 410 || reason == .deviceTokenNotForTopic }
    /// Whether the environment doesn't know the token.
    var isBad: Bool { reason == .badDeviceToken }
  }

  /// What the answers show.
  enum Verdict: String {
    /// The tokens are of the other environment.
    case otherEnvironment
    /// Of the other environment, but of another topic too.
    case otherTopic
    /// Some are, some are not.
    case mixed
    /// Neither environment knows them.
    case bad
    /// The answers are about something else.
    case unknown

    var isKnown: Bool { self != .unknown }
  }

  var app: String
  /// The campaign they were taken from, if they were.
  var campaign: String?
  /// The environment of the app's configuration.
  var configured: PushEnvironment
  /// The one that was asked.
  var asked: PushEnvironment
  var answers: [Answer] = []

  var verdict: Verdict {
    let (known, bad) = (answers.count(where: \.isKnown), answers.count(where: \.isBad))
    if known + bad < answers.count || answers.isEmpty { return .unknown }
    if bad == answers.count { return .bad }
    if bad > 0 { return .mixed }
    return answers.allSatisfy { $0.reason == .deviceTokenNotForTopic } ? .otherTopic : .otherEnvironment
  }

  /// What was found, in a sentence.
  var finding: String {
    let known = answers.count(where: \.isKnown)
    let share = "\(known) of \(answers.count) \(answers.count == 1 ? "token" : "tokens")"
    let isAre = known == 1 ? "is" : "are"
    switch verdict {
    case .otherEnvironment:
      let word = answers.allSatisfy { $0.status == 200 } ? "accepted by" : "known to"
      return "\(share) \(isAre) \(word) the \(asked.rawValue): "
        + "apps.\(app).environment (\(configured.rawValue)) is wrong for them"
    case .otherTopic:
      return "\(share) \(isAre) of the \(asked.rawValue), and of another topic than app \(app) has"
    case .mixed:
      return "\(share) \(isAre) of the \(asked.rawValue), the others are bad there too"
    case .bad:
      let all = answers.count == 1 ? "it" : "all \(answers.count)"
      return "the \(asked.rawValue) calls \(all) bad too: the environment is not what is wrong"
    case .unknown:
      let odd = answers.first { !$0.isKnown && !$0.isBad }
      return "the \(asked.rawValue) did not say: \(odd.map { "\($0.status) \($0.reason.name)" } ?? "no answer")"
    }
  }

  /// What to do, in a line.
  var advice: String {
    let selection = campaign.map { "--campaign \($0)" } ?? "--app \(app)"
    let resume = campaign.map { "carillon campaign resume \($0); " } ?? ""
    switch verdict {
    case .otherEnvironment:
      return "set apps.\(app).environment to \(asked.rawValue) (or send to these devices by an app of the "
        + "\(asked.rawValue)), restart the workers; \(resume)carillon quarantine release \(selection)"
    case .otherTopic:
      return "set apps.\(app).topic and environment to those of the app that registered them, restart the workers; "
        + "\(resume)carillon quarantine release \(selection)"
    case .mixed:
      return "devices of both environments are registered for app \(app): import them with the column environment, by "
        + "which an app picks its own"
    case .bad:
      return "are they of another app or team? If not: carillon quarantine purge \(selection)"
        + (campaign.map { ", or carillon campaign resume --unguarded \($0)" } ?? "")
    case .unknown:
      return answers.first { !$0.isKnown && !$0.isBad }
        .map { ReasonGuide(status: $0.status, reason: $0.reason).advice } ?? "try again"
    }
  }

  /// For people.
  var text: String {
    let lines = answers.map { answer in
      "\(APNsService().shortText(of: answer.token))  \(answer.status) \(answer.reason == .none ? "accepted" : answer.reason.name)"
    }
    return (lines + [finding, "  " + advice]).map(Excerpt.harmless).joined(separator: "\n")
  }

  /// One object.
  var json: String {
    var json = JSONWriter()
    json.beginObject()
    json.member("app", app)
    json.member("environment", asked.rawValue)
    json.member("verdict", verdict.rawValue)
    json.member("asked", answers.count)
    json.member("accepted", answers.count { $0.status == 200 })
    json.name("answers")
    json.beginArray()
    for answer in answers {
      json.beginObject()
      json.member("token", APNsService().text(of: answer.token))
      json.member("status", Int(answer.status))
      json.member("reason", answer.reason == .none ? nil : answer.reason.name)
      json.endObject()
    }
    json.endArray()
    json.member("finding", finding)
    json.member("advice", advice)
    json.endObject()
    return json.text
  }
}
