@testable import Redis

extension RedisClient {
  /// The number of the connection to a single server, which is made if there is none.
  func connectionNumber() async throws -> UInt64 {
    try await connect()
    guard case .one(let server) = servers, let number = await server.connectionNumber else { return 0 }
    return number
  }
}
