import Synchronization

/// Connections, by the numbers that this process gives them: no two ever have the same.
public struct RedisConnections: Hashable, Sendable {
  private static let last = Atomic<UInt64>(0)

  static func nextNumber() -> UInt64 { last.add(1, ordering: .relaxed).newValue }

  private let numbers: [UInt64]

  /// - Parameter numbers: of the connections, as ``RedisServerSight`` gives them.
  public init(_ numbers: [UInt64] = []) {
    self.numbers = numbers
  }

  func contains(_ number: UInt64) -> Bool { numbers.contains(number) }
}

/// A server that holds data, as it was seen over one connection.
public struct RedisServerSight: Sendable {
  /// Where it listens; of a primary behind sentinels, the sentinels.
  public let endpoint: String
  /// Over which connection it said what it says.
  public let connection: UInt64
  /// What it says of itself.
  public let info: RedisServerInfo
  /// In a cluster, the map by which it was found; `nil` where there is one server for all keys.
  private let place: (map: ClusterMap, address: RedisAddress)?

  init(
    endpoint: String, connection: UInt64, info: RedisServerInfo, place: (map: ClusterMap, address: RedisAddress)? = nil
  ) {
    self.endpoint = endpoint
    self.connection = connection
    self.info = info
    self.place = place
  }

  /// Whether this server had the key's slot, or would have, when it was seen.
  public func holds(_ key: String) -> Bool {
    guard let place else { return true }
    return place.map.owner(of: KeySlot(of: key)) == place.address
  }
}

extension ServerClient {
  /// What the server says of itself.
  func sight(
    _ sections: [String], timeout: Duration? = nil, patience: Duration?,
    place: (map: ClusterMap, address: RedisAddress)? = nil
  ) async throws(RedisError) -> RedisServerSight {
    var pipeline = RedisPipeline()
    for section in sections { pipeline.append("INFO", section) }
    let (number, replies) = try await look(pipeline, timeout: timeout, patience: patience)
    if let refusal = replies.lazy.compactMap(\.error).first {
      throw Handshake.refusal(refusal, step: "reading INFO", endpoint: url.endpoint)
    }
    let info = RedisServerInfo(parsing: replies.map { $0.string ?? "" }.joined(separator: "\n"))
    return RedisServerSight(endpoint: url.endpoint, connection: number, info: info, place: place)
  }
}
