import Redis

/// A view of one campaign for repeated refreshes. The cost of a refresh does not depend on the number of partitions. A
/// refresh reads the totals, the slices that workers hold, and some of the other slices in turn. The view keeps the
/// counts of a slice until a refresh reads the slice again, or until the totals include it. The first refresh reads all
/// slices, so that later ones start from complete counts.
public struct CampaignPoller: Sendable {
  private let id: String
  private var slices: [Int: OpenSlice] = [:]
  /// The first partition from which the next refresh reads other slices in turn.
  private var next = 0
  /// Partitions of the slices that workers held at the last refresh. The next refresh reads them again, because their
  /// counts may have changed since.
  private var former: [Int] = []
  /// Whether nothing has been read yet.
  private var isFirst = true
  /// Views of its parts, by id.
  private var parts: [String: CampaignPoller] = [:]

  /// Maximum number of held slices that one refresh reads.
  private static let most = CampaignStore.batch
  /// Number of other slices that one refresh reads in turn.
  private static let inTurn = 64

  /// Creates a view without any counts.
  ///
  /// - Parameter id: the id of the campaign.
  public init(_ id: String) { self.id = id }

  /// Returns the campaign with those counts of its open slices that have been read; `nil` if the campaign does not
  /// exist.
  public mutating func poll(_ store: CampaignStore) async throws -> CampaignRecord? {
    guard let (totals, finished) = try await store.campaigns.view(id) else { return nil }
    var record = totals
    if !record.staging.partIDs.isEmpty {
      var looked: [CampaignRecord] = []
      for id in record.staging.partIDs {
        var watch = parts[id] ?? CampaignPoller(id)
        if let part = try await watch.poll(store) { looked.append(part) }
        parts[id] = watch
      }
      record.take(looked)
    }
    guard record.hasOpenSlices else { return record }
    let inHand = try await store.campaigns.slicesInHand(of: id)
    let partitions = store.keys.partitions
    let turn = (0..<(isFirst ? partitions : min(Self.inTurn, partitions))).map { (next + $0) % partitions }
    isFirst = false
    next = (next + turn.count) % partitions
    let looked = Set((inHand + former).prefix(Self.most) + turn).filter { !finished.contains($0) }
    former = inHand
    for (partition, slice) in try await store.campaigns.counters(of: id, in: looked.sorted()) {
      slices[partition] = slice
    }
    slices = slices.filter { !finished.contains($0.key) }
    for slice in slices.values { record.add(slice) }
    return record
  }
}

extension Campaigns {
  /// Returns the partitions in which workers hold slices of a campaign, according to their lists.
  func slicesInHand(of id: String) async throws -> [Int] {
    let workers = try await store.fleet.workers()
    guard !workers.isEmpty else { return [] }
    var pipeline = RedisPipeline()
    for worker in workers { pipeline.append("LRANGE", keys.processing(worker: worker), 0, CampaignStore.batch - 1) }
    return try await run(pipeline).flatMap { list in
      list.compactMap { reply in
        reply.string.flatMap { SliceReference($0, partitions: keys.partitions) }
          .flatMap { $0.campaign == id ? $0.partition : nil }
      }
    }
  }
}
