import FCM
import PushCore
import PushTransport
import ServiceTools
import TestKit
import TestSupport
import Testing

/// The interface of FCM for the command line.
struct FCMToolsTests {
  private let tools = FCMTools()

  private func settings(_ values: [String: String]) throws -> FCMSettings {
    let node = ConfigurationNode(
      content: .section(values.mapValues { ConfigurationNode(content: .scalar($0), origin: "line 1") }),
      origin: "line 1")
    let section = try ConfigurationSection(node, path: "apps.news", keys: tools.keys[""])
    return try #require(tools.settings(section, resolve: { $0 }) as? FCMSettings)
  }

  @Test func projectIsThatOfTheAccountUnlessGiven() throws {
    let folder = try ScratchFolder()
    let file = try folder.writeSecret("account.json", String(decoding: AccountKit.json(), as: UTF8.self))
    let own = try settings(["serviceAccountFile": file])
    let account = try ServiceAccount(json: AccountKit.json())
    expect((own.service as? FCMService)?.project, is: account.projectID)
    expect(own.url == "https://fcm.googleapis.com:443" && own.credentialFiles == [file])
    expect(
      try own.credentialFindings(now: 0),
      is: [.healthy("service account \(account.clientEmail) of project \(account.projectID) can be read")])
    let other = try settings(
      ["serviceAccountFile": file, "project": "other", "endpoint": "https://127.0.0.1:2198"])
    expect((other.service as? FCMService)?.project == "other" && other.url == "https://127.0.0.1:2198")
    guard case .advice = try #require(try other.credentialFindings(now: 0).first) else {
      Issue.record("an account of another project is worth a word")
      return
    }
    expect(own.credentialIdentity != other.credentialIdentity)
    expect(try own.makeCredential(reaching: PushEndpoint(url: own.url)) is AccessTokenSource)
  }

  /// Workers send to the project of the key that they read first, so a key of another project would fail every push.
  @Test func keyOfAnotherProjectIsNotReloaded() throws {
    let folder = try ScratchFolder()
    func write(_ changes: [String: String?] = [:]) throws -> String {
      try folder.writeSecret("account.json", String(decoding: AccountKit.json(changes), as: UTF8.self))
    }
    let own = try settings(["serviceAccountFile": write()])
    let named = try settings(["serviceAccountFile": write(), "project": "demo-project"])
    let credential = try own.makeCredential(reaching: PushEndpoint(url: own.url))
    _ = try write(["private_key_id": "new"])
    try own.reload(credential, sharedBy: [own])
    _ = try write(["project_id": "another-project"])
    let error = #expect(throws: ServiceError.self) { try own.reload(credential, sharedBy: [own]) }
    expect(error?.message.contains("belongs to project another-project, and the workers send to"), is: true)
    // An account of another project may have a role in the project that the configuration names.
    try named.reload(credential, sharedBy: [named])
  }

  @Test(
    arguments: [
      ([:], "apps.news.serviceAccountFile"),
      (["serviceAccountFile": "a", "metadataServer": "true"], "apps.news.metadataServer"),
      (["metadataServer": "true"], "apps.news.project"),
      (["serviceAccountFile": "a", "project": "../x"], "apps.news.project"),
      (["serviceAccountFile": "a", "endpoint": "http://x"], "apps.news.endpoint"),
    ] as [([String: String], String)])
  func wrongSettingNamesItsKey(values: [String: String], key: String) {
    let error = #expect(throws: ConfigurationError.self) { try settings(values) }
    expect(error?.key == key && error?.hint != nil)
  }

  @Test func missingKeyFileNamesItsKeyAndARemedy() throws {
    let error = #expect(throws: ServiceError.self) {
      try settings(["serviceAccountFile": "/nowhere/account.json"]).credentialFindings(now: 0)
    }
    expect(error?.message.hasPrefix("apps.news.serviceAccountFile: /nowhere/account.json: "), is: true)
    expect(error?.hint != nil)
  }

  @Test func interviewWritesTheSettings() throws {
    func lines(_ options: [String: String]) throws -> [String] {
      try tools.setUp(SetupInterview(options: options, ask: nil, relative: { $0 })).lines
    }
    expect(
      try lines(["service-account-file": "a.json", "project": "p"]), is: ["serviceAccountFile: a.json", "project: p"])
    expect(
      try lines(["metadata-server": "true", "project": "p"]), is: ["project: p", "metadataServer: true"])
    #expect(throws: ServiceError.self) { try lines([:]) }
    #expect(throws: ServiceError.self) { try lines(["metadata-server": "true", "service-account-file": "a"]) }
  }

  @Test(arguments: AnswerTable.rows)
  func answerIsExplained(row: AnswerRow) {
    let answer = tools.answer(HTTPExchange.Response(status: row.status, headers: [], body: Array(row.body.utf8)))
    expect(answer.isAccepted, is: row.status == 200)
    expect(!answer.meaning.isEmpty && !answer.hint.isEmpty)
    expect(answer.reason, is: row.reason.code)
  }

  @Test func pushByHandReplacesNoNotification() throws {
    let campaign = Campaign(
      id: "send", app: "news", audience: .users([]), payload: Array(#"{"notification":{"title":"T"}}"#.utf8))
    let service = FCMService(project: "demo")
    let token = try #require(service.token("c:token"))
    let push = PreparedPush(
      to: token, by: tools.composer(byHand: campaign, of: service, expiration: nil), of: service, now: 0)
    expect(push.map { String(decoding: $0.body, as: UTF8.self).contains("tag") }, is: false)
    expect(push?.path, is: "/v1/projects/demo/messages:send")
  }
}
