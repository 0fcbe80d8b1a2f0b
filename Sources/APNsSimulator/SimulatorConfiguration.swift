public import TLS

/// How a ``Simulator`` starts.
public struct SimulatorConfiguration: Sendable {
  /// A signing key whose provider tokens are believed.
  public struct Key: Sendable {
    /// The ten characters of `kid`.
    public var keyID: String
    /// The ten characters of `iss`.
    public var teamID: String
    /// The public key as PEM; a private key's PEM (`.p8`) does too, its public half is used.
    public var pem: String
    /// The topics the key may push to, or `nil` for all of its team's.
    public var topics: [String]?
    /// The only environment the key is for, or `nil` for both, as of keys made before 2025.
    public var environment: SimulatorEnvironment?
    /// Key identifiers of the keys with ``topics`` that may follow it on a connection.
    public var related: [String]

    /// - Parameters:
    ///   - keyID: the ten characters of `kid`.
    ///   - teamID: the ten characters of `iss`.
    ///   - pem: the public key, or a private key whose public half is used.
    ///   - topics: the topics the key may push to, with or without the suffix of a push type, or `nil` for all.
    ///   - environment: the only environment the key is for, or `nil` for both.
    ///   - related: keys that may follow it on a connection.
    public init(
      keyID: String, teamID: String, pem: String, topics: [String]? = nil, environment: SimulatorEnvironment? = nil,
      related: [String] = []
    ) {
      self.keyID = keyID
      self.teamID = teamID
      self.pem = pem
      self.topics = topics
      self.environment = environment
      self.related = related
    }
  }

  /// The address to listen at; loopback unless there is a reason.
  public var host = "127.0.0.1"
  /// The port for pushes; 0 lets the system choose.
  public var port: UInt16 = 0
  /// The port of the control API, always on loopback; 0 lets the system choose.
  public var controlPort: UInt16 = 0
  /// Event loops that connections are spread over, at least 1; each can use one core.
  public var threads = 1
  /// The server's certificate; `nil` makes one for ``names``, whose authority is ``Simulator/authorityPEM``.
  public var identity: TLSIdentity?
  /// Host names and addresses in the certificate that is made when there is no ``identity``.
  public var names = ["localhost", "127.0.0.1", "::1"]
  /// The keys whose provider tokens are believed.
  public var keys: [Key] = []
  /// Whose tokens, keys and certificates are right here.
  public var environment = SimulatorEnvironment.production
  /// The authorities whose push certificates are believed, as PEM; `nil` asks no client for a certificate.
  public var clientAuthorityPEM: String?
  /// Streams a connection has before its first accepted push; one with a certificate begins with ``fullStreams``.
  public var initialStreams: UInt32 = 1
  /// Streams a connection has from then on.
  public var fullStreams: UInt32 = 1000
  /// Bytes of body that a connection may have under way; nobody has published APNs' own number, and the 65,535 that
  /// HTTP/2 begins with would make the sender wait for the simulator.
  public var connectionWindow: Int32 = 1 << 20
  /// The file that gets a line for every request received in full, before its answer leaves; `nil` for none. It is
  /// appended to. The fields are `ms connection stream token apnsId status`, see ``RequestLogLines``.
  public var log: String?
  /// Whether a line of the log ends in what the request said: its body, in which a line feed is written as a blank.
  public var logsBodies = false
  /// What everything random follows from: identifiers that the server makes up, and what knobs leave to chance.
  public var seed = UInt64.random(in: .min ... .max)
  /// What holds until it is changed.
  public var knobs = SimulatorKnobs()

  /// Free ports, one event loop, a self-signed certificate and no keys: every push is refused until one is added.
  public init() {}
}
