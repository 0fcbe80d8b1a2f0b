import ArgumentParser
import CommandSupport
import Foundation
import PushCore
import PushTransport
import PushWorker
import ServiceTools

/// The command `carillon send`.
struct SendCommand: AuditedCommand {
  static let configuration = CommandConfiguration(
    commandName: "send",
    abstract: "Send one push and show the request and the answer.",
    discussion: """
      The command does not send a push that breaks a rule (exit 65). With --unchecked it sends such a push and shows \
      the answer of the push service. A push with warnings is sent. `carillon lint --rules` lists the rules. The \
      command writes nothing to Redis.

      Exit status: 0 if the push service accepts the push, 1 if it refuses the push, 69 if it is unreachable.

      Examples:
        carillon send --app news --token 0f2c… '{"aps":{"alert":"Hello"}}'
        carillon send --app news --token 0f2c… --push-type background --dry-run payload.json
        carillon send --app android --token dQw4…:APA91b… '{"notification":{"title":"Hello"}}'
      """)

  static let effect = Effect.unrecorded

  @OptionGroup var global: GlobalOptions
  @Option(help: "The app, by its name in the configuration.") var app: String
  @Option(help: "The push service (default: the only one of the app).") var service: String?
  @Option(help: "The device token, as the app got it.") var token: String
  @Argument(help: "The payload: JSON, the name of a file, or - for standard input.") var payload: String
  @Option(help: "The push type: alert, background, voip, …") var pushType = KnownServices.all.standard.defaultPushType
  @Option(help: "The priority: 10, 5 or 1 (default: 10, or 5 for background).") var priority: Int?
  @Option(help: "The expiration: 0, a duration such as 4h, or RFC 3339 (default: 0 for voip, pushtotalk).")
  var expiration: String?
  @Option(name: .customLong("collapse-id"), help: "The collapse id, at most 64 bytes.") var collapseID: String?
  @Option(help: "The apns-topic (default: the app's topic and the suffix of the push type).")
  var topic: String?
  @Option(name: .customLong("apns-id"), help: "The apns-id, a UUID (default: a random one).") var apnsID: String?
  @Flag(help: "Check and print the push; open no connection.") var dryRun = false
  @Flag(help: "Send the push even if it breaks a rule.") var unchecked = false

  func run() async throws {
    let configuration = try global.loadConfiguration()
    try configuration.checkApp(app)
    let (push, all) = try prepare(configuration)
    let findings = all.map { Self.ofCommand($0, push.tools.service) }
    let errors = findings.filter { $0.rule.severity == .error }
    if let first = errors.first, !unchecked, !dryRun {
      let others = errors.count > 1 ? " (and \(errors.count - 1) more: --dry-run shows all)" : ""
      throw CommandError(
        .input, FindingText.place(first) + first.message + others,
        hint: (first.hint.map { $0 + "; " } ?? "") + "rule \(first.rule.id): \(first.rule.source)")
    }
    let report = SendReport(push: push, findings: findings)
    if !global.json { try StandardOutput.printLine(report.request) }
    guard !dryRun else {
      if global.json {
        try StandardOutput.printLine(report.json(nil))
      } else {
        try StandardOutput.printLine(report.end)
      }
      if !errors.isEmpty { throw ExitCode(CommandError.Code.input.exitStatus) }
      return
    }
    let outcome = try await push.send()
    try StandardOutput.printLine(global.json ? report.json(outcome) : report.response(outcome))
    if !push.tools.answer(outcome.response).isAccepted { throw ExitCode(CommandError.Code.failed.exitStatus) }
  }

  /// Returns a copy of a finding of the rules for jobs. Its hint names the option of this command, not the field of a
  /// job.
  private static func ofCommand(_ finding: Finding, _ service: any PushService) -> Finding {
    var finding = finding
    finding.hint = finding.hint?.replacing("\(service.name).pushType", with: "--push-type")
    return finding
  }

