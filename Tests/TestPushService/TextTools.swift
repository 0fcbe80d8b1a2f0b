public import PushCore
public import PushTransport
public import ServiceTools

/// The tools of ``TextService`` for the command line.
public struct TextTools: PushServiceTools {
  /// The tools have no settings.
  public init() {}

  public var service: any PushService { TextService() }
  public var ports: String { "8443" }

  // MARK: Settings

  public var keys: [String: [String]] { ["": ["endpoint", "account"], "account": ["secret"]] }

  public func settings(
    _ section: ConfigurationSection, resolve: (String) -> String
  ) throws(ConfigurationError) -> any PushServiceSettings {
    guard let endpoint = try section.endpoint("endpoint", hint: "the text service speaks HTTPS only") else {
      throw section.error("endpoint", "is missing", hint: "such as https://text.example.com:8443")
    }
    let account = try section.section("account", keys: keys["account"])
    return TextSettings(
      path: section.path, endpoint: endpoint, secret: try account.required("secret", hint: "a word of six letters"))
  }

  public func setUp(_ interview: SetupInterview) throws -> SetupDraft {
    var draft = SetupDraft()
    draft.add("endpoint", try interview.answer("endpoint", "Where is the text service?"))
    draft.add("account", nil)
    draft.add("secret", try interview.answer("secret", "What is the secret?"), depth: 1)
    return draft
  }

  // MARK: Lint

  public var pushTypes: [String] { [] }
  public var defaultPushType: String { "message" }
  public var rules: [PushRule] { [TextService.textMissing] }

  public func isJob(_ root: JSONValue) -> Bool {
    guard case .object(let members) = root.kind else { return false }
    return members.value("audience") != nil
  }

  public func isPayload(_ root: JSONValue) -> Bool {
    guard case .object(let members) = root.kind else { return false }
    return members.value("text") != nil && !isJob(root)
  }

  public func lint(
    _ bytes: [UInt8], resolved: [UInt8]?, as pushType: String?, app: String?, apps: JobApps, now: Int?
  ) throws(JSONSyntaxError) -> PushLint {
    let root = try JSONValue(parsing: bytes, maximumDepth: CampaignJob.maximumNesting, allowsRepeats: true)
    guard isJob(root) else {
      var lint = PushLint(kind: .payload)
      lint.findings = TextService.findings(in: root, at: "")
      lint.sizes = [.init(name: "message", bytes: bytes.count, limit: TextService.longestMessage)]
      lint.setPositions(in: root, bytes)
      return lint
    }
    var lint = PushLint(kind: .job)
    do throws(JobError) {
      lint.findings = try CampaignJob.examine(resolved ?? bytes, apps, now: now).findings
    } catch {
      lint.findings = [Finding(.job, error.field, error.message, hint: error.hint)]
    }
    lint.setPositions(in: root, bytes)
    return lint
  }

  // MARK: A push by hand

  public func answer(_ response: HTTPExchange.Response) -> ServiceAnswer {
    let service = TextService()
    let reply = response.body.withUnsafeBytes { service.reply(status: response.status, body: $0, retryAfter: 0) }
    let name = service.reasonName(of: reply.answer.reason)
    let isAccepted = response.status == 200 && reply.answer.reason == .none
    return ServiceAnswer(
      isAccepted: isAccepted, reason: reply.answer.reason, reasonText: name.isEmpty ? reply.unknownReason : name,
      meaning: isAccepted ? "it is on its way" : "it is refused", hint: isAccepted ? "wait" : "read the reason")
  }
}

/// Settings of an app for ``TextService``.
public struct TextSettings: PushServiceSettings {
  /// Path of the settings in the configuration, for messages.
  public var path: String
  /// Address of the server.
  public var endpoint: EndpointAddress
  /// The bearer token.
  public var secret: String

  public var service: any PushService { TextService() }
  public func service(with credential: any PushCredential) -> any PushService { TextService() }
  public func service(byHand topic: String) throws(ServiceError) -> any PushService {
    throw ServiceError(.usage, "--topic: the text service has no topics", hint: "omit it")
  }

  public var environmentName: String { PushEnvironment.production.rawValue }
  public func describe(to json: inout JSONWriter) { json.member("endpoint", endpoint.url) }
  public var url: String { endpoint.url }

  public var credentialIdentity: AnyHashable { secret }
  public var credentialFiles: [String] { [] }
  public func makeCredential(reaching endpoint: PushEndpoint) throws -> any PushCredential { TextCredential(secret) }
  public func check(_ credential: any PushCredential) throws(ServiceError) {}
  public func reload(_ credential: any PushCredential, sharedBy apps: [any PushServiceSettings]) throws {}

  public func credentialFindings(now: Int64) throws -> [CredentialFinding] {
    secret.utf8.count == 6
      ? [.healthy("the secret has six letters")]
      : [.advice("the secret has \(secret.utf8.count) letters", hint: "set \(path).account.secret to one of six")]
  }
}
