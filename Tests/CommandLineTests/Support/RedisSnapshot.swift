import Foundation
import TestSupport
import Testing

/// All data in a Redis server.
enum RedisSnapshot {
  /// Returns a snapshot of the whole server, uncompressed.
  static func of(_ server: RedisServer) async throws -> Data {
    try await server.command("config", "set", "rdbcompression", "no")
    try await server.command("save")
    let folder = try await server.command("config", "get", "dir").split(separator: "\n").last.map(String.init)
    return try Data(contentsOf: URL(filePath: #require(folder)).appending(path: "dump.rdb"))
  }

  /// Returns the names of the texts that a snapshot contains.
  static func found(_ needles: [String: Data], in snapshot: Data) -> Set<String> {
    Set(needles.filter { snapshot.range(of: $0.value) != nil }.keys)
  }
}
