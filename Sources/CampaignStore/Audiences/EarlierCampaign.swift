public import PushCore
import Redis

/// Campaigns whose users another campaign includes or excludes.
extension Audiences {
  /// Minimum number of seconds until the results of an earlier campaign expire, when a slice that uses these results is
  /// expanded.
  private static let margin = 60

  /// Returns the reason why an audience can't refer to a campaign; `nil` if it can. The campaign need not have ended.
  func problem(ofEarlier id: String) async throws -> StoreError? {
    guard let (record, job) = try await store.campaigns.findWithJob(id) else {
      // The job is submitted, and will become a campaign.
      if try await store.queue.memory(of: id) == .submitted { return nil }
      return StoreError(
        .invalid, "the audience refers to campaign \(Excerpt.quoted(id)), which does not exist",
        hint: "results of a campaign expire after its ttl (default: one week after its end); see "
          + "`carillon campaign list`")
    }
    guard record.placement.partitions == keys.partitions || record.state == .scheduled else {
      return StoreError(
        .invalid, "the audience refers to campaign \(id), which started before `carillon store repartition`",
        hint: "export its users with carillon results export \(id), then import them as a segment"
      )
    }
    guard record.repetition == nil else {
      return StoreError(
        .invalid, "the audience refers to campaign \(id), which is recurring and has no recipients of its own",
        hint: "refer to one of its runs, see `carillon campaign list`")
    }
    switch try? await record.read(job, record.apps(in: services)).recipients.audience {
    case .tokens?, .channel?:
      return StoreError(
        .invalid, "the audience refers to campaign \(id), which had no audience of users",
        hint: "a campaign to tokens or to a channel has no users; refer to another campaign")
    case .segment?, .users?, .campaign?, .activity?, nil: return nil
    }
  }

  /// Returns the campaign with the ids of the stages of each earlier campaign to which its audience refers. An earlier
  /// campaign that is not activated has no stages yet.
  public func withEarlierParts(_ campaign: Campaign) async throws -> Campaign {
    var parts: [String: [String]] = [:]
    for id in campaign.earlier {
      parts[id] = try await store.campaigns.partIDs(of: id).filter { CampaignID($0).part?.isStage == true }
    }
    return parts.isEmpty ? campaign : campaign.referring(to: parts)
  }

  /// Checks that the earlier campaigns of a campaign have ended, and that their results still exist.
  ///
  /// - Returns: the first one that has not ended; `nil` if all have ended.
  /// - Throws: ``StoreError`` `invalid` if the audience can no longer use one of these campaigns.
  public func unfinishedEarlier(of campaign: Campaign) async throws -> String? {
    for id in campaign.earlier {
      if let problem = try await problem(ofEarlier: id) { throw problem }
      var pipeline = RedisPipeline()
      pipeline.append("HGET", keys.campaign(id), "finishedAt")
      pipeline.append("TTL", keys.campaign(id))
      let replies = try await run(pipeline)
      guard !replies[0].isNull else { return id }
      let left = replies[1].integer ?? -1
      if left != -1, left < Self.margin {
        throw StoreError(
          .invalid, "the audience refers to campaign \(id), whose results are about to expire",
          hint: "use a longer ttl for campaigns that other jobs refer to")
      }
    }
    return nil
  }
}
