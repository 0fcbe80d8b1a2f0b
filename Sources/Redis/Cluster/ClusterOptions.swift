/// How the servers of a `cluster://` URL are asked for the map of slots.
public struct ClusterOptions: Hashable, Sendable {
  /// How long the connection to a server, and then its answer, may take before the next one is asked.
  public var timeout: Duration
  /// How long after an answer the next question waits, so that a cluster in trouble is not asked by everybody at once.
  public var pause: Duration
  /// How often the map is read without any reason.
  public var refreshInterval: Duration
  /// Where servers are reached that announce other addresses, as behind a NAT: announced to reachable.
  public var addresses: [RedisAddress: RedisAddress]

  /// Memberwise.
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
