public import PushCore
import Redis

/// Targets that a campaign has, or would have, for a user.
public struct UserTargets: Sendable {
  /// The user's devices that get the push, with the values of their pushes.
  public let chunk: TargetChunk
  /// Their positions in ``chunk``.
  public let positions: [Int]
  /// Whether the targets are sealed. If not, they are those of the present registrations.
  public let isSealed: Bool
}

extension Campaigns {
  /// Returns what a campaign would send to a user's devices if the user were in its audience.
  ///
  /// - Parameter isNew: whether the campaign was never submitted, so that nothing is sealed.
  public func targets(
    of user: String, in campaign: Campaign, filter: DeviceFilter, isNew: Bool
  ) async throws -> UserTargets {
    if !isNew {
      let stage = campaign.delivery.stages.map { stages in Array(user.utf8).withUnsafeBytes(stages.draw.place) }
      let part =
        campaign.part ?? campaign.parts(ofStage: stage ?? 0).first.flatMap { campaign.parts.isEmpty ? nil : $0 }
      let id = CampaignID(whole: campaign.whole, part: part).description
      if let sealed = try await sealedTargets(of: user, in: id) { return sealed }
    }
    let partition = Partition.of(user: user, count: keys.partitions)
    var pipeline = RedisPipeline()
    pipeline.append("HGET", keys.devices(partition), user)
    pipeline.append("HGET", keys.attributes(partition), user)
    let replies = try await run(pipeline)
    let ledger = SliceLedger(
      store: store, slice: SliceReference(campaign: campaign.id, partition: partition), lease: 1, app: campaign.app)
    var builder = TargetBuilder(ledger: ledger, filter: filter)
    // Values in the job itself replace values that were uploaded beside it.
    var values = campaign.message.recipientValues[user] ?? []
    if values.isEmpty { values = try await self.store.queue.values(of: user, in: campaign) }
    Array(user.utf8).withUnsafeBytes { user in
      replies[0].withBytes { record in
        values.withUnsafeBytes { builder.add(user, record, replies[1], values: $0, filter: filter) }
      }
    }
    builder.endPage()
    let chunk = builder.targets.chunk
    return UserTargets(chunk: chunk, positions: Array(0..<chunk.count), isSealed: false)
  }

  /// Returns the targets of a user in a sealed slice; `nil` if the slice is not sealed.
  private func sealedTargets(of user: String, in id: String) async throws -> UserTargets? {
    guard let record = try await find(id) else { return nil }
    let slice = SliceReference(campaign: id, partition: Partition.of(user: user, count: record.placement.partitions))
    var pipeline = RedisPipeline()
    pipeline.append("HMGET", keys.slice(slice.partition, of: id), "phase", "count")
    let reply = try await run(pipeline)[0]
    guard let count = reply[1].integer, count > 0, reply[0].string != "expanding" else { return nil }
    let ledger = SliceLedger(store: store, slice: slice, lease: 1, app: record.app)
    // Targets are in the order of their send times, so the devices of a user in several time zones are not adjacent.
    var span: ClosedRange<Int>?
    for first in stride(from: 0, to: count, by: CampaignStore.batch) {
      let chunk = try await ledger.targets(from: first, count: min(CampaignStore.batch, count - first))
      let positions = chunk.places.indices.filter { chunk.user($0).elementsEqual(user.utf8) }
      guard let start = positions.first, let end = positions.last else { continue }
      span = (span?.lowerBound ?? first + start)...(first + end)
    }
    if let span {
      let all = try await ledger.targets(from: span.lowerBound, count: span.count)
      return UserTargets(
        chunk: all, positions: all.places.indices.filter { all.user($0).elementsEqual(user.utf8) }, isSealed: true)
    }
    return UserTargets(chunk: TargetChunk(first: 0, capacity: 0), positions: [], isSealed: true)
  }
}
