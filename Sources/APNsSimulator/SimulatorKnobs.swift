/// The *knobs* of the simulator: settings that can be changed while it runs, by ``Simulator/set(_:)`` or `PUT /knobs`.
/// Each knob is a property here and a member of the JSON object.
public struct SimulatorKnobs: Codable, Equatable, Sendable {
  /// How the simulator answers pushes to a device token that was never loaded.
  public enum UnknownTokens: String, Codable, Sendable {
    /// The token counts as registered for every topic.
    case accept
    /// 400 `BadDeviceToken`.
    case bad
  }

  /// How the simulator answers a push whose topic does not match its push type. Reports about APNs differ.
  public enum MismatchedTopic: String, Codable, Sendable {
    case accept, badTopic, topicDisallowed
  }

  /// The alert with which all client certificates are refused. Clients without a certificate are not affected.
  public enum CertificateAlert: String, Codable, Sendable {
    /// No alert. Certificates that are outside their dates or from other authorities are still refused.
    case none
    /// TLS alert `certificate_expired`.
    case expired
    /// TLS alert `certificate_revoked`.
    case revoked
    /// TLS alert `unknown_ca`.
    case unknownAuthority
  }

  /// The debug data of a GOAWAY. All forms were observed.
  public enum GoAwayForm: String, Codable, Sendable {
    /// `{"reason":"…"}`
    case json
    /// A sentence.
    case text
    /// No data.
    case empty
  }

  /// The body of a rejection.
  public enum BodyForm: String, Codable, Sendable {
    /// `{"reason":"…"}`
    case json
    /// Text that is not JSON.
    case broken
    /// No body: the header block ends the stream.
    case empty
  }

  /// An error that replaces the 200 of a share of the acceptable requests.
  public struct Failure: Codable, Equatable, Sendable {
    /// Share of the acceptable requests that get this error, 0 to 1. The requests are selected evenly, without random
    /// numbers: 0.01 is every hundredth request of an event loop.
    public var share: Double
    /// The status, such as 503.
    public var status: Int
    /// The reason in the body, such as `ServiceUnavailable`, or one that Apple does not define.
    public var reason: String
    /// Prefix of the device tokens that get this error, in lower-case hex; empty for all tokens.
    public var tokenPrefix: String
    /// Topic of the pushes that get this error; empty for all topics.
    public var topic: String
    /// Whether the push still reaches its device, which is possible with a 500.
    public var delivers: Bool

    /// - Parameters:
    ///   - share: 0 to 1.
    ///   - status: such as 503.
    ///   - reason: such as `ServiceUnavailable`.
    ///   - tokenPrefix: the prefix of the device tokens that get this error, in lower-case hex.
    ///   - topic: the topic of the pushes that get this error.
    ///   - delivers: whether the push still reaches its device.
    public init(
      share: Double, status: Int, reason: String, tokenPrefix: String = "", topic: String = "", delivers: Bool = false
    ) {
      self.share = share
      self.status = status
      self.reason = reason
      self.tokenPrefix = tokenPrefix
      self.topic = topic
      self.delivers = delivers
    }

    /// Decodes a failure. The last three fields are optional.
    public init(from decoder: any Decoder) throws {
      let values = try decoder.container(keyedBy: CodingKeys.self)
      share = try values.decode(Double.self, forKey: .share)
      status = try values.decode(Int.self, forKey: .status)
      reason = try values.decode(String.self, forKey: .reason)
      tokenPrefix = try values.decodeIfPresent(String.self, forKey: .tokenPrefix) ?? ""
      topic = try values.decodeIfPresent(String.self, forKey: .topic) ?? ""
      delivers = try values.decodeIfPresent(Bool.self, forKey: .delivers) ?? false
    }
  }

  /// An error that one device token gets a limited number of times.
  public struct TokenFailure: Codable, Equatable, Sendable {
    /// The device token in hex.
    public var token: String
    /// The status, such as 429.
    public var status: Int
    /// The reason in the body, such as `TooManyRequests`.
    public var reason: String
    /// Number of requests that get the error. The next request is accepted if it is valid.
    public var times: Int

    /// - Parameters:
    ///   - token: in hex.
    ///   - status: such as 429.
    ///   - reason: such as `TooManyRequests`.
    ///   - times: number of requests that get the error.
    public init(token: String, status: Int, reason: String, times: Int) {
      self.token = token
      self.status = status
      self.reason = reason
      self.times = times
    }
  }

