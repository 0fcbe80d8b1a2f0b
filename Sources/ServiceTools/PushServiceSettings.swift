public import PushCore
public import PushTransport

/// Checked settings of an app for one push service. Files that the settings name are read only when they are used.
public protocol PushServiceSettings: Sendable, Equatable {
  // MARK: The service

  /// The service as configured for the app, for checks. If a credential file can't be read, rules that depend on the
  /// credential are not checked.
  var service: any PushService { get }

  /// Returns the service with a credential, for workers.
  func service(with credential: any PushCredential) -> any PushService

  /// Returns the service with this topic, for a push by hand (`carillon send`).
  ///
  /// - Throws: ``ServiceError`` for a service without topics.
  func service(byHand topic: String) throws(ServiceError) -> any PushService

  /// Name of the environment whose devices get pushes, in the form of ``PushCore/PushEnvironment``.
  var environmentName: String { get }

  /// Writes the settings that a list of apps contains, as members of an object.
  func describe(to json: inout JSONWriter)

  // MARK: Addresses

  /// URL of the server for pushes to devices: `https://host:port`.
  var url: String { get }
  /// URL of the server for broadcasts; `nil` if broadcasts use ``url``.
  var broadcastURL: String? { get }

  // MARK: The credential

  /// Identity of the credential. Apps with equal identities can share the credential and its connections.
  var credentialIdentity: AnyHashable { get }
  /// Server that issues the tokens of the credential, for texts that people read; `nil` if the credential needs no such
  /// server.
  var tokenServer: String? { get }
  /// Paths of the files with the credential.
  var credentialFiles: [String] { get }

  /// Reads the credential from its files.
  ///
  /// - Parameter endpoint: the server for pushes. If the service gets its tokens from another server, it also uses the
  ///   trusted certificates and the proxy of this endpoint for that server.
  /// - Throws: ``ServiceError``, or another error that names its file.
  func makeCredential(reaching endpoint: PushEndpoint) throws -> any PushCredential

  /// Checks that a credential fits the app.
  func check(_ credential: any PushCredential) throws(ServiceError)

  /// Reads the files again, and replaces the content of a credential that ``makeCredential(reaching:)`` made.
  ///
  /// - Parameters:
  ///   - credential: the credential, which does not change if this function throws an error.
  ///   - apps: the settings of all apps that share the credential.
  func reload(_ credential: any PushCredential, sharedBy apps: [any PushServiceSettings]) throws

  /// Returns the name and the expiry of a credential; `nil` for a credential that never expires.
  func expiry(of credential: any PushCredential) -> CredentialExpiry?

  /// Reads the files as a worker would, and returns findings about them.
  ///
  /// - Parameter now: UNIX seconds.
  func credentialFindings(now: Int64) throws -> [CredentialFinding]
}

extension PushServiceSettings {
  public var tokenServer: String? { nil }

  public var broadcastURL: String? { nil }
  public func expiry(of credential: any PushCredential) -> CredentialExpiry? { nil }

  /// Returns whether both values are equal settings of the same service.
  fileprivate func isEqual(to other: any PushServiceSettings) -> Bool { (other as? Self) == self }
}

/// A push service with the settings of an app.
public struct ConfiguredService: Sendable, Equatable {
  /// The tools of the service.
  public let tools: any PushServiceTools
  /// The settings of the app.
  public var settings: any PushServiceSettings

  /// Creates an instance with these values.
  public init(_ tools: any PushServiceTools, _ settings: any PushServiceSettings) {
    (self.tools, self.settings) = (tools, settings)
  }

  public static func == (left: ConfiguredService, right: ConfiguredService) -> Bool {
    left.settings.isEqual(to: right.settings)
  }
}

/// End of the validity of a credential.
public struct CredentialExpiry: Sendable, Equatable {
  /// Name of the credential, for texts that people read.
  public let name: String
  /// Last second of the validity, in UNIX seconds.
  public let end: Int64

  /// Creates an instance with these values.
  public init(name: String, end: Int64) { (self.name, self.end) = (name, end) }
}

/// Finding about a credential, for the command `doctor`.
public enum CredentialFinding: Sendable, Equatable {
  /// The credential has no problem.
  case healthy(String)
  /// The credential can be read, but it may be the wrong one.
  case advice(String, hint: String)
  /// The credential does not work, or will soon stop working.
  case problem(String, hint: String)
}
