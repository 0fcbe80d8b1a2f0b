import PushCore
import Redis

/// Campaigns that begin later: by Redis' clock, on any worker's word, once.
extension CampaignStore {
  /// How far ahead a campaign may be scheduled, in days: what is further is nearly always a wrong year.
  static let longestSchedule = 366

  /// Refuses a time that is too far ahead. One that has passed means now.
  ///
  /// - Parameter sendAt: ms since the epoch.
  func checkSchedule(_ sendAt: Int) async throws {
    guard sendAt - (try await time() / 1000) > Self.longestSchedule * 86_400_000 else { return }
    throw StoreError(
      .invalid, "sendAt: \(Timestamp.format(milliseconds: sendAt)) is more than \(Self.longestSchedule) days ahead",
      hint: "check the year")
  }

  /// Begins those of these campaigns whose time has come. Any worker may, at the same time as others.
  ///
  /// What is in the schedule and should not be leaves it; what is scheduled and is not in it comes back.
  ///
  /// - Parameters:
  ///   - ids: the campaigns.
  ///   - narrowing: whether those to an expression leave out the partitions in which it can mean nobody; not where
  ///     Redis may have lost who was in them.
  /// - Returns: the campaigns that this call has begun, or made of those that are repeated.
  public func promote(_ ids: [String], narrowing: Bool = true) async throws -> [String] {
    guard !ids.isEmpty else { return [] }
    // Who is in which partition must be so where the campaign is begun.
    return try await pinned().promoteHere(ids, narrowing: narrowing)
  }

  private func promoteHere(_ all: [String], narrowing: Bool) async throws -> [String] {
    let ids: [String]
    var runs: Result<[String], any Error> = .success([])
    do {
      let (repeated, begun) = try await beginRuns(of: all)
      ids = all.filter { !repeated.contains($0) }
      runs = .success(begun)
    } catch {
      // What can't be repeated holds up nothing else; what is repeated is not begun by what follows.
      ids = all
      runs = .failure(error)
    }
    let lanes = try await lanes(of: ids)
    let narrowed = narrowing ? try await narrow(ids) : [:]
    var pipeline = RedisPipeline()
    for (id, lane) in zip(ids, lanes) {
      let partitions = narrowed[id] ?? []
      pipeline.script(
        StoreScripts.promote,
        keys: [
          // A campaign that has gone has no lane, and is put on none.
          keys.campaign(id), keys.lane((lane ?? .normal).rawValue), keys.schedule, keys.running, keys.open(id),
          keys.finished(id), keys.wake, keys.store,
        ]
      ) {
        $0.append(id)
        $0.append(keys.partitions)
        $0.append(partitions.isEmpty ? [] : PartitionBitmap(allBut: partitions, of: keys.partitions).bytes)
        for partition in partitions { $0.append(partition) }
      }
    }
    let begun = ids.isEmpty ? [] : zip(ids, try await run(pipeline)).filter { $1.integer == 1 }.map(\.0)
    return begun + (try runs.get())
  }

  /// Looks where those of these campaigns can have anybody that are to an expression and whose time has come.
  ///
  /// - Returns: their partitions; nothing of a campaign whose slices stay as they are.
  private func narrow(_ ids: [String]) async throws -> [String: [Int]] {
    var pipeline = RedisPipeline()
    for id in ids { pipeline.append("HMGET", keys.campaign(id), "state", "sendAt") }
    let fields = try await run(pipeline)
    let now = try await time() / 1000
    var narrowed: [String: [Int]] = [:]
    for (id, field) in zip(ids, fields) {
      guard field[0].string == CampaignState.scheduled.rawValue, field[1].integer ?? 0 <= now,
        // It may have gone, or another worker may have begun it.
        let (record, job) = try await campaignAndJob(id), record.state == .scheduled,
        let campaign = try? CampaignJob.parse(job, .any(services.service(ofApp: record.app))), campaign.isSearchedFor,
        let term = AudienceTerm(campaign)
      else { continue }
      let partitions = try await partitions(for: term, of: id)
      if partitions.count < keys.partitions { narrowed[id] = partitions }
    }
    return narrowed
  }

  /// Looks among all campaigns, a page at a time, for scheduled ones that the schedule has lost.
  ///
  /// - Parameters:
  ///   - position: where the page begins.
  ///   - narrowing: as with ``promote(_:narrowing:)``.
  /// - Returns: the campaigns that this call has begun, and where the next page begins: 0 after the last.
  public func repairSchedule(from position: Int, narrowing: Bool = true) async throws -> (begun: [String], next: Int) {
    var pipeline = RedisPipeline()
    pipeline.append("ZRANGE", keys.all, position, position + Self.batch - 1)
    let ids = try await run(pipeline)[0].compactMap(\.string)
    guard !ids.isEmpty else { return ([], 0) }
    pipeline.removeAll()
    for id in ids { pipeline.append("HGET", keys.campaign(id), "state") }
    let states = try await run(pipeline)
    let scheduled = zip(ids, states).filter { $1.string == CampaignState.scheduled.rawValue }.map(\.0)
    return (try await promote(scheduled, narrowing: narrowing), ids.count < Self.batch ? 0 : position + ids.count)
  }
}
