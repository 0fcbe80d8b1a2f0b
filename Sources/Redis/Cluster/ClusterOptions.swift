/// Options for reading the slot map from the servers of a `cluster://` URL.
public struct ClusterOptions: Hashable, Sendable {
  /// Timeout for the connection to a server, and for its answer. After this time, the client asks the next server.
  public var timeout: Duration
  /// Pause between an answer and the next request, so that a cluster with problems does not get too many requests.
  public var pause: Duration
  /// Interval at which the map is read even if no server has reported a change.
  public var refreshInterval: Duration
  /// The reachable addresses of servers that announce an unreachable address, for example behind a NAT. The keys are
  /// the announced addresses.
  public var addresses: [RedisAddress: RedisAddress]

  /// Creates options, with defaults.
  public init(
    timeout: Duration = .seconds(1), pause: Duration = .milliseconds(100), refreshInterval: Duration = .seconds(30),
    addresses: [RedisAddress: RedisAddress] = [:]
  ) {
    self.timeout = timeout
    self.pause = pause
    self.refreshInterval = refreshInterval
    self.addresses = addresses
  }
}
