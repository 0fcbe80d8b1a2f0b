import PushCore
import Redis

/// Campaigns that begin later: by Redis' clock, on any worker's word, once.
extension CampaignStore {
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
    for (id, lane) in zip(ids, try await lanes(of: ids)) {
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

  /// Looks among all campaigns, a page at a time, for scheduled ones that the schedule has lost, and for campaigns with stages
  /// whose gates are looked at by nobody.
  ///
  /// - Parameter position: where the page begins.
  /// - Returns: the campaigns that this call has begun, and where the next page begins: 0 after the last.
  public func repairSchedule(from position: Int) async throws -> (begun: [String], next: Int) {
    var pipeline = RedisPipeline()
    pipeline.append("ZRANGE", keys.all, position, position + Self.batch - 1)
    let ids = try await run(pipeline)[0].compactMap(\.string)
    guard !ids.isEmpty else { return ([], 0) }
    pipeline.removeAll()
    for id in ids { pipeline.append("HMGET", keys.campaign(id), "state", "stage") }
    let campaigns = zip(ids, try await run(pipeline)).compactMap { id, reply in
      reply[0].string.flatMap(CampaignState.init(rawValue:)).map { (id: id, state: $0, hasStages: !reply[1].isNull) }
    }
    let scheduled = campaigns.filter { $0.state == .scheduled }.map(\.id)
    pipeline.removeAll()
    // Of one without a gate that is found, and it leaves the list again.
    for campaign in campaigns where campaign.hasStages && !campaign.state.isFinal {
      pipeline.append("ZADD", keys.gates, "NX", 0, campaign.id)
    }
    if !pipeline.isEmpty { _ = try await run(pipeline) }
    return (try await promote(scheduled), ids.count < Self.batch ? 0 : position + ids.count)
  }
}
