/// Options of a connection to Redis.
public struct RedisOptions: Sendable {
  /// Name for `CLIENT LIST`. Characters that Redis does not allow in this name become dashes.
  public var clientName: String
  /// File whose first line is the password, for a URL without a password; `nil` for none. The client reads the file for
  /// every connection, so a new password needs no restart.
  public var passwordFile: String?
  /// TLS options, used if the URL requires TLS.
  public var tls: RedisTLS
  /// Options for sentinels, used if the URL names some.
  public var sentinel: SentinelOptions
  /// Options for reading a cluster's map, used if the URL names a cluster.
  public var cluster: ClusterOptions
  /// In a cluster, the key whose server gets commands without a key, such as `TIME`, if no command with a key precedes
  /// them in the pipeline.
  public var home: String
  /// Time for connecting, login and loading the scripts. The lookup of the host name does not count.
  public var connectTimeout: Duration
  /// Time in which all answers of a call must arrive, counted from the call. A blocking command needs a longer time.
  public var answerTimeout: Duration
  /// Time that a call waits for a connection if there is none; zero fails immediately.
  public var waitTimeout: Duration
  /// Pauses between attempts to connect.
  public var backoff: Backoff

  /// - Parameters:
  ///   - clientName: the name for `CLIENT LIST`.
  ///   - passwordFile: a file whose first line is the password. It is used if the URL has no password.
  ///   - tls: the TLS options, used if the URL requires TLS.
  ///   - sentinel: the options for sentinels, used if the URL names some.
  ///   - cluster: the options for reading a cluster's map.
  ///   - home: in a cluster, the key whose server gets the commands without a key.
  ///   - connectTimeout: time for connecting, login and loading the scripts.
  ///   - answerTimeout: time for the answers of a call.
  ///   - waitTimeout: time that a call waits for a connection if there is none.
  ///   - backoff: pauses between attempts to connect.
  public init(
    clientName: String = "carillon", passwordFile: String? = nil, tls: RedisTLS = RedisTLS(),
    sentinel: SentinelOptions = SentinelOptions(), cluster: ClusterOptions = ClusterOptions(), home: String = "",
    connectTimeout: Duration = .seconds(5), answerTimeout: Duration = .seconds(5), waitTimeout: Duration = .seconds(5),
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
    self.waitTimeout = waitTimeout
    self.backoff = backoff
  }
}
