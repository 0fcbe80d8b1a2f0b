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
    let beginnings = try await beginnings(of: ids, narrowing: narrowing)
    var pipeline = RedisPipeline()
    for (id, lane) in zip(ids, lanes) {
      let partitions = beginnings[id]?.partitions ?? []
      pipeline.script(
        StoreScripts.promote,
        keys: [
          // A campaign that has gone has no lane, and is put on none.
          keys.campaign(id), keys.lane((lane ?? .normal).rawValue), keys.schedule, keys.running, keys.open(id),
          keys.finished(id), keys.wake, keys.store, keys.changes,
        ]
      ) {
        $0.append(id)
        $0.append(keys.partitions)
        $0.append(partitions.isEmpty ? [] : PartitionBitmap(allBut: partitions, of: keys.partitions).bytes)
        $0.append(beginnings[id]?.definitions.json ?? [])
        for partition in partitions { $0.append(partition) }
      }
    }
    let begun = ids.isEmpty ? [] : zip(ids, try await run(pipeline)).filter { $1.integer == 1 }.map(\.0)
    return begun + (try runs.get())
  }

  /// What is found out of a campaign when its time has come.
  private struct Beginning {
    /// Where it can have anybody; empty where its slices stay as they are.
    var partitions: [Int] = []
    /// The segments that are rules and on which its audience depends, as they are now.
    var definitions = SegmentDefinitions()
  }

  /// Looks whom those of these campaigns mean that are to an expression and whose time has come.
  private func beginnings(of ids: [String], narrowing: Bool) async throws -> [String: Beginning] {
    var pipeline = RedisPipeline()
    for id in ids { pipeline.append("HMGET", keys.campaign(id), "state", "sendAt") }
    let fields = try await run(pipeline)
    let now = try await time() / 1000
    var beginnings: [String: Beginning] = [:]
    for (id, field) in zip(ids, fields) {
      guard field[0].string == CampaignState.scheduled.rawValue, field[1].integer ?? 0 <= now,
        // It may have gone, or another worker may have begun it.
        let (record, job) = try await campaignAndJob(id), record.state == .scheduled,
        var campaign = try? CampaignJob.parse(job, .any(services.service(ofApp: record.app)))
      else { continue }
      campaign.definitions = try await definitions(for: campaign, known: record.definitions)
      var beginning = Beginning(definitions: campaign.definitions)
      if narrowing, campaign.isSearchedFor, let term = AudienceTerm(campaign, start: 0) {
        let partitions = try await partitions(for: term, of: id)
        if partitions.count < keys.partitions { beginning.partitions = partitions }
      }
      beginnings[id] = beginning
    }
    return beginnings
  }

  /// The segments that are rules and on which the audience of a campaign depends that begins now.
  ///
  /// - Parameter known: as they were when its job was taken in: one that was removed since stays what it was.
  private func definitions(
    for campaign: Campaign, known: SegmentDefinitions
  ) async throws -> SegmentDefinitions {
    // Where its job named none it names none now: a list of users stays one.
    guard !known.isEmpty else { return known }
    var expressions = campaign.exclusion.segment.map { [$0] } ?? []
    if case .segment(let expression) = campaign.audience { expressions.append(expression) }
    let all = try await definitions().or(known)
    return (try? all.reached(from: expressions)) ?? known
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
