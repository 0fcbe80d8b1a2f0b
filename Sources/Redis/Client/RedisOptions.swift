/// How a connection to Redis behaves.
public struct RedisOptions: Sendable {
  /// The name that `CLIENT LIST` shows; characters that Redis forbids there become dashes.
  public var clientName: String
  /// A file whose first line is the password, for a URL that has none; it is read again for every connection, so that a
  /// new password needs no restart. `nil` for none.
  public var passwordFile: String?
  /// How TLS is set up, where the URL asks for it.
  public var tls: RedisTLS
  /// How sentinels are asked, where the URL names some.
  public var sentinel: SentinelOptions
  /// How the servers of a cluster are asked for its map, where the URL names some.
  public var cluster: ClusterOptions
  /// In a cluster, the key at whose server commands are asked that name none, such as `TIME`.
  public var home: String
  /// How long connecting, logging in and loading the scripts may take, the name service apart.
  public var connectTimeout: Duration
  /// How long the answers of a call may take, from the call on. A blocking command needs a longer one of its own.
  public var answerTimeout: Duration
  /// How long a call waits for a connection when there is none; zero fails at once.
  public var patience: Duration
  /// How long to wait between attempts to connect.
  public var backoff: Backoff

  /// - Parameters:
  ///   - clientName: the name that `CLIENT LIST` shows.
  ///   - passwordFile: its first line is the password, for a URL that has none.
  ///   - tls: how TLS is set up, where the URL asks for it.
  ///   - sentinel: how sentinels are asked, where the URL names some.
  ///   - cluster: how the servers of a cluster are asked for its map.
  ///   - home: in a cluster, the key at whose server commands are asked that name none.
  ///   - connectTimeout: for connecting, logging in and loading the scripts.
  ///   - answerTimeout: for the answers of a call.
  ///   - patience: how long a call waits for a connection when there is none.
  ///   - backoff: between attempts to connect.
  public init(
    clientName: String = "carillon", passwordFile: String? = nil, tls: RedisTLS = RedisTLS(),
    sentinel: SentinelOptions = SentinelOptions(), cluster: ClusterOptions = ClusterOptions(), home: String = "",
    connectTimeout: Duration = .seconds(5), answerTimeout: Duration = .seconds(5), patience: Duration = .seconds(5),
    backoff: Backoff = Backoff()
  ) {
    self.clientName = clientName
    self.passwordFile = passwordFile
    self.tls = tls
    self.sentinel = sentinel
    self.cluster = cluster
    self.home = home
    self.connectTimeout = connectTimeout
    self.answerTimeout = answerTimeout
    self.patience = patience
    self.backoff = backoff
  }
}
