import APNs
import Foundation
import PushCore
import PushTransport
import PushWorker
import ServiceTools
import TestKit
import TestPushService
import TestSupport
import Testing

@testable import CommandSupport
@testable import carillon

/// The command line with a second push service beside APNs. No file of the program names the service.
struct SecondServiceToolsTests {
  private static let services = KnownServices(standard: APNsTools(), others: [TextTools()])

  private func read(_ app: String) throws -> CarillonConfiguration {
    let yaml = """
      apps:
        news:
          apns:
            topic: com.example.news
            token: { keyFile: k.p8, keyID: ABC123DEFG, teamID: DEF123GHIJ }
        chat:
          text:
      \(app.split(separator: "\n").map { "      \($0)" }.joined(separator: "\n"))
      """
    return try ConfigurationReader(directory: "/c", services: Self.services)
      .read(ConfigurationNode.parse(yaml: yaml, file: "f"))
  }

  private func configuration(port: Int = 8443) throws -> CarillonConfiguration {
    try read("endpoint: https://127.0.0.1:\(port)\naccount: { secret: sesame }")
  }

  @Test func anAppOfEachServiceHasItsOwnKeys() throws {
    let apps = try configuration().apps
    let chat = try #require(apps["chat"])
    let settings = try #require(chat["text"]?.settings as? TextSettings)
    expect(settings.path == "apps.chat.text" && settings.endpoint.url == "https://127.0.0.1:8443")
    expect(apps["news"]?.apns?.topic == "com.example.news" && chat.services != apps["news"]?.services)
    expect(try configuration().apps["chat"], is: chat)
    for (keys, key, message) in [
      ("topic: a.b", "apps.chat.text.topic", "unknown key"), ("account: {}", "apps.chat.text.endpoint", "is missing"),
      ("endpoint: https://a\naccount: { word: x }", "apps.chat.text.account.word", "unknown key"),
    ] {
      let error = #expect(throws: ConfigurationError.self) { try read(keys) }
      expect(error?.key == key && error?.message == message)
    }
    let variables = ConfigurationSchema(Self.services).paths(apps: ["chat"]).map { $0.joined(separator: ".") }
    expect(variables.contains("apps.chat.text.account.secret") && variables.contains("apps.chat.apns.token.keyFile"))
  }

  @Test func initWritesSettingsThatAreReadBack() throws {
    let options = ["endpoint": "https://h:1", "secret": "it's"]
    var draft = ConfigurationDraft()
    draft.app = "chat"
    draft.services = [("text", try TextTools().setUp(SetupInterview(options: options, ask: nil) { $0 }))]
    let read = try ConfigurationReader(directory: "", services: Self.services)
      .read(ConfigurationNode.parse(yaml: draft.text, file: "f"))
    expect((read.apps["chat"]?["text"]?.settings as? TextSettings)?.secret, is: "it's")
  }

  @Test func doctorAndChannelsUseTheSettingsOfTheService() throws {
    let chat = try #require(configuration().apps["chat"])
    expect(
      CredentialRules.findings("chat", chat, now: 0), is: [.healthy(.credential, "chat", "the secret has six letters")])
    let channel = try #require(AppChannels.make(["chat": chat])["chat"]?["text"])
    expect(channel.service is TextService && channel.endpoint.url == "https://127.0.0.1:8443")
    expect(channel.credential.authorization(), is: .token(BearerToken(text: "sesame", generation: 1, connection: 1)))
  }

  @Test(arguments: [
    // The app determines the service. Without an app the form of the payload decides, and otherwise the standard
    // service is used.
    (#"{"txt":1}"#, "chat", "payload", ["text-missing"]),
    (#"{"text":"Hi","text":1}"#, nil, "payload", ["duplicate-key"]),
    (
      #"{"id":"a","app":"chat","audience":{"segment":"*"},"text":{"payload":{"aps":{}}}}"#, nil, "job", ["text-missing"]
    ),
    (
      #"{"id":"a","app":"news","audience":{"segment":"*"},"apns":{"payload":{"text":""}}}"#, nil, "job", ["alert-empty"]
    ),
  ])
  func lintAsksTheServiceOfTheFile(file: String, app: String?, kind: String, rules: [String]) async throws {
    let apps = try configuration().jobApps()
    let lint = try await JobLint(Array(file.utf8), app: app, apps: apps, services: Self.services, now: 1) {
      throw TestSupportError("no store")
    }
    expect(lint.lint.kind.rawValue, is: kind)
    expect(lint.lint.findings.map(\.rule.id), is: rules, "\(lint.lint.findings)")
  }

  @Test func sendShowsTheRequestAndExplainsTheAnswer() async throws {
    // One answer in HTTP/1.1, which a single request takes.
    let server = try await CannedServer.start([["HTTP/1.1 200 OK", #"{"error":"BUSY"}"#]])
    let folder = try ScratchFolder()
    var chat = try #require(configuration(port: Int(server.port)).apps["chat"])
    chat.services[0].trustRoots = try folder.write("roots.pem", server.authorityPEM)
    let (tools, service) = (chat.services[0].tools, chat.services[0].settings.service)
    let draft = SinglePushDraft(
      name: "send", app: "chat", token: try tools.service.token(argument: "t:0123456789abcdefghij"),
      payload: Array(#"{"text":"Hi"}"#.utf8), pushType: tools.defaultPushType)
    let (campaign, findings) = try draft.examine(by: service, now: 1)
    let push = try draft.push(
      campaign, by: service, of: tools, through: #require(AppChannels.make(["chat": chat])["chat"]?["text"]), now: 1,
      id: "")
    let report = SendReport(push: push, findings: findings)
    let body = #"{"to":"t:012345…ghij","campaign":"send","message":{"text":"Hi"}}"#
    expect(
      report.request,
      is: """
        > POST https://127.0.0.1:\(server.port)/v1/send
        > authorization: bearer sesame… (13 characters)
        > content-type: application/json
        > content-length: 73
        >
        > \(body)
        > (73 bytes)
        """)
    let response = report.response(try await push.send())
    expect(response.hasPrefix("< 200 BUSY\n") && response.contains("\nit is refused\n  read the reason\n"))
    let asked = try #require(try await server.asked().first)
    expect(asked.contains(#""to":"t:0123456789abcdefghij""#) && asked.contains("authorization: bearer sesame"))
    #expect(throws: ServiceError.self) { try chat.services[0].settings.service(byHand: "a.b") }
  }
}
