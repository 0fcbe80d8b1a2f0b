public import PushCore
public import PushTransport

/// The settings of an app for one push service, read and checked. Files that the settings name are read when they are used.
public protocol PushServiceSettings: Sendable, Equatable {
  // MARK: The service

  /// The service as configured for the app, for checks. If a file of the credential can't be read, what depends on it is not
  /// checked.
  var service: any PushService { get }

  /// The service with a credential, for workers.
  func service(with credential: any PushCredential) -> any PushService

  /// The service for a push by hand with this topic.
  ///
  /// - Throws: ``ServiceError`` for a service without topics.
  func service(byHand topic: String) throws(ServiceError) -> any PushService

  /// The environment whose devices get pushes, as ``PushCore/PushEnvironment`` names it.
  var environmentName: String { get }

  /// Writes what a list of apps shows, as members of an object.
  func describe(to json: inout JSONWriter)

  // MARK: Addresses

  /// The server of pushes to devices: `https://host:port`.
  var url: String { get }
  /// The server of broadcasts; `nil` for ``url``.
  var broadcastURL: String? { get }

  // MARK: The credential

  /// Equal for apps that can share a credential, and its connections.
  var credentialIdentity: AnyHashable { get }
  /// The files that the credential is read from.
  var credentialFiles: [String] { get }

  /// Reads the credential from its files.
  ///
  /// - Throws: ``ServiceError``, or another error that names its file.
  func makeCredential() throws -> any PushCredential

  /// Checks that a credential fits the app.
  func check(_ credential: any PushCredential) throws(ServiceError)

  /// Reads the files again, and puts what they have into a credential that ``makeCredential()`` made.
  ///
  /// - Parameters:
  ///   - credential: keeps what it has if this throws.
  ///   - apps: the settings of all apps that share the credential.
  func reload(_ credential: any PushCredential, sharedBy apps: [any PushServiceSettings]) throws

  /// A credential's name and its end; `nil` for a credential that never expires.
  func expiry(of credential: any PushCredential) -> CredentialExpiry?

  /// Reads the files as a worker would, and says what is to know of them.
  ///
  /// - Parameter now: UNIX seconds.
  func credentialFindings(now: Int64) throws -> [CredentialFinding]
}

extension PushServiceSettings {
  public var broadcastURL: String? { nil }
  public func expiry(of credential: any PushCredential) -> CredentialExpiry? { nil }

  /// Whether these are the same settings of the same service.
  fileprivate func isEqual(to other: any PushServiceSettings) -> Bool { (other as? Self) == self }
}

/// A push service with the settings of an app.
public struct ConfiguredService: Sendable, Equatable {
  /// The tools of the service.
  public let tools: any PushServiceTools
  /// The settings of the app.
  public var settings: any PushServiceSettings

  /// Memberwise.
  public init(_ tools: any PushServiceTools, _ settings: any PushServiceSettings) {
    (self.tools, self.settings) = (tools, settings)
  }

  public static func == (left: ConfiguredService, right: ConfiguredService) -> Bool {
    left.settings.isEqual(to: right.settings)
  }
}

/// The end of a credential.
public struct CredentialExpiry: Sendable, Equatable {
  /// The name of the credential, for messages.
  public let name: String
  /// The last valid second, in UNIX time.
  public let end: Int64

  /// Memberwise.
  public init(name: String, end: Int64) { (self.name, self.end) = (name, end) }
}

/// A fact about a credential, for `doctor`.
public enum CredentialFinding: Sendable, Equatable {
  /// The credential is as it should be.
  case well(String)
  /// The credential works, and may be wrong.
  case advice(String, cure: String)
  /// The credential does not work, or will not for long.
  case problem(String, cure: String)
}
