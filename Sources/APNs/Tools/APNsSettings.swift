public import PushCore
public import PushTransport
public import ServiceTools
internal import TLS

/// The settings of an app for APNs.
public struct APNsSettings: PushServiceSettings {
  /// The source of the credential.
  public enum Credential: Sendable, Hashable {
    case token(Token)
    case certificate(Certificate)
  }

  /// A signing key, and the ids of its tokens.
  public struct Token: Sendable, Hashable {
    /// The `.p8` file.
    public var keyFile: String
    /// Ten letters and digits.
    public var keyID: String
    /// Ten letters and digits.
    public var teamID: String

    /// Memberwise.
    public init(keyFile: String, keyID: String, teamID: String) {
      (self.keyFile, self.keyID, self.teamID) = (keyFile, keyID, teamID)
    }
  }

  /// A push certificate.
  public struct Certificate: Sendable, Hashable {
    /// PKCS#12, or PEM with certificate and key.
    public var file: String
    /// A file whose first line is the passphrase.
    public var passphraseFile: String?

    /// Memberwise.
    public init(file: String, passphraseFile: String? = nil) {
      (self.file, self.passphraseFile) = (file, passphraseFile)
    }
  }

  /// The keys that lead to the settings, for messages: `apps.news`.
  public var path: String
  /// The bundle id; push types add their suffix.
  public var topic: String
  /// The environment of the tokens.
  public var environment: PushEnvironment
  /// The source of the credential.
  public var credential: Credential
  /// A server in the place of Apple's: the simulator, or a proxy.
  public var endpoint: EndpointAddress?
  /// A server in the place of ``endpoint`` for broadcasts.
  public var broadcastEndpoint: EndpointAddress?
  /// A server in the place of ``endpoint`` for channel management.
  public var channelEndpoint: EndpointAddress?
  /// The port of Apple's server: 443 or 2197.
  public var port: Int

  /// Memberwise.
  public init(
    path: String, topic: String, environment: PushEnvironment = .production, credential: Credential,
    endpoint: EndpointAddress? = nil, broadcastEndpoint: EndpointAddress? = nil,
    channelEndpoint: EndpointAddress? = nil, port: Int = 443
  ) {
    self.path = path
    self.topic = topic
    self.environment = environment
    self.credential = credential
    self.endpoint = endpoint
    self.broadcastEndpoint = broadcastEndpoint
    self.channelEndpoint = channelEndpoint
    self.port = port
  }

  // MARK: The service

  public var service: any PushService { APNsService(traits) }

  public func service(with credential: any PushCredential) -> any PushService {
    let authentication = (credential as? ClientCertificate).map { AppTraits.Authentication.client($0) }
    return APNsService(AppTraits(topic: topic, authentication: authentication ?? .token))
  }

  public func service(byHand topic: String) -> any PushService {
    var traits = traits
    traits.topic = topic
    traits.isTopicExact = true
    return APNsService(traits)
  }

  /// What the rules have to know of the app.
  ///
  /// A certificate that can't be read here, as on the machine of a producer who has none, leaves its topics to the workers,
  /// which don't start without it.
  private var traits: AppTraits {
    guard case .certificate(let certificate) = credential else { return AppTraits(topic: topic) }
    let facts = (try? identity(certificate)).flatMap { try? CertificateFacts(pem: $0.certificateChainPEM) }
    let topics = facts.map { Set(PushCertificate($0).topics) } ?? []
    return AppTraits(topic: topic, authentication: .certificate(topics: topics))
  }

  public var environmentName: String { environment.rawValue }

  public func describe(to json: inout JSONWriter) {
    json.member("topic", topic)
    json.member("environment", environment.rawValue)
  }

  // MARK: Addresses

  public var url: String {
    if let endpoint { return endpoint.url }
    return (environment == .production ? PushEndpoint.production(port: port) : .sandbox(port: port)).url
  }

  public var broadcastURL: String? { broadcastEndpoint?.url }

  /// The server of channel management. Apple's has ports of its own.
  public var channelURL: String {
    if let other = channelEndpoint ?? endpoint { return other.url }
    return environment == .production
      ? "https://api-manage-broadcast.push.apple.com:2196" : "https://api-manage-broadcast.sandbox.push.apple.com:2195"
  }

  // MARK: The other environment

  /// Returns these settings for the other environment.
  ///
  /// - Parameter endpoint: the server of that environment; `nil` for Apple's.
  /// - Throws: if the credential is not for that environment, or its server is not known.
  public func inOtherEnvironment(at endpoint: EndpointAddress?) throws -> APNsSettings {
    let other = environment.other
    let credential = try makeCredential()
    try check(credential)
    if let certificate = (credential as? ClientCertificate)?.certificate,
      !certificate.covers(PushCertificate.Environment(other))
    {
      throw ServiceError(
        .configuration, "\(path).certificate: “\(certificate.name)” is for \(environment.rawValue) only",
        hint: "the \(other.rawValue) can be asked with a signing key, or with a certificate of the kind “Sandbox & "
          + "Production”")
    }
    guard self.endpoint == nil || endpoint != nil else {
      throw ServiceError(
        .usage, "\(path).endpoint is set: where the \(other.rawValue) is can't be told from it",
        hint: "give its address with --endpoint https://HOST:PORT")
    }
    var settings = self
    settings.environment = other
    settings.endpoint = endpoint
    return settings
  }
}

extension PushEnvironment {
  /// The environment that this one is mistaken for.
  public var other: PushEnvironment { self == .production ? .sandbox : .production }
}

extension PushCertificate.Environment {
  init(_ environment: PushEnvironment) {
    switch environment {
    case .production: self = .production
    case .sandbox: self = .sandbox
    }
  }
}
