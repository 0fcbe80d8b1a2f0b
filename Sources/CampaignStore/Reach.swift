import PushCore
import Redis

extension AudienceExpression.Node {
  /// The sets on which it depends whether the expression can mean anybody.
  var decidingSets: Set<AudienceSet> {
    switch self {
    case .segment(let name): [.segment(name)]
    case .everybody, .not: [.users]
    case .and(let left, .not): left.decidingSets
    case .and(let left, let right), .or(let left, let right): left.decidingSets.union(right.decidingSets)
    }
  }

  /// Whether the expression can mean anybody in a partition: true wherever it does, and in some where it doesn't, as
  /// nothing but which sets have members is asked. More sets never make it false.
  func canMeanAnybody(where hasMembers: (AudienceSet) -> Bool) -> Bool {
    switch self {
    case .segment(let name): hasMembers(.segment(name))
    case .everybody, .not: hasMembers(.users)
    // Taken from the left side, be they registered or not: see `AudienceSearch`.
    case .and(let left, .not): left.canMeanAnybody(where: hasMembers)
    case .and(let left, let right):
      left.canMeanAnybody(where: hasMembers) && right.canMeanAnybody(where: hasMembers)
    case .or(let left, let right):
      left.canMeanAnybody(where: hasMembers) || right.canMeanAnybody(where: hasMembers)
    }
  }
}

/// Where a campaign to an expression can have anybody: the partitions that get a slice when it begins.
extension CampaignStore {
  /// The partitions in which an expression can mean somebody now, or in which the campaign has a slice already: what
  /// was sealed there must not be left out when a campaign is taken in again that Redis had lost.
  ///
  /// One `EXISTS` for each partition and set, a batch a round trip. A campaign that can mean nobody gets the first
  /// partition, so that it ends as any other does.
  func partitions(for expression: AudienceExpression, of id: String) async throws -> [Int] {
    let sets = Array(expression.root.decidingSets)
    var reached: [Int] = []
    var pipeline = RedisPipeline()
    // Whole partitions in a round trip, however many sets there are.
    let step = max(1, Self.batch / sets.count)
    for start in stride(from: 0, to: keys.partitions, by: step) {
      let range = start..<min(start + step, keys.partitions)
      pipeline.removeAll()
      for partition in range {
        // With a slice there every set counts as there, and so does the expression.
        let slice = keys.slice(partition, of: id)
        for set in sets { pipeline.append("EXISTS", keys.members(partition, of: set), slice) }
      }
      let replies = try await run(pipeline)
      for (position, partition) in range.enumerated() {
        let there = Set(zip(sets, replies[(position * sets.count)...]).filter { $1.integer != 0 }.map(\.0))
        if expression.root.canMeanAnybody(where: { there.contains($0) }) { reached.append(partition) }
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

  /// The partitions in which a campaign has slices, or may have: all, where nothing says which it has not.
  func partitions(of record: CampaignRecord) -> [Int] {
    (0..<record.partitions).filter { !record.absent.contains($0) }
  }
}

extension Keyspace {
  func members(_ partition: Int, of set: AudienceSet) -> String {
    switch set {
    case .users: users(partition)
    case .segment(let name): segment(partition, name)
    }
  }
}
