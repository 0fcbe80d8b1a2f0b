public import PushCore
import Redis

extension AudienceTerm {
  /// The sets on which it depends whether the term can mean anybody.
  var decidingSets: Set<AudienceSet> {
    switch self {
    case .set(.matching), .not: [.users]
    case .set(let set): [set]
    case .and(let left, .not): left.decidingSets
    case .and(let left, let right), .or(let left, let right): left.decidingSets.union(right.decidingSets)
    }
  }

  /// Whether the term can mean anybody in a partition: true wherever it does, and in some where it doesn't, as
  /// nothing but which sets have members is asked. More sets never make it false.
  func canMeanAnybody(where hasMembers: (AudienceSet) -> Bool) -> Bool {
    switch self {
    case .set(.matching), .not: hasMembers(.users)
    case .set(let set): hasMembers(set)
    // Taken from the left side, be they registered or not: see `AudienceSearch`.
    case .and(let left, .not): left.canMeanAnybody(where: hasMembers)
    case .and(let left, let right):
      left.canMeanAnybody(where: hasMembers) && right.canMeanAnybody(where: hasMembers)
    case .or(let left, let right):
      left.canMeanAnybody(where: hasMembers) || right.canMeanAnybody(where: hasMembers)
    }
  }
}

/// Where a campaign to an expression can have anybody: the partitions that get a slice when it begins to expand.
extension Audiences {
  /// Fixes the partitions in which a campaign has slices, and the rules of its segments, as they are now: it begins to
  /// expand. Only the first call does so.
  ///
  /// - Returns: the definitions in force: those of the first call; `nil` when the campaign is gone.
  /// - Throws: ``StoreError`` `invalid` when the audience depends on what is not there any more.
  public func narrow(_ campaign: Campaign) async throws -> SegmentDefinitions? {
    // Who is in which partition must be so where the campaign is written.
    try await store.pinned().audiences.narrowHere(campaign)
  }

  private func narrowHere(_ campaign: Campaign) async throws -> SegmentDefinitions? {
    var campaign = try await withEarlierParts(campaign)
    campaign.recipients.definitions = try await currentDefinitions(for: campaign)
    var partitions: [Int] = []
    if campaign.isSearchedFor, let term = AudienceTerm(campaign, start: 0) {
      partitions = try await self.partitions(for: term, of: campaign.id)
    }
    if let users = campaign.listedByStage {
      let theirs = Set(users.map { Partition.of(user: $0, count: keys.partitions) })
      let both = (partitions.isEmpty ? store.queue.listedPartitions(of: campaign) : partitions).filter(theirs.contains)
      // A stage that can mean nobody gets one partition, so that it ends as any other does.
      partitions = both.isEmpty ? [theirs.min() ?? 0] : both
    }
    if partitions.count == keys.partitions { partitions = [] }
    var pipeline = RedisPipeline()
    pipeline.script(
      StoreScripts.narrow, keys: [keys.campaign(campaign.id), keys.open(campaign.id), keys.finished(campaign.id)]
    ) {
      $0.append(partitions.isEmpty ? [] : PartitionBitmap(allBut: partitions, of: keys.partitions).bytes)
      $0.append(campaign.recipients.definitions.isEmpty ? [] : campaign.recipients.definitions.json)
      for partition in partitions { $0.append(partition) }
    }
    guard let json = try await run(pipeline)[0].bytes else { return nil }
    return json.isEmpty ? SegmentDefinitions() : SegmentDefinitions(Array(json)) ?? campaign.recipients.definitions
  }

  /// The segments that are rules and on which the audience of a campaign depends, as they are now. A rule that was removed
  /// since its job was taken in stays what it was then.
  private func currentDefinitions(for campaign: Campaign) async throws -> SegmentDefinitions {
    var expressions = campaign.recipients.exclusion.segment.map { [$0] } ?? []
    if case .segment(let expression) = campaign.recipients.audience { expressions.append(expression) }
    expressions.removeAll { $0.segmentNames.isEmpty }
    guard !expressions.isEmpty else { return SegmentDefinitions() }
    do {
      return try await definitions().or(campaign.recipients.definitions).reached(from: expressions)
    } catch let error as SegmentDefinitionError {
      throw StoreError(.invalid, "\(error)", hint: "see `carillon segment list`, and define it otherwise")
    }
  }

  /// The partitions in which a term can mean somebody now, or in which the campaign has a slice already: what
  /// was sealed there must not be left out when a campaign is taken in again that Redis had lost.
  ///
  /// One `EXISTS` for each partition and set, a batch a round trip. A campaign that can mean nobody gets the first
  /// partition, so that it ends as any other does.
  func partitions(for term: AudienceTerm, of id: String) async throws -> [Int] {
    let sets = Array(term.decidingSets)
    var reached: [Int] = []
    var pipeline = RedisPipeline()
    // Whole partitions in a round trip, however many sets there are.
    let step = max(1, CampaignStore.batch / sets.count)
    for start in stride(from: 0, to: keys.partitions, by: step) {
      let range = start..<min(start + step, keys.partitions)
      pipeline.removeAll()
      for partition in range {
        // With a slice there every set counts as there, and so does the term.
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

  /// Gives a campaign a slice that was left out, because a worker has sealed it: Redis has lost who was there.
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
  /// The key that has the members of a set, or is there where it has any.
  func members(_ partition: Int, of set: AudienceSet) -> String {
    switch set {
    // Who matches a condition is registered.
    case .users, .matching: users(partition)
    case .segment(let name): segment(partition, name)
    case .listed(let id): audience(partition, id)
    case .reached(let earlier): targets(partition, earlier.campaign)
    case .opened(let id): receipts(partition, .opened, id)
    }
  }

  /// Asks how many members a set has: of targets how many pages, which is enough to compare.
  func appendSize(of set: AudienceSet, in partition: Int, to pipeline: inout RedisPipeline) {
    if case .reached = set {
      pipeline.append("LLEN", members(partition, of: set))
    } else {
      pipeline.append("SCARD", members(partition, of: set))
    }
  }

  /// Reads some users of a campaign that has ended; the reply is as to SSCAN.
  ///
  /// - Parameter position: of the page that comes first; "0" at the beginning, as the last reply says from then on.
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
  /// The partitions in which a campaign has slices, or may have: all, where nothing says which it has not.
  var reachedPartitions: [Int] {
    guard partIDs.isEmpty else { return [] }
    return (0..<partitions).filter { !absent.contains($0) }
  }
}
