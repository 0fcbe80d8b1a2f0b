import PushCore
import Redis

/// A room of the store: the operations on one kind of thing, in the folder of the same name.
///
/// A room is a value that only has the store. A caller that needs one room stores only that room.
protocol StoreRoom: Sendable {
  /// The connection, the keys and the other rooms.
  var store: CampaignStore { get }
}

extension StoreRoom {
  var keys: Keyspace { store.keys }
  var services: PushServices { store.services }
  var zones: ZoneDatabase { store.zones }
  var redis: RedisClient { store.redis }

  /// Runs commands and throws the first error reply, see ``CampaignStore/run(_:timeout:)``.
  func run(_ pipeline: RedisPipeline, timeout: Duration? = nil) async throws -> [RedisReply] {
    try await store.run(pipeline, timeout: timeout)
  }

  /// Runs commands. Returns a result for each, which may be an error.
  func runEach(_ pipeline: RedisPipeline) async throws -> [Result<RedisReply, StoreError>] {
    try await store.runEach(pipeline)
  }
}
