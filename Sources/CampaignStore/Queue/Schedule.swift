import PushCore
import Redis

/// Scheduled campaigns. Each begins once, when Redis' clock has reached its start time. Any worker may begin it.
extension Queue {
  /// Begins the campaigns whose start time has come. Several workers may call this function at the same time.
  ///
  /// The function also repairs the schedule: it removes entries that do not belong there, and adds scheduled campaigns
  /// that are missing.
  ///
  /// - Parameter ids: the ids of the campaigns that are due.
  /// - Returns: the campaigns that this call has begun, and the runs that it has created for recurring campaigns.
  public func promote(_ ids: [String]) async throws -> [String] {
    guard !ids.isEmpty else { return [] }
    let runs: Result<[String], any Error>
    do {
      runs = .success(try await beginRuns(of: ids))
    } catch {
      // A run that fails does not delay other campaigns.
      runs = .failure(error)
    }
    // The ids may include recurring campaigns. The script never begins a recurring campaign. If such a campaign has
    // ended, the script removes it from the schedule.
    var pipeline = RedisPipeline()
    for (id, lane) in zip(ids, try await store.slices.lanes(of: ids)) {
      pipeline.script(
        StoreScripts.promote,
        keys: [
          // If a campaign no longer exists, its lane is unknown. The script then does not use the key of the lane.
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
  /// campaigns. Stores of an earlier version don't have the list of campaigns that wait for approval. Because campaigns
  /// may expire between two pages, a pass over all pages may skip some campaigns. The next pass reads them.
  ///
  /// - Parameter position: the start of the page.
  /// - Returns: the campaigns that this call has begun, and the start of the next page; 0 after the last page.
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
    // Put every campaign with stages on the list of gates. If no gate of the campaign is left, the next check of its
    // gates removes the campaign from this list again.
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

  /// Removes campaigns that no longer wait for approval from the list `approvals`.
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
