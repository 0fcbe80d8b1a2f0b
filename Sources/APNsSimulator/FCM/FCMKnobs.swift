/// Settings of the FCM side that can be changed while the simulator runs: the member `fcm` of ``SimulatorKnobs``.
///
/// The type has many properties because each fault has a separate knob.
public struct FCMKnobs: Codable, Equatable, Sendable, ExchangeKnobs {
  /// How the simulator answers messages to a registration token or installation id that was never loaded.
  public enum UnknownTokens: String, Codable, Sendable {
    /// The token is registered in every project.
    case accept
    /// 404 `UNREGISTERED`.
    case unregistered
    /// 400 `INVALID_ARGUMENT` that names the token.
    case malformed
  }

  /// The body of an answer.
  public enum BodyForm: String, Codable, Sendable {
    /// JSON, as in FCM's own answers.
    case json
    /// HTML.
    case html
    /// No body.
    case empty
    /// The first half of the JSON.
    case cut
  }

  /// An answer that replaces the 200 of a share of the acceptable requests.
  public struct Failure: Codable, Equatable, Sendable {
    /// The kinds of answers.
    public enum Kind: String, Codable, CaseIterable, Sendable {
      case unregistered, malformedToken, invalidArgument, senderMismatch, thirdPartyAuth, permissionDenied
      case accessTokenExpired, accessTokenInvalid, projectQuota, deviceQuota
      /// 404 without an error code of FCM.
      case unknownProject
      /// 409 with an error code that Google's documentation does not list.
      case unlisted
      /// 500 with the error code INTERNAL.
      case `internal`
      /// 502 with HTML.
      case badGateway
      /// 503 with the error code UNAVAILABLE.
      case unavailable
    }

    /// Share of the acceptable requests that get this answer, 0 to 1. The requests are selected evenly, without random
    /// numbers: 0.01 is every hundredth request of an event loop.
    public var share: Double
    public var kind: Kind
    /// Value of `retry-after` in seconds; 0 for no header.
    public var retryAfterSeconds: Int
    /// Whether `retry-after` is an HTTP date instead of seconds.
    public var retryAfterIsDate: Bool
    /// Whether the message is delivered despite the error.
    public var delivers: Bool
    /// Prefix of the targets that get this answer; empty for all targets.
    public var tokenPrefix: String

    /// - Parameters:
    ///   - share: 0 to 1.
    ///   - kind: the answer.
    ///   - retryAfterSeconds: 0 for no header `retry-after`.
    ///   - retryAfterIsDate: whether the header is an HTTP date.
    ///   - delivers: whether the message is delivered despite the error.
    ///   - tokenPrefix: the prefix of the targets that get this answer.
    public init(
      share: Double, kind: Kind, retryAfterSeconds: Int = 0, retryAfterIsDate: Bool = false, delivers: Bool = false,
      tokenPrefix: String = ""
    ) {
      self.share = share
      self.kind = kind
      self.retryAfterSeconds = retryAfterSeconds
      self.retryAfterIsDate = retryAfterIsDate
      self.delivers = delivers
      self.tokenPrefix = tokenPrefix
    }

    /// All members except `share` and `kind` are optional.
    public init(from decoder: any Decoder) throws {
      let values = try decoder.container(keyedBy: CodingKeys.self)
      share = try values.decode(Double.self, forKey: .share)
      kind = try values.decode(Kind.self, forKey: .kind)
      retryAfterSeconds = try values.decodeIfPresent(Int.self, forKey: .retryAfterSeconds) ?? 0
      retryAfterIsDate = try values.decodeIfPresent(Bool.self, forKey: .retryAfterIsDate) ?? false
      delivers = try values.decodeIfPresent(Bool.self, forKey: .delivers) ?? false
      tokenPrefix = try values.decodeIfPresent(String.self, forKey: .tokenPrefix) ?? ""
    }
  }

  // MARK: Answers

  public var unknownTokens = UnknownTokens.accept
  /// Injected answers. The first one that is due is used.
  public var failures: [Failure] = []
  /// The body of errors.
  public var errorBodyForm = BodyForm.json
  /// The body of acceptances.
  public var acceptedBodyForm = BodyForm.json
  /// Whether the order of an error's `details` is reversed.
  public var reversesDetails = false
  /// Whether errors have no `details`.
  public var omitsDetails = false
  /// Whether errors have the texts of earlier years, such as `NotRegistered`.
  public var usesOldTexts = false
  /// Whether the API is disabled in every project: 403 `SERVICE_DISABLED`.
  public var isDisabled = false
  /// Limit of a message in bytes: keys and values of the data, and texts of the notification.
  public var messageBytes = 4096

  // MARK: Quotas

  /// Maximum number of messages of a project in a minute; 0 for no limit. The minute begins with the project's first
  /// request.
  public var messagesPerMinute = 600_000
  /// Length of the period of ``messagesPerMinute``, in seconds. Tests use a period that is shorter than a minute.
  public var quotaSeconds = 60
  /// Value of `retry-after` in a 429 of the project, in seconds; 0 for no header.
  public var quotaRetryAfterSeconds = 0
  /// Maximum number of messages to a device in a minute; 0 for no limit.
  public var deviceMessagesPerMinute = 240
  /// Maximum number of messages to a device in an hour; 0 for no limit.
  public var deviceMessagesPerHour = 5000