  /// Delay of every answer, in milliseconds; 0 answers immediately.
  public var latencyMilliseconds = 0
  /// Standard deviation of a random addition to the delay, in milliseconds. With this knob, answers overtake each
  /// other.
  public var latencySpreadMilliseconds = 0
  /// Share of requests, 0 to 1, whose answer stalls.
  public var stallShare = 0.0
  /// Additional delay of a stalled answer, in milliseconds.
  public var stallMilliseconds = 0
  /// Maximum number of answers per second on one connection; 0 for no limit.
  public var answersPerSecond = 0
  /// How the simulator answers pushes to device tokens that were never loaded.
  public var unknownTokens = UnknownTokens.accept
  /// Injected errors. The first one that is due is used.
  public var failures: [Failure] = []
  /// Errors for single device tokens. A new list resets the counts; the same list keeps them.
  public var tokenFailures: [TokenFailure] = []
  /// Each connection gets a GOAWAY (`Shutdown`) after this many requests; 0 for never.
  public var goAwayAfterRequests = 0
  /// Number of the most recently opened streams that every GOAWAY reports as unprocessed. Answered streams are never
  /// among them. Streams whose body is still arriving are really unprocessed. If answers are delayed, the GOAWAY also
  /// reports streams as unprocessed that the simulator has received, like a server that loses its state. The client
  /// then sends these requests again.
  public var goAwayUnprocessed = 0
  /// The debug data of every GOAWAY.
  public var goAwayForm = GoAwayForm.json
  /// The error code of GOAWAYs whose cause does not determine the code, such as 0 (NO_ERROR), 7 (REFUSED_STREAM) or 11
  /// (ENHANCE_YOUR_CALM).
  public var goAwayError: UInt32 = 0
  /// Whether every GOAWAY is sent twice.
  public var repeatsGoAway = false
  /// Seconds after which a connection without requests gets GOAWAY (`IdleTimeout`); 0 for never. Applies to new
  /// connections.
  public var idleSeconds = 0
  /// Seconds after which any connection gets GOAWAY (`Shutdown`); 0 for never. Applies to new connections.
  public var connectionSeconds = 0
  /// Share of connections, 0 to 1, that are reset (TCP RST) immediately after they are accepted.
  public var connectResetShare = 0.0
  /// Maximum number of connections per minute and address. Further connections are reset until the minute ends; 0 for
  /// no limit.
  public var connectsPerMinute = 0
  /// Delay before the server begins the TLS handshake, in milliseconds.
  public var handshakeDelayMilliseconds = 0
  /// Whether the server shows a certificate that no client trusts.
  public var showsUntrustedCertificate = false
  /// Whether the server accepts the client's ALPN offer.
  public var answersALPN = true
  /// Each connection becomes silent after this many requests; 0 for never. The simulator then no longer reads, writes
  /// or closes the connection, like a middlebox that lost its state.
  public var silentAfterRequests = 0
  /// SETTINGS_INITIAL_WINDOW_SIZE of new connections: bytes of body that a stream may send before it must wait.
  public var streamWindow: UInt32 = 65_535
  /// SETTINGS_MAX_FRAME_SIZE of new connections, 16,384 to 16,777,215.
  public var maxFrameSize: UInt32 = 16_384
  /// Whether new connections get credit for received bodies (WINDOW_UPDATE). Without credit, a client can send 65,535
  /// bytes of body on a connection and then waits forever.
  public var grantsWindow = true
  /// Time after the handshake during which nothing is written to a new connection, not even SETTINGS, in milliseconds.
  public var settingsDelayMilliseconds = 0
  /// Whether PINGs are acknowledged. Applies to new connections.
  public var answersPings = true
  /// Whether a connection without streams stays open after GOAWAY until its client closes it.
  public var lingersAfterGoAway = false
  /// The status of an interim answer before every answer: 100, or 102 to 199; 0 for none.
  public var interimStatus = 0
  /// Whether a trailer section follows every answer. Applies to new connections.
  public var sendsTrailers = false
  /// Maximum number of body bytes in one DATA frame; 0 for no limit. Applies to new connections.
  public var bodyPieceBytes = 0
  /// Share of requests, 0 to 1, that are refused before any processing: RST_STREAM with REFUSED_STREAM.
  public var refusedShare = 0.0
  /// Share of requests, 0 to 1, that are processed and get RST_STREAM with INTERNAL_ERROR instead of an answer.
  public var resetShare = 0.0
  /// Share of requests, 0 to 1, that are processed and never answered.
  public var withheldShare = 0.0
  /// Each connection is reset (TCP RST) after this many requests; 0 for never. The last request and all earlier
  /// unanswered requests get no answer.
  public var resetAfterRequests = 0
  /// Each connection is closed without GOAWAY after this many requests; 0 for never. The simulator first sends all
  /// answers that are not delayed.
  public var closeAfterRequests = 0
  /// Maximum number of concurrent streams of every connection, including open ones; 0 for the limits of the
  /// configuration.
  public var streamLimit: UInt32 = 0
  /// Whether a rejection other than 410 sets the connection's stream limit back to 1 until the next acceptance.
  public var limitDropsOnRejection = false
  /// Whether `background` with priority 10 is answered with `BadPriority`. Real APNs is reported to accept it.
  public var rejectsUrgentBackground = false
  /// Whether provider tokens may have DER signatures. Real APNs accepts both forms; the standard defines only raw r‖s.
  public var acceptsDERSignatures = true
  /// Maximum age of a provider token in seconds, and maximum time by which its `iat` may be ahead of the clock.
  public var providerTokenSeconds: Int64 = 3600
  /// Minimum interval in seconds between two changes of the provider token on a connection, except the first change. An
  /// earlier change gets 429 `TooManyProviderTokenUpdates`. 0 for no limit.
  public var tokenUpdateSeconds: Int64 = 1200
  /// Whether connections from one address share the limit of ``tokenUpdateSeconds``. According to reports, APNs does
  /// this for servers that share an address.
  public var limitsTokenUpdatesByAddress = false
  /// Key identifiers whose provider tokens get `InvalidProviderToken`.
  public var revokedKeys: [String] = []
  /// The alert with which client certificates are refused at the handshake.
  public var certificateAlert = CertificateAlert.none
  /// Whether a certificate for the other environment is refused by a GOAWAY after the handshake, as observed at APNs.
  /// If not, each request gets 403, as Apple documents.
  public var refusesCertificateByGoAway = true
  /// How the simulator answers a push whose topic has a suffix that does not match the push type.
  public var mismatchedTopic = MismatchedTopic.topicDisallowed
  /// Number of pushes that one device token may get at the same time; 0 for no limit. Further pushes get 429
  /// `TooManyRequests`.
  public var tokenBurst = 0
  /// Milliseconds after which a device token may get one more push.
  public var tokenRefillMilliseconds = 1000
  /// Number of error points at which a connection gets a GOAWAY and is closed; 0 for never. Each rejection except 410
  /// adds a point; a hundred acceptances remove one.
  public var errorBudget = 0
  /// Number of error points that a `BadDeviceToken` adds.
  public var badTokenPoints = 5
  /// Whether apps may send broadcasts. If not, the answer is 400 `FeatureNotEnabled`.
  public var enablesBroadcast = true
  /// The body of rejections.
  public var bodyForm = BodyForm.json
  /// Whether a 410 contains its timestamp.
  public var reportsTimestamp = true
  /// Whether answers contain `apns-id`.
  public var sendsID = true
  /// Whether `apns-id` is returned in upper case.
  public var raisesID = false
  /// Seconds in the `retry-after` field of 429 and 5xx; 0 for no field, as in APNs.
  public var retryAfterSeconds = 0
  /// Replacement texts of reasons, such as `BadEnvironmentKeyInToken` for `BadEnvironmentKeyIdInToken`.
  public var spellings: [String: String] = [:]
  /// Whether answers contain `apns-unique-id`, as in the development environment.
  public var sendsUniqueID = false
  /// Whether collapse identifiers are stored to count notifications that replace another notification on their device.
  public var tracksCollapse = false
  /// Whether `apns-id`s are stored to count duplicates. Each `apns-id` needs about 25 bytes.
  public var tracksDuplicates = true
  /// Seconds by which the simulator's clock is ahead of the machine's when it checks the age of provider tokens;
  /// negative if it is behind.
  public var clockSkewSeconds: Int64 = 0
  /// The knobs of the FCM side.
  public var fcm = FCMKnobs()

  /// Creates the behaviour of real APNs without delays and faults.
  ///
  /// - Parameter change: changes this behaviour.
  public init(_ change: (inout SimulatorKnobs) -> Void = { _ in }) { change(&self) }
}
