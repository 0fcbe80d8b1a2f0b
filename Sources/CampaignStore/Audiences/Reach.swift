public import PushCore
import Redis

/// Whether an audience can have a user in a partition, judged only by which sets have members there.
extension AudienceTerm {
  /// The sets that decide whether the term can match a user.
  var decidingSets: Set<AudienceSet> {
    switch self {
    case .set(.matching), .not: [.users]
    case .set(let set): [set]
    case .and(let left, .not): left.decidingSets
    case .and(let left, let right), .or(let left, let right): left.decidingSets.union(right.decidingSets)
    }
  }

  /// Returns whether the term can match a user in a partition. The answer depends only on which sets have members, so
  /// it may be true although no user matches. If further sets get members, the answer never changes from true to false.
  func canMeanAnybody(where hasMembers: (AudienceSet) -> Bool) -> Bool {
    switch self {
    case .set(.matching), .not: hasMembers(.users)
    case .set(let set): hasMembers(set)
    // An exclusion removes users from the left side, registered or not. The right side therefore does not matter here.
    case .and(let left, .not): left.canMeanAnybody(where: hasMembers)
    case .and(let left, let right):
      left.canMeanAnybody(where: hasMembers) && right.canMeanAnybody(where: hasMembers)
    case .or(let left, let right):
      left.canMeanAnybody(where: hasMembers) || right.canMeanAnybody(where: hasMembers)
    }
  }
}

/// The partitions in which a campaign can have users. A campaign with an audience expression gets slices in these
/// partitions when it begins to expand.
extension Audiences {
  /// Stores the partitions in which a campaign has slices, and the current rules of its segments. A worker calls this
  /// function when the campaign begins to expand. Only the first call has an effect.
  ///
  /// - Returns: the valid definitions, from the first call; `nil` if the campaign no longer exists.
  /// - Throws: ``StoreError`` `invalid` if the audience depends on data that no longer exists.
  public func fixPartitions(of campaign: Campaign) async throws -> SegmentDefinitions? {
    // Use one set of connections, so that the partitions are read from the servers to which the campaign is written.
    try await store.pinned().audiences.fixPinnedPartitions(of: campaign)
  }

  private func fixPinnedPartitions(of campaign: Campaign) async throws -> SegmentDefinitions? {
    var campaign = try await withEarlierParts(campaign)
    campaign.recipients.definitions = try await currentDefinitions(for: campaign)
    var partitions: [Int] = []
    if campaign.isSearchedFor, let term = AudienceTerm(campaign, start: 0) {
      partitions = try await self.partitions(for: term, of: campaign.id)
    }
    if let users = campaign.listedByStage {
      let theirs = Set(users.map { Partition.of(user: $0, count: keys.partitions) })
      let both = (partitions.isEmpty ? store.queue.listedPartitions(of: campaign) : partitions).filter(theirs.contains)
      // A stage without a possible user gets one partition, so that it ends like any other stage.
      partitions = both.isEmpty ? [theirs.min() ?? 0] : both
    }
    if partitions.count == keys.partitions { partitions = [] }
    let together = [campaign.id] + campaign.expandedTogether.filter { $0 != campaign.id }
    var pipeline = RedisPipeline()
    pipeline.script(
      StoreScripts.narrow, keys: together.flatMap { [keys.campaign($0), keys.open($0), keys.finished($0)] }
    ) {
      $0.append(partitions.isEmpty ? [] : PartitionBitmap(allBut: partitions, of: keys.partitions).bytes)
      $0.append(campaign.recipients.definitions.isEmpty ? [] : campaign.recipients.definitions.json)
      $0.append(together.count)
      for id in together { $0.append(CampaignID(id).part.map(campaign.isReversed) == true ? "LPUSH" : "RPUSH") }
      for partition in partitions { $0.append(partition) }
    }
    guard let json = try await run(pipeline)[0].bytes else { return nil }
    return json.isEmpty ? SegmentDefinitions() : SegmentDefinitions(Array(json)) ?? campaign.recipients.definitions
  }

