import PushCore
import Redis

/// Isolates damaged data, so that everything else continues. The damaged data is a slice, a campaign, or a key that
/// workers rebuild.
extension Repair {
  /// Seconds until isolated data expires: a week.
  private static let isolatedLifetime = 7 * 86400

  /// Isolates a slice. The dead list gets the reason, and the slice counts as finished without its targets. Its
  /// campaign ends as failed when all other slices are finished. The keys of the slice stay until they expire.
  ///
  /// - Returns: the campaign's state if this was its last slice.
  public func takeOut(_ slice: SliceReference, reason: String, hint: String, worker: String) async throws
    -> CampaignState?
  {
    guard try await putOnDeadList(slice, reason: reason, hint: hint) else {
      try await store.slices.dismiss(slice, worker: worker)
      return nil
    }
    let lane = try await store.slices.lanes(of: [slice.campaign])[0] ?? .normal
    return try await store.slices.finish(slice, adding: [("takenOut", 1)], lane: lane, worker: worker)
  }

  /// Puts the reason for isolating a slice on the dead list, once.
  ///
  /// - Returns: whether the slice must still be counted as finished.
  func putOnDeadList(_ slice: SliceReference, reason: String, hint: String) async throws -> Bool {
    let id = slice.campaign
    var pipeline = RedisPipeline()
    pipeline.script(StoreScripts.takeOutSlice, keys: [keys.campaign(id), keys.finished(id), keys.dead]) {
      $0.append(slice.partition)
      $0.append(id)
      $0.append("slice \(slice) was isolated: \(reason)")
      $0.append(hint)
      $0.append(Queue.deadJobs)
      $0.append(Queue.deadJobSize)
    }
    return try await run(pipeline)[0].integer == 1
  }

  /// Isolates a campaign. The dead list gets the reason, and the remaining keys are renamed.
  ///
  /// - Returns: false if there is no such campaign.
  public func takeOut(campaign id: String, reason: String, hint: String) async throws -> Bool {
    let key = keys.campaign(id)
    var pipeline = RedisPipeline()
    pipeline.script(
      StoreScripts.takeOutCampaign,
      keys: [
        key, keys.isolated(key), keys.open(id), keys.running, keys.schedule, keys.ended, keys.all, keys.dead,
        keys.changes,
      ]
    ) {
      $0.append(id)
      $0.append("campaign \(id) was isolated: \(reason)")
      $0.append(hint)
      $0.append(Queue.deadJobs)
      $0.append(Queue.deadJobSize)
      $0.append(Self.isolatedLifetime)
    }
    guard try await run(pipeline)[0].integer == 1 else { return false }
    if CampaignID(id).part != nil {
      try await store.campaigns.end(id)
    } else {
      // Without their campaign, the content of the parts is unknown, so isolate the parts too.
      for part in try await listedParts(of: id) { _ = try await takeOut(campaign: part, reason: reason, hint: hint) }
    }
    try await store.campaigns.expireSlices(of: id, in: Array(0..<keys.partitions), after: Self.isolatedLifetime)
    pipeline.removeAll()
    pipeline.append("EXPIRE", keys.finished(id), Self.isolatedLifetime)
    pipeline.append("EXPIRE", keys.timeline(id), Self.isolatedLifetime)
    _ = try await run(pipeline)
    return true
  }

  /// Returns the parts of a campaign from the list of all campaigns, because its own record can't be read.
  private func listedParts(of whole: String) async throws -> [String] {
    var parts: [String] = []
    try await store.forEachPage {
      $1.append("ZSCAN", keys.all, $0, "MATCH", "\(whole)\(CampaignID.separator)*", "COUNT", CampaignStore.batch)
    } _: { pairs in
      parts += stride(from: 0, to: pairs.count - 1, by: 2).compactMap { pairs[$0].string }
      return true
    }
    return parts.filter { CampaignID($0).whole == whole && CampaignID($0).part != nil }
  }

  /// Returns whether a damaged key does not exist any more, because it was isolated.
  public func isGone(_ key: String) async throws -> Bool {
    var pipeline = RedisPipeline()
    pipeline.append("EXISTS", key)
    return try await run(pipeline)[0].integer == 0
  }

  /// Isolates a key of a wrong type, if workers can rebuild it or fill it again.
  public func setAside(damaged key: String) async {
    guard let stored = StoredKey(key, keys), case .list = stored.damage else { return }
    await setAside(key, type: stored.type)
  }

  /// Isolates a damaged key that workers can rebuild.
  ///
  /// - Parameter type: the type that the key should have; `nil` if the type is right and the values are wrong.
  func setAside(_ key: String, type: String?) async {
    do {
      var pipeline = RedisPipeline()
      pipeline.script(StoreScripts.setAside, keys: [key, keys.isolated(key)]) {
        $0.append(type ?? "")
        $0.append(Self.isolatedLifetime)
      }
      // The control epoch starts again from 0. Remove the epochs that workers have applied, because a worker with a
      // higher epoch would count as up to date.
      if key == keys.epoch { pipeline.append("UNLINK", keys.applied) }
      _ = try await redis.execute(pipeline)
    } catch {
      // The key was not renamed. The next process that reads it finds the damage again.
    }
  }
}
