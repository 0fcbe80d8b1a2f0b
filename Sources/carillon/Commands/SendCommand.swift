import APNs
import ArgumentParser
import Foundation
import PushCore
import PushWorker

/// `carillon send`.
struct SendCommand: CarillonCommand {
  static let configuration = CommandConfiguration(
    commandName: "send",
    abstract: "Sends one push and shows everything: headers, answer, and what the answer means.",
    discussion: """
      Exits 0 when APNs accepted it, 1 when it did not, 69 when it could not be reached. Nothing is written to Redis.

      Examples:
        carillon send --app news --token 0f2c… '{"aps":{"alert":"Hello"}}'
        carillon send --app news --token 0f2c… --push-type background payload.json
      """)

  @OptionGroup var global: GlobalOptions
  @Option(help: "An app of the configuration.") var app: String
  @Option(help: "The device token, hex.") var token: String
  @Argument(help: "The payload: JSON, the name of a file, or - for standard input.") var payload: String
  @Option(help: "alert, background, voip, …") var pushType = PushType.alert.rawValue
  @Option(help: "10, 5 or 1; 10 unless given, 5 for background.") var priority: Int?
  @Option(help: "0, a duration such as 4h, or RFC 3339.") var expiration: String?
  @Option(name: .customLong("collapse-id"), help: "At most 64 bytes.") var collapseID: String?

  func run() async throws {
    let configuration = try global.loadConfiguration()
    try configuration.checkApp(app)
    let token = try DeviceToken(argument: token)
    let campaign = try campaign(to: token)
    let channels = try AppChannels.make(configuration.apps.filter { $0.key == app })
    guard let channel = channels[app] else { throw CommandError(.defect, "no channel for app \(app)") }
    let headers = PushHeaders(
      topic: campaign.defaultTopic(bundle: channel.topic), pushType: campaign.pushType, priority: campaign.priority,
      expiration: campaign.expiration.instant(startingAt: Int(Date.now.timeIntervalSince1970)),
      collapseID: campaign.collapseID)
    let push = SinglePush(channel: channel, headers: headers, token: token, payload: campaign.payload)
    if !global.json { try StandardOutput.printLine(request(push)) }
    let outcome = try await push.send()
    try StandardOutput.printLine(global.json ? json(push, outcome) : response(outcome))
    if outcome.completion.status != 200 { throw ExitCode(CommandError.Code.failed.exitStatus) }
  }

  /// The push as a campaign to one token: by that it is checked by the same rules as a job.
  private func campaign(to token: DeviceToken) throws -> Campaign {
    let bytes = try readPayload()
    do {
      _ = try JSONValue(parsing: bytes, maximumDepth: CampaignJob.maximumNesting)
    } catch {
      throw CommandError(.input, "payload: not valid JSON: \(error)", hint: "such as {\"aps\":{\"alert\":\"Hello\"}}")
    }
    var job = JSONWriter()
    job.beginObject()
    job.member("id", "send")
    job.member("app", app)
    job.name("audience")
    job.raw(#"{"tokens":["\#(token.hex)"]}"#.utf8)
    job.name("payload")
    job.raw(bytes)
    job.member("pushType", pushType)
    if let priority { job.member("priority", priority) }
    if let expiration { job.member("expiration", expiration) }
    if let collapseID { job.member("collapseId", collapseID) }
    job.endObject()
    return try CampaignJob.parse(job.bytes, knownApps: nil)
  }

  private func readPayload() throws -> [UInt8] {
    if payload.drop(while: \.isWhitespace).first == "{" { return Array(payload.utf8) }
    do {
      return try InputFile.contents(payload, limit: CampaignJob.maximumSize)
    } catch {
      throw CommandError(
        .input, "payload: \(error.path): \(error.reason)", hint: "give JSON that begins with a brace, a file, or -")
    }
  }

  private func request(_ push: SinglePush) -> String {
    var lines = ["> POST \(push.url)"]
    lines += push.headerLines.map { "> \($0.name): \($0.value)" }
    lines += [">", "> " + String(decoding: push.payload, as: UTF8.self), "> (\(push.payload.count) bytes)"]
    return lines.map(Excerpt.harmless).joined(separator: "\n")
  }

  private func response(_ outcome: SinglePush.Outcome) -> String {
    let completion = outcome.completion
    let guide = ReasonGuide(status: completion.status, reason: completion.reason)
    var lines = ["< \(completion.status)" + (completion.reasonText.map { " " + $0 } ?? "")]
    if completion.timestamp > 0 {
      lines.append("< since \(Timestamp.format(milliseconds: Int(completion.timestamp)))")
    }
    lines += [
      "", guide.meaning, "  " + guide.advice, "after \(outcome.duration.wholeMilliseconds) ms, connecting included",
    ]
    return lines.map(Excerpt.harmless).joined(separator: "\n")
  }

  private func json(_ push: SinglePush, _ outcome: SinglePush.Outcome) -> String {
    let completion = outcome.completion
    let guide = ReasonGuide(status: completion.status, reason: completion.reason)
    var json = JSONWriter()
    json.beginObject()
    json.name("request")
    json.beginObject()
    json.member("method", "POST")
    json.member("url", push.url)
    json.name("headers")
    json.beginObject()
    for (name, value) in push.headerLines { json.member(name, value) }
    json.endObject()
    json.name("payload")
    json.raw(push.payload)
    json.endObject()
    json.name("response")
    json.beginObject()
    json.member("status", Int(completion.status))
    json.member("reason", completion.reasonText)
    json.member(
      "timestamp", completion.timestamp > 0 ? Timestamp.format(milliseconds: Int(completion.timestamp)) : nil)
    json.endObject()
    json.member("accepted", completion.status == 200)
    json.member("meaning", guide.meaning)
    json.member("advice", guide.advice)
    json.member("milliseconds", outcome.duration.wholeMilliseconds)
    json.endObject()
    return json.text
  }
}

extension PushCompletion {
  /// Apple's word, known to us or not; `nil` for none.
  fileprivate var reasonText: String? {
    let text = unknownReason ?? reason.name
    return text.isEmpty ? nil : text
  }
}
