public import PushCore
public import PushTransport

/// Functions of a push service for the command line: settings, lint, pushes by hand, and explanations of answers.
/// ``PushCore/PushService`` has the functions for the worker.
///
/// `CommandSupport/KnownServices` lists the tools of all services of the program.
public protocol PushServiceTools: Sendable {
  /// The service without the settings of an app. It can parse tokens and name reasons.
  var service: any PushService { get }
  /// Ports of the service's own servers, for texts that people read: "443 or 2197".
  var ports: String { get }

  // MARK: Settings

  /// Allowed keys of an app's settings, by section. The name "" means the settings themselves. Any other name, such as
  /// "token", means a section inside them.
  var keys: [String: [String]] { get }

  /// Reads the settings of an app.
  ///
  /// - Parameters:
  ///   - section: the section of the settings. It has only keys of ``keys``, and keys that all services share.
  ///   - resolve: converts a path in the configuration to a path that can be opened.
  /// - Throws: an error for the first wrong key.
  func settings(
    _ section: ConfigurationSection, resolve: (String) -> String
  ) throws(ConfigurationError) -> any PushServiceSettings

  /// Asks for the settings of a new app.
  ///
  /// - Throws: ``ServiceError`` for options that exclude each other, and the errors of `interview`.
  func setUp(_ interview: SetupInterview) throws -> SetupDraft

  // MARK: Lint

  /// Push types for which a payload can be checked; empty for a service without types.
  var pushTypes: [String] { get }
  /// Push type of a push that names no type.
  var defaultPushType: String { get }
  /// All rules, in the order in which `lint --rules` prints them.
  var rules: [PushRule] { get }

  /// Returns whether a file is a whole job, not a payload of this service.
  func isJob(_ root: JSONValue) -> Bool
  /// Returns whether a file is a payload of this service, not a job.
  func isPayload(_ root: JSONValue) -> Bool

  /// Checks a file with a payload, a template or a job.
  ///
  /// - Parameters:
  ///   - bytes: the file.
  ///   - resolved: the job in the file with the content of its templates in place of their names; `nil` if the
  ///     templates were not read.
  ///   - pushType: the push type of a payload, one of ``pushTypes``; `nil` to infer it. A job contains its own push
  ///     type.
  ///   - app: the app of a payload, by its name in `apps`. A job contains its own app.
  ///   - apps: the apps of the configuration.
  ///   - now: UNIX seconds; `nil` omits rules that depend on the time.
  /// - Throws: an error if the file is not JSON.
  func lint(
    _ bytes: [UInt8], resolved: [UInt8]?, as pushType: String?, app: String?, apps: JobApps, now: Int?
  ) throws(JSONSyntaxError) -> PushLint

  // MARK: A push by hand

  /// Returns a composer for a push that a person sends by hand. On the device, the push replaces another push only if
  /// the campaign has a collapse id.
  ///
  /// - Parameter expiration: UNIX seconds; 0 for one attempt at delivery, `nil` for no limit.
  func composer(byHand campaign: Campaign, of service: any PushService, expiration: Int?) -> any PushComposer

  /// Returns a request that shows whether the service accepts an access token for the app, without an effect on a
  /// device; `nil` for a service without such a request.
  func credentialCheck(of service: any PushService, with token: BearerToken) -> HTTPExchange.Request?

  /// Explains an answer.
  func answer(_ response: HTTPExchange.Response) -> ServiceAnswer

  // MARK: Results

  /// Returns the field of results that contains the service's id of each push; `nil` for a service without such ids.
  ///
  /// - Parameter campaign: the campaign's id, without a part.
  func resultID(ofCampaign campaign: String) -> ResultID?
}

extension PushServiceTools {
  public func composer(
    byHand campaign: Campaign, of service: any PushService, expiration: Int?
  ) -> any PushComposer {
    service.composer(for: campaign, expiration: expiration)
  }

  public func credentialCheck(of service: any PushService, with token: BearerToken) -> HTTPExchange.Request? { nil }

  public func resultID(ofCampaign campaign: String) -> ResultID? { nil }
}

/// Field of results with the service's id of a push. Only one thread at a time may use an instance.
public struct ResultID {
  /// Name of the field: `apnsId`.
  public let name: String
  /// Returns the id of the push to a token.
  public let text: (_ token: DeviceToken) -> String

  /// Creates an instance with these values.
  public init(name: String, text: @escaping (_ token: DeviceToken) -> String) {
    (self.name, self.text) = (name, text)
  }
}
