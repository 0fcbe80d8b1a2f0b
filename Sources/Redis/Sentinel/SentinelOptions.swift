/// How the sentinels of a `sentinel://` URL are asked. User and password of the URL are the primary's, not theirs.
public struct SentinelOptions: Hashable, Sendable {
  /// The ACL user; `nil` for the default user.
  public var user: String?
  /// A file whose first line is the password; `nil` for none.
  public var passwordFile: String?
  /// How TLS to them is set up; `nil` for plain TCP.
  public var tls: RedisTLS?
  /// How long the connection to a sentinel, and then its answer, may take before the next one is asked.
  public var timeout: Duration
  /// How often they are asked where the primary is, besides being listened to.
  public var pollInterval: Duration

  /// - Parameters:
  ///   - user: the ACL user; `nil` for the default user.
  ///   - passwordFile: a file whose first line is the password.
  ///   - tls: how TLS to them is set up; `nil` for plain TCP.
  ///   - timeout: for a connection to a sentinel, and for its answer.
  ///   - pollInterval: how often they are asked.
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
