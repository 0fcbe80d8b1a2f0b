import APNs
import PushCore

/// The report of a probe: test pushes to the other environment, for tokens that the configured environment refused as
/// bad. It has the answers and a conclusion.
struct QuarantineProbeReport {
  /// One push and its answer.
  struct Answer {
    var token: DeviceToken
    var status: UInt16
    var reason: Reason

    /// Whether the answer shows that the environment knows the token, even if the push failed.
    var isKnown: Bool { status == 200 || status == 410 || reason == .deviceTokenNotForTopic }
    /// Whether the environment does not know the token.
    var isBad: Bool { reason == .badDeviceToken }
  }

  /// Conclusion from the answers.
  enum Verdict: String {
    /// The tokens belong to the other environment.
    case otherEnvironment
    /// The tokens belong to the other environment and to another topic.
    case otherTopic
    /// Some tokens belong to the other environment.
    case mixed
    /// Neither environment knows the tokens.
    case bad
    /// The answers allow no conclusion.
    case unknown

    var isKnown: Bool { self != .unknown }
  }

  var app: String
  /// Campaign of the tokens; `nil` if the tokens come from the quarantine.
  var campaign: String?
  /// Environment in the app's configuration.
  var configured: PushEnvironment
  /// Environment that got the pushes.
  var asked: PushEnvironment
  var answers: [Answer] = []

  var verdict: Verdict {
    let (known, bad) = (answers.count(where: \.isKnown), answers.count(where: \.isBad))
    if known + bad < answers.count || answers.isEmpty { return .unknown }
    if bad == answers.count { return .bad }
    if bad > 0 { return .mixed }
    return answers.allSatisfy { $0.reason == .deviceTokenNotForTopic } ? .otherTopic : .otherEnvironment
  }

  /// The conclusion as a sentence.
  var finding: String {
    let known = answers.count(where: \.isKnown)
    let share = "\(known) of \(answers.count) \(answers.count == 1 ? "token" : "tokens")"
    switch verdict {
    case .otherEnvironment:
      let verb = answers.allSatisfy { $0.status == 200 } ? "accepts" : "knows"
      return "the \(asked.rawValue) environment \(verb) \(share): "
        + "apps.\(app).apns.environment (\(configured.rawValue)) is wrong for these tokens"
    case .otherTopic:
      return "the \(asked.rawValue) environment knows \(share), but for another topic than that of app \(app)"
    case .mixed:
      return "the \(asked.rawValue) environment knows \(share), and rejects the others as bad too"
    case .bad:
      let all = answers.count == 1 ? "the token" : "all \(answers.count) tokens"
      return "the \(asked.rawValue) environment rejects \(all) as bad too: the environment is not the problem"
    case .unknown:
      let odd = answers.first { !$0.isKnown && !$0.isBad }
      return
        "the \(asked.rawValue) environment gave no clear answer: \(odd.map { "\($0.status) \($0.reason.name)" } ?? "no answer")"
    }
  }

  /// The recommended action, in one line.
  var hint: String {
    let selection = campaign.map { "--campaign \($0)" } ?? "--app \(app)"
    let resume = campaign.map { "carillon campaign resume \($0); " } ?? ""
    switch verdict {
    case .otherEnvironment:
      return "set apps.\(app).apns.environment to \(asked.rawValue), or use an app of the \(asked.rawValue) "
        + "environment for these devices; restart the workers; \(resume)carillon quarantine release \(selection)"
    case .otherTopic:
      return
        "set apps.\(app).apns.topic and environment to those of the app that registered the tokens; restart the "
        + "workers; \(resume)carillon quarantine release \(selection)"
    case .mixed:
      return "app \(app) has devices of both environments: import them again with the column environment; the app then "
        + "gets only the devices of its environment"
    case .bad:
      return "check whether the tokens are of another app or team; if not, run carillon quarantine purge \(selection)"
        + (campaign.map { ", or carillon campaign resume --unguarded \($0)" } ?? "")
    case .unknown:
      return answers.first { !$0.isKnown && !$0.isBad }
        .map { ReasonGuide(status: $0.status, reason: $0.reason).hint } ?? "try again"
    }
  }

  /// The report as text.
  var text: String {
    let lines = answers.map { answer in
      "\(APNsService().shortText(of: answer.token))  \(answer.status) \(answer.reason == .none ? "accepted" : answer.reason.name)"
    }
    return (lines + [finding, "  " + hint]).map(Excerpt.harmless).joined(separator: "\n")
  }

  /// The report as a JSON object.
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
    json.member("hint", hint)
    json.endObject()
    return json.text
  }
}
