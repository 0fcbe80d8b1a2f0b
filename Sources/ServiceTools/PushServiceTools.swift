public import PushCore
public import PushTransport

/// The interface between the command line and a push service: settings, lint, a push by hand, the meaning of an answer.
/// ``PushCore/PushService`` is the same for the worker.
///
/// `CommandSupport/KnownServices` lists the tools of all services of the program.
public protocol PushServiceTools: Sendable {
  /// The service without an app: it reads tokens and names reasons.
  var service: any PushService { get }
  /// The ports of the service's own servers, for messages: "443 or 2197".
  var ports: String { get }

  // MARK: Settings

  /// The keys of an app's settings, by section: "" is the section of the settings, "token" a section in it.
  var keys: [String: [String]] { get }

  /// Reads the settings of an app.
  ///
  /// - Parameters:
  ///   - section: has only keys of ``keys``, and those that all services share.
  ///   - resolve: makes a path of the file one that can be opened.
  /// - Throws: the first key that is wrong.
  func settings(
    _ section: ConfigurationSection, resolve: (String) -> String
  ) throws(ConfigurationError) -> any PushServiceSettings

  /// Asks for the settings of a new app.
  ///
  /// - Throws: ``ServiceError`` for options that exclude each other, and what `interview` throws.
  func setUp(_ interview: SetupInterview) throws -> SetupDraft

  // MARK: Lint

  /// The push types that a payload can be checked as; none for a service without types.
  var pushTypes: [String] { get }
  /// The push type of a push that names none.
  var defaultPushType: String { get }
  /// Every rule, in the order in which `lint --rules` prints them.
  var rules: [PushRule] { get }

  /// Whether a file is a whole job rather than a payload of this service.
  func isJob(_ root: JSONValue) -> Bool
  /// Whether a file is a payload of this service and no job.
  func isPayload(_ root: JSONValue) -> Bool

  /// Checks a file with a payload, a template or a job.
  ///
  /// - Parameters:
  ///   - bytes: the file.
  ///   - resolved: a job with the content of the templates that it names; `nil` if nobody looked them up.
  ///   - pushType: the push type of a payload, one of ``pushTypes``; `nil` infers it. A job names its own.
  ///   - app: the app of a payload, by its name in `apps`. A job names its own.
  ///   - apps: the apps of the configuration.
  ///   - now: UNIX seconds; `nil` leaves out what depends on the time.
  /// - Throws: when the file is no JSON.
  func lint(
    _ bytes: [UInt8], resolved: [UInt8]?, as pushType: String?, app: String?, apps: JobApps, now: Int?
  ) throws(JSONSyntaxError) -> PushLint

  // MARK: A push by hand

  /// Makes a push that somebody sends by hand. It replaces no other push unless the campaign says so.
  ///
  /// - Parameter expiration: UNIX seconds; 0 for one attempt at delivery, `nil` for no limit.
  func composer(byHand campaign: Campaign, of service: any PushService, expiration: Int?) -> any PushComposer

  /// Explains an answer.
  func answer(_ response: HTTPExchange.Response) -> ServiceAnswer

  // MARK: Results

  /// The service's id of each push, as a field of results; `nil` for a service without such ids.
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

  public func resultID(ofCampaign campaign: String) -> ResultID? { nil }
}

/// A field of results with the service's id of a push. Confined to one thread.
public struct ResultID {
  /// The name of the field: `apnsId`.
  public let name: String
  /// Returns the id of the push to a token.
  public let text: (_ token: DeviceToken) -> String

  /// Memberwise.
  public init(name: String, text: @escaping (_ token: DeviceToken) -> String) {
    (self.name, self.text) = (name, text)
  }
}
