import PushCore
import Redis

/// The move of campaigns that have not begun.
extension RepartitionMove {
  /// Creates new slices and lists of users for campaigns that have not begun. All other campaigns have ended before the
  /// move, and their slices do not move.
  mutating func campaigns(_ spread: Int) async throws {
    try await here.campaigns.forEachPage(.oldestFirst, of: Self.page) { ids in
      for id in ids { try await reslice(id, spread) }
      return true
    }
  }

  private mutating func reslice(_ id: String, _ spread: Int) async throws {
    guard let (record, job) = try await here.campaigns.findWithJob(id), !record.state.isFinal else { return }
    let campaign = try record.campaign(job, record.apps(in: here.services))
    // Only the whole campaign has the keys of the listed users, so skip its parts.
    guard campaign.part == nil else {
      return try await reslice(id, to: destination.queue.listedPartitions(of: campaign))
    }
    for page in (0..<spread).batches() {
      var pipeline = RedisPipeline()
      for partition in page {
        pipeline.append("UNLINK", keys.audience(partition, id))
        if !campaign.message.hasValuesBeside { pipeline.append("UNLINK", keys.values(partition, id)) }
      }
      _ = try await here.run(pipeline)
    }
    if campaign.message.hasValuesBeside {
      for partition in 0..<spread { try await moveValues(of: id, in: partition) }
    }
    // A recurring campaign itself sends no pushes.
    let isSent = campaign.delivery.timing.repetition == nil
    try await reslice(id, to: isSent ? destination.queue.writeAudience(of: campaign) : [])
  }

  private mutating func reslice(_ id: String, to partitions: [Int]) async throws {
    var pipeline = RedisPipeline()
    pipeline.script(
      StoreScripts.reslice, keys: [keys.campaign(id), keys.open(id), keys.finished(id), keys.running]
    ) {
      $0.append(id)
      $0.append(destination.keys.partitions)
      $0.append(PartitionBitmap(allBut: partitions, of: destination.keys.partitions).bytes)
      for partition in partitions { $0.append(partition) }
    }
    tally.campaigns += try await here.run(pipeline)[0].integer ?? 0
  }

  /// Moves the placeholder values that were uploaded separately from the job of a campaign to the partitions of their
  /// users.
  private mutating func moveValues(of id: String, in partition: Int) async throws {
    try await forEachPage("HSCAN", keys.values(partition, id)) { move, pairs in
      var moved: [Int: [Int]] = [:]
      for index in stride(from: 0, to: pairs.count - 1, by: 2) {
        let home = move.newPartition(ofUser: Array(pairs[index].bytes ?? []))
        if home != partition { moved[home, default: []].append(index) }
      }
      for part in [true, false] {
        // Values are deleted only after they were written to their new place.
        var pipeline = RedisPipeline()
        for (home, indexes) in moved {
          pipeline.command(part ? "HSET" : "HDEL") { arguments in
            arguments.append(move.keys.values(part ? home : partition, id))
            for index in indexes {
              arguments.append(pairs[index])
              if part { arguments.append(pairs[index + 1]) }
            }
          }
        }
        if !pipeline.isEmpty { _ = try await move.here.run(pipeline) }
      }
    }
  }
}
