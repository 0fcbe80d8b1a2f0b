/// What can be changed while the simulator runs, by ``Simulator/set(_:)`` or `PUT /knobs`: a property for each knob, flat
/// as they are written.
public struct SimulatorKnobs: Codable, Equatable, Sendable {
  /// What becomes of a token that was never loaded.
  public enum UnknownTokens: String, Codable, Sendable {
    /// It counts as registered for every topic.
    case accept
    /// 400 `BadDeviceToken`.
    case bad
  }

  /// What becomes of a topic that doesn't go with the push type, about which reports differ.
  public enum MismatchedTopic: String, Codable, Sendable {
    case accept, badTopic, topicDisallowed
  }

  /// How every client certificate is refused, whatever it says; clients without one don't notice.
  public enum CertificateAlert: String, Codable, Sendable {
    /// Not at all; those beyond their dates or of other authorities are refused all the same.
    case none
    /// TLS alert `certificate_expired`.
    case expired
    /// TLS alert `certificate_revoked`.
    case revoked
    /// TLS alert `unknown_ca`.
    case unknownAuthority
  }

  /// What GOAWAY says besides its code, as each was seen.
  public enum GoAwayForm: String, Codable, Sendable {
    /// `{"reason":"…"}`
    case json
    /// A sentence.
    case text
    /// Nothing.
    case empty
  }

  /// What is in the body of a rejection.
  public enum BodyForm: String, Codable, Sendable {
    /// `{"reason":"…"}`
    case json
    /// Text that is no JSON.
    case broken
    /// Nothing: the header block ends the stream.
    case empty
  }

  /// An error answered instead of 200 to a share of the requests that would have been accepted.
  public struct Failure: Codable, Equatable, Sendable {
    /// 0 to 1; spread evenly, without chance: 0.01 is every hundredth request of an event loop.
    public var share: Double
    /// The status, such as 503.
    public var status: Int
    /// The reason in the body, such as `ServiceUnavailable`, or one that Apple doesn't know.
    public var reason: String
    /// Only for device tokens that begin so, in lower-case hex; empty for all.
    public var tokenPrefix: String
    /// Only for this topic; empty for all.
    public var topic: String
    /// Whether the push reaches its device all the same, as a 500 may.
    public var delivers: Bool

    /// - Parameters:
    ///   - share: 0 to 1.
    ///   - status: such as 503.
    ///   - reason: such as `ServiceUnavailable`.
    ///   - tokenPrefix: only for device tokens that begin so, in lower-case hex.
    ///   - topic: only for this topic.
    ///   - delivers: whether the push reaches its device all the same.
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

    /// The last three may be left out.
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

  /// An error answered to one device token, some times.
  public struct TokenFailure: Codable, Equatable, Sendable {
    /// In hex.
    public var token: String
    /// The status, such as 429.
    public var status: Int
    /// The reason in the body, such as `TooManyRequests`.
    public var reason: String
    /// How many of its requests get it; the next is accepted, if there is nothing else against it.
    public var times: Int

    /// - Parameters:
    ///   - token: in hex.
    ///   - status: such as 429.
    ///   - reason: such as `TooManyRequests`.
    ///   - times: how many requests get it.
    public init(token: String, status: Int, reason: String, times: Int) {
      self.token = token
      self.status = status
      self.reason = reason
      self.times = times
    }
  }

