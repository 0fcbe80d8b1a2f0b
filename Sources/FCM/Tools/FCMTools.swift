public import PushCore
public import PushTransport
public import ServiceTools

/// The functions of the command line that are specific to FCM.
public struct FCMTools: PushServiceTools {
  /// The tools have no settings.
  public init() {}

  public var service: any PushService { FCMService() }
  public var ports: String { "443" }

  // MARK: Lint

  public var pushTypes: [String] { FCMPushType.allCases.map(\.rawValue) }
  public var defaultPushType: String { FCMPushType.alert.rawValue }
  public var rules: [PushRule] { FCMRule.allCases.map { PushRule($0) } }

  public func isJob(_ root: JSONValue) -> Bool { FCMService().isJob(root) }
  public func isPayload(_ root: JSONValue) -> Bool { FCMLint.isPayload(root) }

  public func lint(
    _ bytes: [UInt8], resolved: [UInt8]?, as pushType: String?, app: String?, apps: JobApps, now: Int?
  ) throws(JSONSyntaxError) -> PushLint {
    try FCMLint(bytes, resolved: resolved, as: pushType.flatMap(FCMPushType.init(rawValue:)), apps: apps, now: now)
      .result
  }

  // MARK: A push by hand

  /// Returns a composer without the tag that notifications of a campaign have by default.
  public func composer(byHand campaign: Campaign, of service: any PushService, expiration: Int?) -> any PushComposer {
    guard let service = service as? FCMService else { return service.composer(for: campaign, expiration: expiration) }
    return service.composer(for: campaign, expiration: expiration, tag: campaign.message.collapseID)
  }

  /// Returns a request that FCM validates but does not send: a message to a topic. FCM accepts it only if the API is
  /// enabled, the project exists, and the account may send messages in it. Source: the field `validate_only` in the
  /// discovery document of `fcm:v1`.
  public func credentialCheck(of service: any PushService, with token: BearerToken) -> HTTPExchange.Request? {
    guard let service = service as? FCMService, let project = service.project else { return nil }
    return HTTPExchange.Request(
      method: "POST", path: FCMComposer.path(project: project),
      headers: [.init("authorization", "Bearer \(token.text)"), .init("content-type", "application/json")],
      body: Array(#"{"validate_only":true,"message":{"topic":"carillon-doctor"}}"#.utf8))
  }

  public func answer(_ response: HTTPExchange.Response) -> ServiceAnswer {
    let reply = response.body.withUnsafeBytes { FCMService().reply(status: response.status, body: $0, retryAfter: 0) }
    let reason = FCMReason(reply.answer.reason)
    let name = reply.unknownReason ?? reason.name
    let guide = AnswerGuide(status: response.status, reason)
    return ServiceAnswer(
      isAccepted: reply.answer.isAccepted, reason: reply.answer.reason, reasonText: name.isEmpty ? nil : name,
      meaning: guide.meaning, hint: guide.hint)
  }

  // MARK: Settings

  public var keys: [String: [String]] { ["": ["serviceAccountFile", "project", "endpoint", "metadataServer"]] }

  public func settings(
    _ section: ConfigurationSection, resolve: (String) -> String
  ) throws(ConfigurationError) -> any PushServiceSettings {
    FCMSettings(
      path: section.path, credential: try Self.credential(section, resolve), project: try Self.project(section),
      endpoint: try section.endpoint("endpoint", hint: "FCM speaks HTTP/2 over TLS only"))
  }

  private static func credential(
    _ section: ConfigurationSection, _ resolve: (String) -> String
  ) throws(ConfigurationError) -> FCMSettings.Credential {
    guard try section.boolean("metadataServer") else {
      let file = try section.required(
        "serviceAccountFile",
        hint: "the JSON key of a service account: Firebase console, Project settings, Service accounts")
      return .serviceAccount(file: resolve(file))
    }
    guard !section.has("serviceAccountFile") else {
      throw section.error(
        "metadataServer", "can't be used together with serviceAccountFile", hint: "remove one of the two")
    }
    guard section.has("project") else {
      throw section.error("project", "is missing", hint: "with metadataServer, name the Firebase project")
    }
    return .metadataServer
  }

  private static func project(_ section: ConfigurationSection) throws(ConfigurationError) -> String? {
    guard let project = try section.string("project") else { return nil }
    guard isProject(project) else {
      throw section.error(
        "project", "\(Excerpt.quoted(project)) is not the id of a Firebase project",
        hint: "6 to 30 of a-z 0-9 -, as in the URL of the Firebase console; the project's number works too")
    }
    return project
  }

  /// Returns whether a text can be the id or the number of a project. An old id may have the prefix of a domain, such
  /// as `example.com:news`. Source: Google Cloud, "Creating and managing projects".
  static func isProject(_ text: String) -> Bool {
    (1...100).contains(text.utf8.count)
      && text.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
          UInt8(ascii: "."), UInt8(ascii: ":"):
          true
        default: false
        }
      }
  }

  // MARK: A new configuration

  public func setUp(_ interview: SetupInterview) throws -> SetupDraft {
    var draft = SetupDraft(files: ["service-account-file"].compactMap { interview.options[$0] })
    if interview.options["metadata-server"] != nil {
      guard draft.files.isEmpty else {
        throw ServiceError(
          .usage, "--metadata-server and --service-account-file can't be combined", hint: "choose one")
      }
      draft.add("project", try interview.answer("project", "What is the id of the Firebase project?"))
      draft.lines.append("metadataServer: true")
      return draft
    }
    let file = try interview.answer("service-account-file", "Which file is the JSON key of the service account?")
    draft.add("serviceAccountFile", interview.path(file))
    if let project = interview.options["project"] { draft.add("project", project) }
    return draft
  }
}