  private func prepare(_ configuration: CarillonConfiguration) throws -> (SinglePush, [Finding]) {
    guard let known = configuration.apps[app]?.services else { throw CommandError(.defect, "no app \(app)") }
    let (tools, settings) = try configured(among: known)
    let hasPriority = tools.service.jobFields.contains { $0.name == "priority" }
    // A service with priorities checks the value of `--priority` itself. For any other service, the command converts
    // the value to an urgency.
    guard hasPriority || priority.map({ [10, 5, 1].contains($0) }) ?? true else {
      throw CommandError(.input, "--priority: must be the number 10, 5 or 1")
    }
    let draft = SinglePushDraft(
      name: "send", app: app, token: try tools.service.token(argument: token), payload: try readPayload(of: tools),
      pushType: pushType, priority: priority, expiration: expiration, collapseID: collapseID)
    let service = try topic.map { try settings.service(byHand: $0) } ?? settings.service
    let now = Int(Date.now.timeIntervalSince1970)
    let (campaign, findings) = try draft.examine(by: service, now: now)
    guard let channel = try AppChannels.make(configuration.apps.filter { $0.key == app })[app]?[tools.service.name]
    else { throw CommandError(.defect, "no channel for app \(app)") }
    let push = try draft.push(
      campaign, by: service, of: tools, through: channel, now: now, id: try readID().uuidString.lowercased())
    guard apnsID == nil || push.prepared.headers.contains(where: { $0.name == "apns-id" }) else {
      throw CommandError(
        .usage, "--apns-id: a push of \(service.title) has no id", hint: "omit --apns-id, or choose another --service")
    }
    return (push, findings)
  }

  /// Returns the push service: the service of `--service`, or otherwise the only service of the app.
  private func configured(
    among known: [CarillonConfiguration.AppService]
  ) throws -> (any PushServiceTools, any PushServiceSettings) {
    let names = known.map(\.tools.service.name)
    guard let name = service ?? (names.count == 1 ? names[0] : nil) else {
      throw CommandError(
        .usage, "app \(app) uses several push services: \(names.joined(separator: ", "))",
        hint: "choose one with --service")
    }
    guard let found = known.first(where: { $0.tools.service.name == name }) else {
      throw CommandError(
        .usage, "app \(app) does not use the push service \(Excerpt.quoted(name))",
        hint: Nearest.hint(name, among: names))
    }
    return (found.tools, found.settings)
  }

  private func readID() throws -> UUID {
    guard let apnsID else { return UUID() }
    guard let id = UUID(uuidString: apnsID) else {
      throw CommandError(.input, "--apns-id: not a UUID", hint: "such as \(UUID().uuidString.lowercased())")
    }
    return id
  }

  /// Returns the payload. Throws an error if it is not JSON or is a whole job.
  private func readPayload(of tools: any PushServiceTools) throws -> [UInt8] {
    let bytes = try readPayload()
    let root: JSONValue
    do {
      root = try JSONValue(parsing: bytes, maximumDepth: CampaignJob.maximumNesting)
    } catch {
      throw CommandError(.input, "payload: not valid JSON: \(error)", hint: "such as {\"aps\":{\"alert\":\"Hello\"}}")
    }
    // APNs would accept the job as a payload, but the device would show nothing.
    guard !tools.isJob(root) else {
      throw CommandError(
        .input, "payload: this is a job, not a payload",
        hint: "submit it: carillon campaign submit FILE; or send only its payload: "
          + "jq .\(tools.service.name).\(tools.service.payloadField) FILE | carillon send --app \(app) --token … -")
    }
    return bytes
  }

  private func readPayload() throws -> [UInt8] {
    if payload.drop(while: \.isWhitespace).first == "{" { return Array(payload.utf8) }
    do {
      return try InputFile.contents(payload, limit: CampaignJob.maximumSize)
    } catch {
      throw CommandError(
        .input, "payload: \(error.path): \(error.reason)",
        hint: "use JSON that begins with a brace, the name of a file, or -")
    }
  }
}
