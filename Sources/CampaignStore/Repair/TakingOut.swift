import PushCore
import Redis

/// Taking out what is damaged, so that everything else goes on: a slice, a campaign, a list that is rebuilt.
extension Repair {
  /// Seconds that something set aside is kept for whoever looks into it: a week.
  private static let asideMemory = 7 * 86400

  /// Takes a slice out: its reason goes to the dead list, and it counts as finished, without its targets. Its campaign
  /// ends as failed when all others are finished. The keys of the slice stay as they are until they expire.
  ///
  /// - Returns: the campaign's state when this was its last slice.
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

  /// Puts the reason why a slice is taken out on the dead list, once.
  ///
  /// - Returns: whether it is still to be counted as finished.
  func putOnDeadList(_ slice: SliceReference, reason: String, hint: String) async throws -> Bool {
    let id = slice.campaign
    var pipeline = RedisPipeline()
    pipeline.script(StoreScripts.takeOutSlice, keys: [keys.campaign(id), keys.finished(id), keys.dead]) {
      $0.append(slice.partition)
      $0.append(id)
      $0.append("slice \(slice) was taken out: \(reason)")
      $0.append(hint)
      $0.append(Queue.deadJobs)
      $0.append(Queue.deadJobSize)
    }
    return try await run(pipeline)[0].integer == 1
  }

  /// Takes a campaign out: its reason goes to the dead list, and what is left of it is set aside.
  ///
  /// - Returns: false when there is no such campaign.
  public func takeOut(campaign id: String, reason: String, hint: String) async throws -> Bool {
    let key = keys.campaign(id)
    var pipeline = RedisPipeline()
    pipeline.script(
      StoreScripts.takeOutCampaign,
      keys: [
        key, keys.aside(key), keys.open(id), keys.running, keys.schedule, keys.ended, keys.all, keys.dead, keys.changes,
      ]
    ) {
      $0.append(id)
      $0.append("campaign \(id) was taken out: \(reason)")
      $0.append(hint)
      $0.append(Queue.deadJobs)
      $0.append(Queue.deadJobSize)
      $0.append(Self.asideMemory)
    }
    guard try await run(pipeline)[0].integer == 1 else { return false }
    if CampaignID(id).part != nil {
      try await store.campaigns.end(id)
    } else {
      // Without their campaign nobody knows what its parts say.
      for part in try await listedParts(of: id) { _ = try await takeOut(campaign: part, reason: reason, hint: hint) }
    }
    try await store.campaigns.expireSlices(of: id, in: Array(0..<keys.partitions), after: Self.asideMemory)
    pipeline.removeAll()
    pipeline.append("EXPIRE", keys.finished(id), Self.asideMemory)
    pipeline.append("EXPIRE", keys.timeline(id), Self.asideMemory)
    _ = try await run(pipeline)
    return true
  }

  /// The parts of a campaign by the list of all campaigns: its own record can't be read.
  private func listedParts(of whole: String) async throws -> [String] {
    var (parts, cursor): ([String], String) = ([], "0")
    repeat {
      var pipeline = RedisPipeline()
      pipeline.append(
        "ZSCAN", keys.all, cursor, "MATCH", "\(whole)\(CampaignID.separator)*", "COUNT", CampaignStore.batch)
      let reply = try await run(pipeline)[0]
      cursor = reply[0].string ?? "0"
      parts += stride(from: 0, to: reply[1].count - 1, by: 2).compactMap { reply[1][$0].string }
    } while cursor != "0"
    return parts.filter { CampaignID($0).whole == whole && CampaignID($0).part != nil }
  }

  /// Whether a key that was damaged has been set aside.
  public func isGone(_ key: String) async throws -> Bool {
    var pipeline = RedisPipeline()
    pipeline.append("EXISTS", key)
    return try await run(pipeline)[0].integer == 0
  }

  /// Sets a key aside if it has another type than it should, and is made anew.
  public func setAside(damaged key: String) async {
    guard let stored = StoredKey(key, keys), case .list = stored.damage else { return }
    await setAside(key, type: stored.type)
  }

  /// Sets a key aside that is damaged and is made anew.
  ///
  /// - Parameter type: that it should have; `nil` when it has it, and its values are what is wrong.
  func setAside(_ key: String, type: String?) async {
    do {
      var pipeline = RedisPipeline()
      pipeline.script(StoreScripts.setAside, keys: [key, keys.aside(key)]) {
        $0.append(type ?? "")
        $0.append(Self.asideMemory)
      }
      // Workers that have applied what it counted up to would not wait for what it counts from now on.
      if key == keys.epoch { pipeline.append("UNLINK", keys.applied) }
      _ = try await redis.execute(pipeline)
    } catch {
      // It is found again by whoever comes next.
    }
  }
}
