@testable import Redis

extension RedisClient {
  /// Returns the number of the connection to a single server, and connects first if necessary.
  func connectionNumber() async throws -> UInt64 {
    try await connect()
    guard case .one(let server) = servers, let number = await server.connectionNumber else { return 0 }
    return number
  }
}
