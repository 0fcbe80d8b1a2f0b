import PushCore
import Redis

/// Campaigns that begin later: by Redis' clock, on any worker's word, once.
extension Queue {
  /// Begins those of these campaigns whose time has come. Any worker may, at the same time as others.
  ///
  /// What is in the schedule and should not be leaves it; what is scheduled and is not in it comes back.
  ///
  /// - Parameter ids: the campaigns.
  /// - Returns: the campaigns that this call has begun, or made of those that are repeated.
  public func promote(_ ids: [String]) async throws -> [String] {
    guard !ids.isEmpty else { return [] }
    let runs: Result<[String], any Error>
    do {
      runs = .success(try await beginRuns(of: ids))
    } catch {
      // What can't be repeated holds up nothing else.
      runs = .failure(error)
    }
    // Repeated campaigns are among them: one that has ended leaves the schedule, and none is begun.
    var pipeline = RedisPipeline()
    for (id, lane) in zip(ids, try await store.slices.lanes(of: ids)) {
      pipeline.script(
        StoreScripts.promote,
        keys: [
          // A campaign that has gone has no lane, and is put on none.
          keys.campaign(id), keys.lane((lane ?? .normal).rawValue), keys.schedule, keys.running, keys.open(id),
          keys.wake, keys.store, keys.changes, keys.campaign(CampaignID(id).whole),
        ]
      ) {
        $0.append(id)
        $0.append(keys.partitions)
        $0.append(CampaignID(id).whole)
      }
    }
    let begun = zip(ids, try await run(pipeline)).filter { $1.integer == 1 }.map(\.0)
    return begun + (try runs.get())
  }

  /// Repairs the schedule, the list of gates and the list of campaigns that wait for approval, from one page of all
  /// campaigns. An earlier version has no list of campaigns that wait for approval.
  ///
  /// - Parameter position: where the page begins.
  /// - Returns: the campaigns that this call has begun, and where the next page begins: 0 after the last.
  public func repairSchedule(from position: Int) async throws -> (begun: [String], next: Int) {
    var pipeline = RedisPipeline()
    pipeline.append("ZRANGE", keys.all, position, position + CampaignStore.batch - 1)
    let ids = try await run(pipeline)[0].compactMap(\.string)
    guard !ids.isEmpty else { return ([], 0) }
    pipeline.removeAll()
    for id in ids {
      pipeline.append("HMGET", keys.campaign(id), "state", "stage", "approval", "of", "sendAt", "createdAt")
    }
    let replies = try await run(pipeline)
    let campaigns = zip(ids, replies).compactMap { id, reply in
      reply[0].string.flatMap(CampaignState.init(rawValue:)).map { (id: id, state: $0, hasStages: !reply[1].isNull) }
    }
    let scheduled = campaigns.filter { $0.state == .scheduled }.map(\.id)
    pipeline.removeAll()
    // Of one without a gate that is found, and it leaves the list again.
    for campaign in campaigns where campaign.hasStages && !campaign.state.isFinal {
      pipeline.append("ZADD", keys.gates, "NX", 0, campaign.id)
    }
    for (id, reply) in zip(ids, replies) where Self.waitsForApproval(reply[0], reply[2]) && reply[3].isNull {
      pipeline.append("ZADD", keys.approvals, "NX", max(reply[4].integer ?? 0, reply[5].integer ?? 0), id)
    }
    if !pipeline.isEmpty { _ = try await run(pipeline) }
    if position == 0 { try await repairApprovals() }
    return (try await promote(scheduled), ids.count < CampaignStore.batch ? 0 : position + ids.count)
  }

  /// Removes campaigns that wait for approval no more from the list of those that do.
  private func repairApprovals() async throws {
    var pipeline = RedisPipeline()
    pipeline.append("ZRANGE", keys.approvals, 0, CampaignStore.batch - 1)
    let ids = try await run(pipeline)[0].compactMap(\.string)
    guard !ids.isEmpty else { return }
    pipeline.removeAll()
    for id in ids { pipeline.append("HMGET", keys.campaign(id), "state", "approval") }
    let replies = try await run(pipeline)
    pipeline.removeAll()
    for (id, reply) in zip(ids, replies) where !Self.waitsForApproval(reply[0], reply[1]) {
      pipeline.append("ZREM", keys.approvals, id)
    }
    if !pipeline.isEmpty { _ = try await run(pipeline) }
  }

  private static func waitsForApproval(_ state: RedisReply, _ approval: RedisReply) -> Bool {
    state.string == CampaignState.paused.rawValue && approval.string == "needed"
  }
}
