public import TLS

/// The configuration with which a ``Simulator`` starts.
public struct SimulatorConfiguration: Sendable {
  /// A signing key whose provider tokens are accepted.
  public struct Key: Sendable {
    /// The ten characters of `kid`.
    public var keyID: String
    /// The ten characters of `iss`.
    public var teamID: String
    /// The public key as PEM. The PEM of a private key (`.p8`) is also accepted; the simulator uses only its public
    /// half.
    public var pem: String
    /// The topics of the key, or `nil` for all topics of its team.
    public var topics: [String]?
    /// The only environment of the key, or `nil` for both, as for keys from before 2025.
    public var environment: SimulatorEnvironment?
    /// Identifiers of other keys with ``topics``. Tokens of these keys may follow a token of this key on the same
    /// connection.
    public var related: [String]

    /// - Parameters:
    ///   - keyID: the ten characters of `kid`.
    ///   - teamID: the ten characters of `iss`.
    ///   - pem: the public key, or a private key whose public half is used.
    ///   - topics: the topics of the key, with or without the suffix of a push type, or `nil` for all.
    ///   - environment: the only environment of the key, or `nil` for both.
    ///   - related: keys that may follow this key on a connection.
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

  /// The address of the push listener. Use another address than loopback only if clients on other machines need it.
  public var host = "127.0.0.1"
  /// The port for pushes; 0 lets the system choose.
  public var port: UInt16 = 0
  /// The port of the control API, always on loopback; 0 lets the system choose.
  public var controlPort: UInt16 = 0
  /// Number of event loops that share the connections, at least 1. Each loop can use one core.
  public var threads = 1
  /// The server's certificate. `nil` creates one for ``names``, whose authority is ``Simulator/authorityPEM``.
  public var identity: TLSIdentity?
  /// Host names and addresses in the certificate that is created without an ``identity``.
  public var names = ["localhost", "127.0.0.1", "::1"]
  /// The keys whose provider tokens are accepted.
  public var keys: [Key] = []
  /// The environment to simulate. Tokens, keys and certificates of the other environment are rejected.
  public var environment = SimulatorEnvironment.production
  /// The authorities whose push certificates are accepted, as PEM. `nil` requests no client certificate.
  public var clientAuthorityPEM: String?
  /// Maximum number of streams of a connection before its first accepted push. A connection with a certificate begins
  /// with ``fullStreams``.
  public var initialStreams: UInt32 = 1
  /// Maximum number of streams of a connection after its first accepted push.
  public var fullStreams: UInt32 = 1000
  /// Flow-control window of a connection for bodies, in bytes. Apple does not publish the window of APNs. With HTTP/2's
  /// default of 65,535, the sender would wait for the simulator.
  public var connectionWindow: Int32 = 1 << 20
  /// The log file; `nil` for none. The simulator appends a line for every request received in full, before it sends the
  /// answer. The fields are `ms connection stream token apnsId status`, see ``RequestLogLines``.
  public var log: String?
  /// Whether a line of the log ends with the request's body, in which blanks replace line feeds.
  public var logsBodies = false
  /// Seed of all random values: the server's identifiers and the random parts of knobs.
  public var seed = UInt64.random(in: .min ... .max)
  /// The FCM side; `nil` for none.
  public var fcm: FCMConfiguration?
  /// The initial knobs.
  public var knobs = SimulatorKnobs()

  /// Creates a configuration with free ports, one event loop, a self-signed certificate and no keys. Without a key
  /// every push is rejected.
  public init() {}
}
