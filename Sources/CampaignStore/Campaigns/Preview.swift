public import PushCore
import Redis

/// Targets that a campaign has, or would have, for a user.
public struct UserTargets: Sendable {
  /// Targets with the values of their pushes. They include the user's devices that get the push, and may include
  /// targets of other users.
  public let chunk: TargetChunk
  /// Positions of the user's devices in ``chunk``.
  public let positions: [Int]
  /// Whether the targets are sealed. If not, the targets follow from the present registrations.
  public let isSealed: Bool
}

extension Campaigns {
  /// Returns what a campaign would send to a user's devices if the user were in its audience.
  ///
  /// - Parameters:
  ///   - legs: the campaign of each leg, in their order; at least one. They may be parts of one stage.
  ///   - filter: the filter of all these legs.
  ///   - isNew: whether the campaign was never submitted, so that nothing is sealed.
  /// - Returns: the targets of each leg.
  public func targets(
    of user: String, in legs: [Campaign], filter: DeviceFilter, isNew: Bool
  ) async throws -> [UserTargets] {
    if !isNew, let sealed = try await sealedTargets(of: user, in: legs) { return sealed }
    let campaign = legs[0]
    let partition = Partition.of(user: user, count: keys.partitions)
    var pipeline = RedisPipeline()
    pipeline.append("HGET", keys.devices(partition), user)
    pipeline.append("HGET", keys.attributes(partition), user)
    let replies = try await run(pipeline)
    let others = legs.dropFirst().map { "\($0.id) \($0.service)" }
    let ledger = SliceLedger(
      store: store, slice: SliceReference(campaign: campaign.id, partition: partition), lease: 1, app: campaign.app,
      parts: [campaign.id] + others)
    var builder = TargetBuilder(ledger: ledger, filter: filter)
    // Values in the job itself replace values that were uploaded separately.
    var values = campaign.message.recipientValues[user] ?? []
    if values.isEmpty { values = try await self.store.queue.values(of: user, in: campaign) }
    Array(user.utf8).withUnsafeBytes { user in
      replies[0].withBytes { record in
        values.withUnsafeBytes { builder.add(user, record, replies[1], values: $0, filter: filter) }
      }
    }
    builder.endPage()
    return builder.ofLegs.map { targets in
      let chunk = targets.chunk
      return UserTargets(chunk: chunk, positions: Array(0..<chunk.count), isSealed: false)
    }
  }

  /// Returns the targets of a user in the sealed slices of all legs; `nil` if no leg has a sealed slice. A leg without
  /// targets in the partition has no sealed slice.
  private func sealedTargets(of user: String, in legs: [Campaign]) async throws -> [UserTargets]? {
    var targets: [UserTargets?] = []
    for campaign in legs {
      let stage = campaign.delivery.stages.map { stages in Array(user.utf8).withUnsafeBytes(stages.draw.index) }
      let part =
        campaign.part
        ?? (campaign.parts.isEmpty
          ? nil : campaign.legs(ofStage: stage ?? 0).first { $0.service == nil || $0.service == campaign.service })
      let id = CampaignID(whole: campaign.whole, part: part).description
      targets.append(try await sealedTargets(of: user, in: id))
    }
    guard targets.contains(where: { $0 != nil }) else { return nil }
    return targets.map { $0 ?? UserTargets(chunk: TargetChunk(first: 0, capacity: 0), positions: [], isSealed: true) }
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