  /// Returns the current rules of the segments in a campaign's audience. If a rule was removed after the activation of
  /// the job, the campaign uses the rule as it was at the activation.
  private func currentDefinitions(for campaign: Campaign) async throws -> SegmentDefinitions {
    var expressions = campaign.recipients.exclusion.segment.map { [$0] } ?? []
    if case .segment(let expression) = campaign.recipients.audience { expressions.append(expression) }
    expressions.removeAll { $0.segmentNames.isEmpty }
    guard !expressions.isEmpty else { return SegmentDefinitions() }
    do {
      return try await definitions().or(campaign.recipients.definitions).reached(from: expressions)
    } catch let error as SegmentDefinitionError {
      throw StoreError(.invalid, "\(error)", hint: "check `carillon segment list`, and change the definition")
    }
  }

  /// Returns the partitions in which a term can match a user now, or in which the campaign already has a slice. If a
  /// campaign is activated again because Redis lost it, its sealed slices must not be left out.
  ///
  /// The cost is one `EXISTS` for each partition and set, with one round trip for each batch. A campaign without a
  /// possible user gets the first partition, so that it ends like any other.
  func partitions(for term: AudienceTerm, of id: String) async throws -> [Int] {
    let sets = Array(term.decidingSets)
    var reached: [Int] = []
    var pipeline = RedisPipeline()
    // Every round trip covers whole partitions, whatever the number of sets.
    let step = max(1, CampaignStore.batch / sets.count)
    for start in stride(from: 0, to: keys.partitions, by: step) {
      let range = start..<min(start + step, keys.partitions)
      pipeline.removeAll()
      for partition in range {
        // If the campaign has a slice in the partition, every set counts as present, and the term matches.
        let slice = keys.slice(partition, of: id)
        for set in sets { pipeline.append("EXISTS", keys.members(partition, of: set), slice) }
      }
      let replies = try await run(pipeline)
      for (position, partition) in range.enumerated() {
        let there = Set(zip(sets, replies[(position * sets.count)...]).filter { $1.integer != 0 }.map(\.0))
        if term.canMeanAnybody(where: { there.contains($0) }) { reached.append(partition) }
      }
    }
    return reached.isEmpty ? [0] : reached
  }

  /// Adds a slice to a campaign, in a partition in which the campaign had no slice. A worker has sealed targets in this
  /// partition, so the partition had users, and Redis has lost these users.
  public func addSlice(_ slice: SliceReference) async throws {
    let id = slice.campaign
    var pipeline = RedisPipeline()
    pipeline.script(
      StoreScripts.addSlice, keys: [keys.campaign(id), keys.finished(id), keys.running, keys.ended]
    ) {
      $0.append(slice.partition)
      $0.append(id)
    }
    _ = try await run(pipeline)
  }

}

extension Keyspace {
  /// Returns the key of a set, or another key that exists only if the set has members.
  func members(_ partition: Int, of set: AudienceSet) -> String {
    switch set {
    // A user who matches a condition is registered.
    case .users, .matching: users(partition)
    case .segment(let name): segment(partition, name)
    case .listed(let id): audience(partition, id)
    case .reached(let earlier): targets(partition, earlier.campaign)
    case .opened(let id): receipts(partition, .opened, id)
    }
  }

  /// Appends the command for the size of a set. For the users of an earlier campaign, this size is the number of pages
  /// of its targets. That is accurate enough, because sizes are only compared.
  func appendSize(of set: AudienceSet, in partition: Int, to pipeline: inout RedisPipeline) {
    if case .reached = set {
      pipeline.append("LLEN", members(partition, of: set))
    } else {
      pipeline.append("SCARD", members(partition, of: set))
    }
  }

  /// Appends the command that reads some users of an ended campaign. The reply has the format of SSCAN.
  ///
  /// - Parameter position: the first page to read: "0" at the beginning, then the position in the last reply.
  func appendPage(
    of earlier: EarlierAudience, in partition: Int, from position: String, to pipeline: inout RedisPipeline
  ) {
    let id = earlier.campaign
    pipeline.script(
      StoreScripts.reached, keys: [targets(partition, id), ledger(partition, id), slice(partition, of: id)]
    ) {
      $0.append(position)
      $0.append(CampaignStore.batch / TargetPage.size + 1)
      $0.append(TargetPage.size)
      $0.append(LedgerRecord.size)
      for outcome in earlier.outcomes { $0.append(Int(outcome.rawValue)) }
    }
  }
}

extension CampaignRecord {
  /// The partitions in which the campaign has slices, or may have slices: all partitions if `absent` is not known.
  var reachedPartitions: [Int] {
    guard staging.partIDs.isEmpty else { return [] }
    return (0..<placement.partitions).filter { !placement.absent.contains($0) }
  }
}
