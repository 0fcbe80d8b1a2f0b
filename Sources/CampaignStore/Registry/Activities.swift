import PushCore
import Redis

/// The users who have tokens of Live Activities.
///
/// The device record of a token of kind `liveactivity` has the activity as an attribute. For each activity, a segment
/// has the users of such tokens, so that a campaign to the activity reads only these users. The segment is written
/// before the record, so it has every such user. It may also have users who have lost their token since. Workers remove
/// the segment two days after the last registration.
extension Registry {
  /// Largest number of expired segments that one registration removes.
  private static let removedPerBatch = 4

  /// Adds users to the segments of activities, before their tokens are written. The name of a new segment is written in
  /// an earlier step than its users, so an erasure always finds the segment. After the erasure of a user, an older
  /// registration does not add the user to the segment again.
  ///
  /// - Parameter activities: for each activity, the indices of its registrations in the batch.
  func addMembers(_ activities: [String: [Int]], of batch: RegistrationBatch) async throws {
    let now = try await store.time() / 1000
    var pipeline = RedisPipeline()
    for activity in activities.keys {
      pipeline.append("ZADD", keys.activities, now, activity)
      pipeline.append("SADD", keys.segments, ActivitySegment.name(of: activity))
    }
    _ = try await run(pipeline)
    pipeline.removeAll()
    for (activity, rows) in activities {
      let segment = ActivitySegment.name(of: activity)
      for part in batch.parts(of: rows, by: \.userPartition) {
        pipeline.script(
          StoreScripts.noteActivity, keys: [keys.segment(part.partition, segment), keys.erased(part.partition)]
        ) { arguments in
          for row in part.rows {
            arguments.append(batch.user(of: row))
            arguments.append(Int(batch.rows[row].registeredAt))
          }
        }
      }
    }
    pipeline.append(
      "ZRANGEBYSCORE", keys.activities, 0, now - ActivitySegment.lifetime, "LIMIT", 0, Self.removedPerBatch)
    let over = try await run(pipeline).last?.compactMap(\.string) ?? []
    for activity in over { try await removeActivity(activity) }
  }

  /// Removes the segment of an expired activity. The tokens of the activity stay until a later registration of their
  /// user removes them (`upsert.lua`).
  private func removeActivity(_ activity: String) async throws {
    let segment = ActivitySegment.name(of: activity)
    var pipeline = RedisPipeline()
    pipeline.append("SREM", keys.segments, segment)
    _ = try await run(pipeline)
    try await store.audiences.unlinkSegment(segment)
    pipeline.removeAll()
    pipeline.append("ZREM", keys.activities, activity)
    _ = try await run(pipeline)
  }

  /// Refuses an activity for which no token has registered recently. A campaign to a misspelled activity would
  /// otherwise reach no user.
  func checkActivity(_ activity: String) async throws {
    var pipeline = RedisPipeline()
    pipeline.append("SISMEMBER", keys.segments, ActivitySegment.name(of: activity))
    guard try await run(pipeline)[0].integer == 0 else { return }
    throw StoreError(
      .invalid, "audience.activity: no token of an activity \(Excerpt.quoted(activity)) has registered",
      hint: "the app must register tokens with kind liveactivity and activity \(activity); they expire after two days")
  }
}
