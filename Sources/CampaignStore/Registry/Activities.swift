import PushCore
import Redis

/// Who has which Live Activity.
///
/// The devices say it: a token of kind `liveactivity` has the activity among its record's attributes. A segment of each
/// activity has the users of such tokens, so that a campaign reads them and nobody else. It may have users whose token has
/// left since, never fewer than have one: it is written before the record is. Two days after the last registration it is
/// removed.
extension Registry {
  /// Activities whose segments are removed with one registration at most.
  private static let removedAtOnce = 4

  /// Notes users of activities, before their tokens are written.
  ///
  /// - Parameter activities: rows of the batch by activity.
  func note(_ activities: [String: [Int]], of batch: RegistrationBatch) async throws {
    let now = try await store.time() / 1000
    var pipeline = RedisPipeline()
    for (activity, rows) in activities {
      let segment = ActivitySegment.name(of: activity)
      pipeline.append("ZADD", keys.activities, now, activity)
      pipeline.append("SADD", keys.segments, segment)
      for part in batch.parts(of: rows, by: \.userPartition) {
        pipeline.command("SADD") { arguments in
          arguments.append(keys.segment(part.partition, segment))
          for row in part.rows { arguments.append(batch.user(of: row)) }
        }
      }
    }
    pipeline.append(
      "ZRANGEBYSCORE", keys.activities, 0, now - ActivitySegment.lifetime, "LIMIT", 0, Self.removedAtOnce)
    let over = try await run(pipeline).last?.compactMap(\.string) ?? []
    for activity in over { try await removeActivity(activity) }
  }

  /// Removes the segment of an activity that is over; tokens leave as others do.
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

  /// Refuses an activity that no token has ever been registered for: a name that is misspelt would reach nobody.
  func checkActivity(_ activity: String) async throws {
    var pipeline = RedisPipeline()
    pipeline.append("SISMEMBER", keys.segments, ActivitySegment.name(of: activity))
    guard try await run(pipeline)[0].integer == 0 else { return }
    throw StoreError(
      .invalid, "audience.activity: no token of an activity \(Excerpt.quoted(activity)) has registered",
      hint: "apps register them: kind liveactivity, activity \(activity); what is older than two days is forgotten")
  }
}
