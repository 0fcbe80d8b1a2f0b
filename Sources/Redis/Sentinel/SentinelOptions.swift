/// Options for the sentinels of a `sentinel://` URL. User and password of the URL are for the primary, not for the
/// sentinels.
public struct SentinelOptions: Hashable, Sendable {
  /// ACL user; `nil` for the default user.
  public var user: String?
  /// File whose first line is the password; `nil` for none.
  public var passwordFile: String?
  /// TLS options for the sentinels; `nil` for plain TCP.
  public var tls: RedisTLS?
  /// Timeout for the connection to a sentinel, and for its answer. After this time, the client asks the next sentinel.
  public var timeout: Duration
  /// Interval at which the client asks a sentinel for the primary, in addition to the subscription.
  public var pollInterval: Duration

  /// - Parameters:
  ///   - user: the ACL user; `nil` for the default user.
  ///   - passwordFile: a file whose first line is the password.
  ///   - tls: the TLS options for the sentinels; `nil` for plain TCP.
  ///   - timeout: timeout for a connection to a sentinel, and for its answer.
  ///   - pollInterval: interval at which the client asks a sentinel for the primary.
  public init(
    user: String? = nil, passwordFile: String? = nil, tls: RedisTLS? = nil, timeout: Duration = .seconds(1),
    pollInterval: Duration = .seconds(1)
  ) {
    self.user = user
    self.passwordFile = passwordFile
    self.tls = tls
    self.timeout = timeout
    self.pollInterval = pollInterval
  }
}
