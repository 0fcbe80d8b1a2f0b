public import PushCore
public import PushTransport
public import ServiceTools
internal import TLS

/// The settings of an app for FCM.
public struct FCMSettings: PushServiceSettings {
  /// The source of the credential.
  public enum Credential: Sendable, Hashable {
    /// JSON key file of a service account.
    case serviceAccount(file: String)
    /// Metadata server of Google Cloud.
    case metadataServer
  }

  /// Path of the settings in the configuration, for error messages: `apps.news`.
  public var path: String
  /// The source of the credential.
  public var credential: Credential
  /// Id of the Firebase project; `nil` for the project of the service account.
  public var project: String?
  /// A server used instead of Google's: the simulator or a proxy.
  public var endpoint: EndpointAddress?

  /// URL of Google's server. Source: the discovery document of `fcm:v1`.
  private static let server = "https://fcm.googleapis.com:443"

  /// Creates an instance with these values.
  public init(path: String, credential: Credential, project: String? = nil, endpoint: EndpointAddress? = nil) {
    self.path = path
    self.credential = credential
    self.project = project
    self.endpoint = endpoint
  }

  // MARK: The service

  /// The service of the app. The project may be unknown if the key file can't be read, for example on the machine of a
  /// producer. The rules don't need the project.
  public var service: any PushService { FCMService(project: project ?? (try? account())?.projectID) }

  public func service(with credential: any PushCredential) -> any PushService { service }

  public func service(byHand topic: String) throws(ServiceError) -> any PushService {
    throw ServiceError(.usage, "--topic: an app of FCM has no topic", hint: "omit it, or choose another --app")
  }

  /// Always `production`, because FCM has only one environment.
  public var environmentName: String { PushEnvironment.production.rawValue }

  public func describe(to json: inout JSONWriter) {
    json.member("project", (service as? FCMService)?.project)
  }

  public var url: String { endpoint?.url ?? Self.server }

  // MARK: The credential

  /// Identity of the credential. It includes the project, because FCM's refusal of one project must not stop the pushes
  /// to another.
  public var credentialIdentity: AnyHashable { [AnyHashable(credential), AnyHashable(project), AnyHashable(url)] }

  public var tokenServer: String? {
    guard case .serviceAccount = credential else { return "the metadata server" }
    return (try? account())?.tokenURI
  }

  public var credentialFiles: [String] {
    switch credential {
    case .serviceAccount(let file): [file]
    case .metadataServer: []
    }
  }

  public func makeCredential(reaching endpoint: PushEndpoint) throws -> any PushCredential {
    guard let account = try account() else { return AccessTokenSource(metadataServer: MetadataServer()) }
    return AccessTokenSource(account: account, trustRoots: endpoint.trustRoots, proxy: endpoint.proxy)
  }

  /// Accepts every credential: an account may send to several projects, and only FCM knows which ones.
  public func check(_ credential: any PushCredential) throws(ServiceError) {}

  public func reload(_ credential: any PushCredential, sharedBy apps: [any PushServiceSettings]) throws {
    guard let source = credential as? AccessTokenSource, let account = try account() else { return }
    // Without `project` in the configuration, the workers send to the project in the key file that they read when they
    // started.
    if project == nil, let present = source.projectID, present != account.projectID {
      throw ServiceError(
        .configuration,
        "\(path).serviceAccountFile: the key belongs to project \(account.projectID), and the workers send to "
          + present,
        hint: "use a key of \(present), or set \(path).project, or restart the workers to send to \(account.projectID)")
    }
    source.replace(account: account)
  }

  public func credentialFindings(now: Int64) throws -> [CredentialFinding] {
    guard let account = try account() else {
      return [.healthy("access tokens come from the metadata server of Google Cloud")]
    }
    let name = "service account \(account.clientEmail)"
    guard let project, project != account.projectID else {
      return [.healthy("\(name) of project \(account.projectID) can be read")]
    }
    return [
      .advice(
        "\(name) belongs to project \(account.projectID), and \(path).project is \(project)",
        hint: "give the account the role “Firebase Cloud Messaging API Admin” in \(project), or remove \(path).project")
    ]
  }

  /// Reads the service account; `nil` if the credential is not a service account.
  private func account() throws(ServiceError) -> ServiceAccount? {
    guard case .serviceAccount(let file) = credential else { return nil }
    do throws(ServiceAccountError) {
      return try ServiceAccount(contentsOf: file)
    } catch {
      throw ServiceError(
        .configuration, "\(path).serviceAccountFile: \(error.file): \(error.reason)", hint: error.hint)
    }
  }
}
