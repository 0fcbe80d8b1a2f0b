import Synchronization

/// Set of connections. Each connection has a number that is unique in this process.
public struct RedisConnections: Hashable, Sendable {
  private static let last = Atomic<UInt64>(0)

  static func nextNumber() -> UInt64 { last.add(1, ordering: .relaxed).newValue }

  private let numbers: [UInt64]

  /// - Parameter numbers: the numbers of the connections, from ``RedisServerState``.
  public init(_ numbers: [UInt64] = []) {
    self.numbers = numbers
  }

  func contains(_ number: UInt64) -> Bool { numbers.contains(number) }
}

/// State of a server with data, as the server reported it over one connection.
public struct RedisServerState: Sendable {
  /// Address of the server; for a primary behind sentinels, the addresses of the sentinels.
  public let endpoint: String
  /// Number of the connection that reported the state.
  public let connection: UInt64
  /// The server's `INFO`.
  public let info: RedisServerInfo
  /// The slot map through which the client found the server, and the server's address in it; `nil` if one server has
  /// all keys.
  private let place: (map: ClusterMap, address: RedisAddress)?

  init(
    endpoint: String, connection: UInt64, info: RedisServerInfo, place: (map: ClusterMap, address: RedisAddress)? = nil
  ) {
    self.endpoint = endpoint
    self.connection = connection
    self.info = info
    self.place = place
  }

  /// Returns whether the key's slot belonged to this server when the state was read. The key need not exist.
  public func owns(_ key: String) -> Bool {
    guard let place else { return true }
    return place.map.owner(of: KeySlot(of: key)) == place.address
  }
}

extension ServerClient {
  /// Returns the present state of the server.
  func serverState(
    _ sections: [String], timeout: Duration? = nil, waitTimeout: Duration?,
    place: (map: ClusterMap, address: RedisAddress)? = nil
  ) async throws(RedisError) -> RedisServerState {
    var pipeline = RedisPipeline()
    for section in sections { pipeline.append("INFO", section) }
    let (number, replies) = try await executeOnce(pipeline, timeout: timeout, waitTimeout: waitTimeout)
    if let refusal = replies.lazy.compactMap(\.error).first {
      throw Handshake.refusal(refusal, step: "reading INFO", endpoint: url.endpoint)
    }
    let info = RedisServerInfo(parsing: replies.map { $0.string ?? "" }.joined(separator: "\n"))
    return RedisServerState(endpoint: url.endpoint, connection: number, info: info, place: place)
  }
}
