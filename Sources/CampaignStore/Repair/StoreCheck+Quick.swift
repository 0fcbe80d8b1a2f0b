import PushCore
import Redis

/// Quick checks that compare only counts and types of keys. They take moments and need only read rights.
extension Repair {
  /// Checks the keys that everything depends on, and compares the counts of each partition. The function repairs
  /// nothing; ``check(repairing:pause:found:)`` repairs.
  ///
  /// - Parameter pause: time between the two checks of values that may be changing.
  /// - Returns: the findings, and the approximate number of users of a partition.
  public func quickCheck(pause: Duration = .seconds(1)) async throws -> (findings: [StoreFinding], users: Int) {
    var findings = try await wrongTypes()
    guard findings.isEmpty else { return (findings, 0) }
    let check = StoreCheck(store: store, repairs: false, pause: pause)
    var users = 0
    let partitions = Array(0..<keys.partitions)
    for start in stride(from: 0, to: partitions.count, by: CampaignStore.batch / 2) {
      let page = Array(partitions[start..<min(start + CampaignStore.batch / 2, partitions.count)])
      let uneven = try await check.twice(page) { partitions in
        let counts = try await userCounts(of: partitions)
        users += counts.reduce(0) { $0 + (partitions.count == page.count ? $1.listed : 0) }
        return zip(partitions, counts).filter { $1.listed != $1.withDevices }.map(\.0)
      }
      for (partition, count) in zip(uneven, try await userCounts(of: uneven)) {
        findings.append(
          check.finding(
            count.listed > count.withDevices ? .userWithoutDevices : .userNotListed, keys.users(partition), "",
            "\(count.listed) listed, \(count.withDevices) with devices"))
      }
    }
    return (findings, users / max(1, keys.partitions))
  }

  private func wrongTypes() async throws -> [StoreFinding] {
    let control =
      [
        keys.store, keys.campaigns, keys.running, keys.schedule, keys.gates, keys.approvals, keys.parked, keys.workers,
        keys.instances,
        keys.reports,
        keys.all, keys.ended, keys.expiring, keys.applied, keys.epoch, keys.dead, keys.feedback, keys.segments,
        keys.housekeeping, keys.housekeeper,
      ] + keys.lanes + EventList.allCases.map { keys.events($0) }
    let stored = control.compactMap { StoredKey($0, keys) }
    var pipeline = RedisPipeline()
    for key in stored { pipeline.append("TYPE", key.name) }
    return zip(stored, try await run(pipeline)).compactMap { key, reply in
      guard let type = reply.string, type != "none", type != key.type else { return nil }
      return StoreFinding(
        kind: .wrongType, key: key.name, subject: "", detail: "\(type), not \(key.type)", standing: .open)
    }
  }

  private func userCounts(of partitions: [Int]) async throws -> [(listed: Int, withDevices: Int)] {
    guard !partitions.isEmpty else { return [] }
    var pipeline = RedisPipeline()
    for partition in partitions {
      pipeline.append("SCARD", keys.users(partition))
      pipeline.append("HLEN", keys.devices(partition))
    }
    let replies = try await run(pipeline)
    return partitions.indices.map { (replies[2 * $0].integer ?? 0, replies[2 * $0 + 1].integer ?? 0) }
  }
}