  // MARK: Time

  public var latencyMilliseconds = 0
  public var latencySpreadMilliseconds = 0
  public var stallShare = 0.0
  public var stallMilliseconds = 0

  // MARK: Streams and connections

  /// Maximum number of concurrent streams of new connections. A client that opens one more stream loses the connection.
  public var streamLimit: UInt32 = 100
  /// Share of requests that are refused before any processing: RST_STREAM with REFUSED_STREAM.
  public var refusedShare = 0.0
  /// Share of requests that are processed and get RST_STREAM with INTERNAL_ERROR instead of an answer.
  public var resetShare = 0.0
  /// Share of requests that are processed and never answered.
  public var withheldShare = 0.0
  /// Number of the request on each connection that gets a TCP RST instead of an answer; 0 for none.
  public var resetAfterRequests = 0
  /// Number of requests after which each connection is closed without GOAWAY; 0 for never.
  public var closeAfterRequests = 0
  /// Number of the request on each connection from which the simulator stays silent: it answers nothing more and keeps
  /// the connection open; 0 for none.
  public var silentAfterRequests = 0
  /// Each connection gets a GOAWAY after this many requests; 0 for never.
  public var goAwayAfterRequests = 0
  /// Number of the most recently opened streams that the GOAWAY of ``goAwayAfterRequests`` reports as unprocessed.
  /// Answered streams are never among them.
  public var goAwayUnprocessed = 0
  /// Age in seconds at which a connection gets GOAWAY (NO_ERROR); 0 for never. Applies to new connections.
  public var connectionSeconds = 3600
  /// Number of PINGs without a request in between after which a connection gets GOAWAY (ENHANCE_YOUR_CALM); 0 for
  /// never.
  public var mostPings = 3
  /// Whether connections to the port of FCM are reset.
  public var isDown = false

  // MARK: Token endpoint

  /// `expires_in` of new access tokens, in seconds.
  public var accessTokenSeconds = 3599
  /// Seconds by which Google's clock is ahead of this machine's; negative if it is behind.
  public var clockSkewSeconds = 0
  /// Identifiers of keys whose assertions get `invalid_grant`.
  public var revokedKeys: [String] = []
  /// E-mail addresses of service accounts that count as deleted: their assertions get `invalid_grant`.
  public var deletedAccounts: [String] = []
  /// Whether connections to the port of the token endpoint are reset.
  public var tokenEndpointIsDown = false
  /// Status of every answer of the token endpoint, such as 503; 0 for the usual status.
  public var tokenEndpointStatus = 0
  /// Delay of the token endpoint's answers, in milliseconds.
  public var tokenEndpointMilliseconds = 0

  // MARK: Counting

  /// Whether deliveries are stored for each device.
  public var tracksDeliveries = true
  /// Data key whose value identifies a message for the count of duplicates. If a message does not have this key, the
  /// `tag` of its notification identifies it.
  public var duplicateKey = ""

  /// Creates the behaviour of real FCM without delays and faults.
  ///
  /// - Parameter change: changes this behaviour.
  public init(_ change: (inout FCMKnobs) -> Void = { _ in }) { change(&self) }

  /// The first value that is out of its range, as text; `nil` if there is none.
  var problem: String? {
    let delays = [
      "latencyMilliseconds": latencyMilliseconds, "latencySpreadMilliseconds": latencySpreadMilliseconds,
      "stallMilliseconds": stallMilliseconds, "tokenEndpointMilliseconds": tokenEndpointMilliseconds,
    ]
    for (name, delay) in delays where !(0...3_600_000).contains(delay) { return "fcm.\(name) goes from 0 to 3600000" }
    let shares = failures.map(\.share) + [stallShare, refusedShare, resetShare, withheldShare]
    guard shares.allSatisfy({ (0...1).contains($0) }) else { return "a share goes from 0 to 1" }
    let counts = [
      "messagesPerMinute": messagesPerMinute, "quotaRetryAfterSeconds": quotaRetryAfterSeconds,
      "deviceMessagesPerMinute": deviceMessagesPerMinute, "deviceMessagesPerHour": deviceMessagesPerHour,
      "resetAfterRequests": resetAfterRequests, "closeAfterRequests": closeAfterRequests,
      "silentAfterRequests": silentAfterRequests, "goAwayAfterRequests": goAwayAfterRequests,
      "goAwayUnprocessed": goAwayUnprocessed, "connectionSeconds": connectionSeconds, "mostPings": mostPings,
      "messageBytes": messageBytes, "accessTokenSeconds": accessTokenSeconds, "streamLimit": Int(streamLimit),
    ]
    for (name, count) in counts where !(0...1_000_000_000).contains(count) {
      return "fcm.\(name) goes from 0 to a billion"
    }
    guard (1...86_400).contains(quotaSeconds) else { return "fcm.quotaSeconds goes from 1 to 86400" }
    // Ten years are enough for every test of clocks, and no sum with the present time overflows.
    guard (-315_360_000...315_360_000).contains(clockSkewSeconds) else {
      return "fcm.clockSkewSeconds goes from -315360000 to 315360000"
    }
    guard tokenEndpointStatus == 0 || (400...599).contains(tokenEndpointStatus) else {
      return "fcm.tokenEndpointStatus is 0, or goes from 400 to 599"
    }
    return nil
  }
}