  /// How long every answer waits, in milliseconds; 0 answers at once.
  public var latencyMilliseconds = 0
  /// The standard deviation of what is added to that, in milliseconds; answers then overtake each other.
  public var latencySpreadMilliseconds = 0
  /// The share of requests, 0 to 1, whose answer stalls.
  public var stallShare = 0.0
  /// How much longer a stalled answer waits, in milliseconds.
  public var stallMilliseconds = 0
  /// Answers that one connection gives in a second; 0 doesn't limit them.
  public var answersPerSecond = 0
  /// What becomes of tokens that were never loaded.
  public var unknownTokens = UnknownTokens.accept
  /// Injected errors; the first that is due is taken.
  public var failures: [Failure] = []
  /// Errors answered to single device tokens. A new list begins anew; the same one goes on.
  public var tokenFailures: [TokenFailure] = []
  /// Each connection gets a GOAWAY (`Shutdown`) after this many requests; 0 never.
  public var goAwayAfterRequests = 0
  /// How many of the streams that were opened last every GOAWAY calls unprocessed, none that was answered among them.
  /// Those whose body is still on its way are not received then, and it is the truth. With a latency there are others,
  /// and it is a lie, as of a server that loses its state: what is sent again for it is received twice.
  public var goAwayUnprocessed = 0
  /// What every GOAWAY says besides its code.
  public var goAwayForm = GoAwayForm.json
  /// The error code of GOAWAYs that have no cause of their own, such as 0 (NO_ERROR), 7 (REFUSED_STREAM) or 11.
  public var goAwayError: UInt32 = 0
  /// Whether every GOAWAY comes twice.
  public var repeatsGoAway = false
  /// Seconds after which a connection without requests gets GOAWAY (`IdleTimeout`); 0 never. Goes for new connections.
  public var idleSeconds = 0
  /// Seconds after which a connection gets GOAWAY (`Shutdown`) whatever it does; 0 never. Goes for new connections.
  public var connectionSeconds = 0
  /// The share of connections, 0 to 1, that is reset (TCP RST) as soon as it is accepted.
  public var connectResetShare = 0.0
  /// Connections in a minute after which an address is reset until the minute is over; 0 never.
  public var connectsPerMinute = 0
  /// How long the server waits before it begins the TLS handshake, in milliseconds.
  public var handshakeDelayMilliseconds = 0
  /// Whether the certificate is one that nobody trusts.
  public var showsUntrustedCertificate = false
  /// Whether the server takes up the client's ALPN offer.
  public var answersALPN = true
  /// Each connection falls silent after this many requests: nothing is read, written or closed any more, as when a
  /// middlebox forgets it; 0 never.
  public var silentAfterRequests = 0
  /// SETTINGS_INITIAL_WINDOW_SIZE of new connections: bytes of body that a stream may send before it must wait.
  public var streamWindow: UInt32 = 65_535
  /// SETTINGS_MAX_FRAME_SIZE of new connections, 16,384 to 16,777,215.
  public var maxFrameSize: UInt32 = 16_384
  /// Whether new connections get credit for bodies that were received (WINDOW_UPDATE). If not, one takes 65,535 bytes of
  /// them and then waits for ever.
  public var grantsWindow = true
  /// How long after the handshake nothing is written to a new connection, not even SETTINGS, in milliseconds.
  public var settingsDelayMilliseconds = 0
  /// Whether PINGs are acknowledged. Goes for new connections.
  public var answersPings = true
  /// Whether a connection that said GOAWAY, and has no stream left, stays open until its client closes it.
  public var lingersAfterGoAway = false
  /// The status of an interim answer before every answer: 100, or 102 to 199; 0 sends none.
  public var interimStatus = 0
  /// Whether a trailer section follows every answer. Goes for new connections.
  public var sendsTrailers = false
  /// Bytes of body in one DATA frame at most; 0 doesn't limit them. Goes for new connections.
  public var bodyPieceBytes = 0
  /// The share of requests, 0 to 1, that is refused before anything is done for it: RST_STREAM with REFUSED_STREAM.
  public var refusedShare = 0.0
  /// The share of requests, 0 to 1, that is taken and then, instead of an answer, gets RST_STREAM with INTERNAL_ERROR.
  public var resetShare = 0.0
  /// The share of requests, 0 to 1, that is taken and never answered.
  public var withheldShare = 0.0
  /// Each connection is broken off (TCP RST) right after this many requests were received, the last of them and all that
  /// were not answered yet without an answer; 0 never.
  public var resetAfterRequests = 0
  /// Each connection is closed without GOAWAY after this many requests, which are answered before unless answers wait;
  /// 0 never.
  public var closeAfterRequests = 0
  /// MAX_CONCURRENT_STREAMS of every connection, those that are open included; 0 leaves it to the configuration.
  public var streamLimit: UInt32 = 0
  /// Whether a rejection other than 410 puts the connection's stream limit back to 1 until the next acceptance.
  public var limitDropsOnRejection = false
  /// Whether `background` with priority 10 is answered with `BadPriority`; real APNs is reported to accept it.
  public var rejectsUrgentBackground = false
  /// Whether provider tokens may be signed in DER; real APNs takes both, the standard knows raw r‖s only.
  public var acceptsDERSignatures = true
  /// Seconds that a provider token is good for after its `iat`, and may be ahead of it.
  public var providerTokenSeconds: Int64 = 3600
  /// Seconds between two changes of the provider token on a connection, the first change aside; sooner is 429
  /// `TooManyProviderTokenUpdates`. 0 doesn't limit them.
  public var tokenUpdateSeconds: Int64 = 1200
  /// Whether connections from one address share that limit, as was reported where servers share an address.
  public var limitsTokenUpdatesByAddress = false
  /// Key identifiers whose provider tokens are `InvalidProviderToken` from now on.
  public var revokedKeys: [String] = []
  /// How client certificates are refused at the handshake.
  public var certificateAlert = CertificateAlert.none
  /// Whether a certificate for the other environment is refused by GOAWAY right after the handshake, as was observed, or
  /// else by 403 for each request, as is documented.
  public var refusesCertificateByGoAway = true
  /// What becomes of a topic whose suffix isn't that of the push type.
  public var mismatchedTopic = MismatchedTopic.topicDisallowed
  /// Pushes that one device token may get at once; more are 429 `TooManyRequests`. 0 doesn't limit them.
  public var tokenBurst = 0
  /// Milliseconds in which a device token may get one more.
  public var tokenRefillMilliseconds = 1000
  /// Points of error after which a connection gets GOAWAY and is closed; 0 never. Each rejection but 410 is a point, a
  /// hundred acceptances take one off.
  public var errorBudget = 0
  /// Points that a `BadDeviceToken` counts for.
  public var badTokenPoints = 5
  /// Whether the apps may broadcast; else 400 `FeatureNotEnabled`.
  public var enablesBroadcast = true
  /// What is in the body of rejections.
  public var bodyForm = BodyForm.json
  /// Whether 410 says since when.
  public var tellsTimestamp = true
  /// Whether answers carry `apns-id`.
  public var sendsID = true
  /// Whether an `apns-id` comes back in upper case.
  public var raisesID = false
  /// Seconds in a `retry-after` field of 429 and 5xx; 0 sends none, as APNs.
  public var retryAfterSeconds = 0
  /// Other words for reasons, such as `BadEnvironmentKeyInToken` for `BadEnvironmentKeyIdInToken`.
  public var spellings: [String: String] = [:]
  /// Whether answers carry `apns-unique-id`, as the development environment's do.
  public var sendsUniqueID = false
  /// Whether collapse identifiers are remembered to count notifications that take another's place on their device.
  public var tracksCollapse = false
  /// Whether `apns-id`s are remembered to count duplicates: some 25 bytes for each.
  public var tracksDuplicates = true
  /// Seconds that the simulator's clock is ahead when it judges the age of provider tokens; negative is behind.
  public var clockSkewSeconds: Int64 = 0

  /// Everything as real APNs behaves, at once and without faults.
  public init() {}
}
