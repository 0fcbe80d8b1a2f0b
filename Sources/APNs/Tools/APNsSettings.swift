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

  /// A signing key and the ids in its tokens.
  public struct Token: Sendable, Hashable {
    /// The `.p8` file.
    public var keyFile: String
    /// Id of the key: ten letters and digits.
    public var keyID: String
    /// Id of the team: ten letters and digits.
    public var teamID: String

    /// Creates an instance with these values.
    public init(keyFile: String, keyID: String, teamID: String) {
      (self.keyFile, self.keyID, self.teamID) = (keyFile, keyID, teamID)
    }
  }

  /// A push certificate.
  public struct Certificate: Sendable, Hashable {
    /// File with certificate and key: PKCS#12 or PEM.
    public var file: String
    /// File whose first line is the passphrase.
    public var passphraseFile: String?

    /// Creates an instance with these values.
    public init(file: String, passphraseFile: String? = nil) {
      (self.file, self.passphraseFile) = (file, passphraseFile)
    }
  }

  /// Path of the settings in the configuration, for error messages: `apps.news`.
  public var path: String
  /// The bundle id. Push types add their suffix.
  public var topic: String
  /// The environment of the tokens.
  public var environment: PushEnvironment
  /// The source of the credential.
  public var credential: Credential
  /// A server used instead of Apple's: the simulator or a proxy.
  public var endpoint: EndpointAddress?
  /// A server for broadcasts, used instead of ``endpoint``.
  public var broadcastEndpoint: EndpointAddress?
  /// A server for channel management, used instead of ``endpoint``.
  public var channelEndpoint: EndpointAddress?
  /// Port of Apple's server: 443 or 2197.
  public var port: Int

  /// Creates an instance with these values.
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

  /// Facts about the app that the rules need.
  ///
  /// The certificate may be unreadable, for example because this machine belongs to a producer and has no certificate.
  /// In that case, only the workers check the topics. Workers don't start without the certificate.
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

  /// URL of the server for channel management. Apple's server uses other ports than for pushes.
  public var channelURL: String {
    if let other = channelEndpoint ?? endpoint { return other.url }
    return environment == .production
      ? "https://api-manage-broadcast.push.apple.com:2196" : "https://api-manage-broadcast.sandbox.push.apple.com:2195"
  }

  // MARK: The other environment

  /// Returns these settings for the other environment.
  ///
  /// - Parameter endpoint: the server of that environment; `nil` for Apple's.
  /// - Throws: an error if the credential is not valid in that environment, or the server of that environment is not
  ///   known.
  public func inOtherEnvironment(at endpoint: EndpointAddress?) throws -> APNsSettings {
    let other = environment.other
    let credential = try makeCredential()
    try check(credential)
    if let certificate = (credential as? ClientCertificate)?.certificate,
      !certificate.covers(PushCertificate.Environment(other))
    {
      throw ServiceError(
        .configuration, "\(path).certificate: “\(certificate.name)” is for \(environment.rawValue) only",
        hint: "use a signing key, or a certificate of the kind “Sandbox & Production”")
    }
    guard self.endpoint == nil || endpoint != nil else {
      throw ServiceError(
        .usage, "\(path).endpoint is set, so the address of the \(other.rawValue) is unknown",
        hint: "set the address with --endpoint https://HOST:PORT")
    }
    var settings = self
    settings.environment = other
    settings.endpoint = endpoint
    return settings
  }
}

extension PushEnvironment {
  /// The other environment: sandbox for production, production for sandbox.
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
