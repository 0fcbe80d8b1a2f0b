public import PushCore
import Redis

/// The result of a bounded check of an audience: some of its users, and the reasons why they get no push.
public struct ReachSample: Sendable, Equatable {
  /// The checked users. The check ends at the first user who gets a push, so ``AudienceCount/users`` is 1 or 0.
  public var users = AudienceCount()
  /// Whether all users of the audience were checked.
  public var isComplete = true
  /// Number of queued registration events, which may change the audience.
  public var events = 0
}

/// Checks at a bounded cost whether a campaign reaches at least one user.
extension Audiences {
  /// Largest number of checked users: two pages of devices, which takes a few ms.
  private static let sampledUsers = 1000
  /// Largest number of searched partitions. Each partition costs at least two round trips.
  private static let sampledWalks = 16

  /// Searches for the first user who would get a push of the campaign if it began now.
  ///
  /// Calls `EXISTS` once for each partition and set of the audience, as a worker does at the start of a campaign. Then
  /// checks at most 1,000 users, in at most 16 partitions. If the job lists users, checks 1,000 of them, evenly spread
  /// over the list.
  ///
  /// - Returns: `nil` if the users are unknown (raw tokens and channels), or if an earlier campaign of the audience has
  ///   not ended.
  public func sampleReach(of campaign: Campaign, filter: DeviceFilter) async throws -> ReachSample? {
    guard campaign.isToUsers, try await unfinishedEarlier(of: campaign) == nil else { return nil }
    var campaign = try await withEarlierParts(campaign)
    campaign.recipients.definitions = try await store.queue.check(campaign)
    var sample = ReachSample()
    if case .users(let users) = campaign.recipients.audience {
      try await inspect(users, filter, &sample)
    } else if let search = AudienceSearch(campaign, start: filter.start) {
      try await look(for: search, of: campaign.id, filter, &sample)
    }
    if sample.users.users == 0 {
      var pipeline = RedisPipeline()
      pipeline.append("LLEN", keys.events(.registrations))
      sample.events = try await run(pipeline)[0].integer ?? 0
    }
    return sample
  }

  private func inspect(_ users: [String], _ filter: DeviceFilter, _ sample: inout ReachSample) async throws {
    let count = min(users.count, Self.sampledUsers)
    sample.isComplete = count == users.count
    let some = (0..<count).map { users[$0 * users.count / count] }
    let asksForAttributes = filter.asksToChoose.attributes
    var found = AudienceCount()
    // The replies of a partition: the devices of its users, then their attributes if the condition needs them.
    for (partition, members) in Dictionary(grouping: some, by: { Partition.of(user: $0, count: keys.partitions) }) {
      var pipeline = RedisPipeline()
      for key in [keys.devices(partition)] + (asksForAttributes ? [keys.attributes(partition)] : []) {
        pipeline.command("HMGET") { arguments in
          arguments.append(key)
          for member in members { arguments.append(member) }
        }
      }
      let replies = try await run(pipeline)
      for (index, member) in members.enumerated() where found.users == 0 {
        let record = replies[0][index]
        guard !record.isNull else {
          found[.noDevice] += 1
          continue
        }
        Array(member.utf8).withUnsafeBytes { user in
          record.withBytes { found.add(user, $0, asksForAttributes ? replies[1][index] : nil, filter) }
        }
      }
      if found.users > 0 { break }
    }
    sample.users = found
  }

  private func look(
    for search: AudienceSearch, of id: String, _ filter: DeviceFilter, _ sample: inout ReachSample
  ) async throws {
    let partitions = try await partitions(for: search.root, of: id)
    for (number, partition) in partitions.enumerated() {
      var members = MemberWalk(.users(search), in: partition, reading: filter.asksToChoose, keys)
      while !members.isOver {
        guard number < Self.sampledWalks, sample.users.left < Self.sampledUsers else {
          sample.isComplete = false
          return
        }
        var pipeline = RedisPipeline()
        members.read(to: &pipeline)
        let replies = pipeline.isEmpty ? [] : try await run(pipeline)
        sample.users.add(members.receive(replies[...]), filter)
        if sample.users.users > 0 { return }
      }
    }
  }
}

extension AudienceCount {
  /// Adds the users of a page until one of them gets a push or is in a control group.
  fileprivate mutating func add(_ page: MemberPage, _ filter: DeviceFilter) {
    self[.excluded] += page.excluded.count
    self[.suppressed] += page.suppressed.count
    for record in page.records where record.isNull { self[.noDevice] += 1 }
    page.forEachUser { user, record, json, _ in
      if users == 0 { add(user, record, json, filter) }
    }
  }

  /// Adds a user who has devices.
  fileprivate mutating func add(
    _ user: UnsafeRawBufferPointer, _ record: UnsafeRawBufferPointer, _ json: RedisReply?, _ filter: DeviceFilter
  ) {
    var isReached = false
    filter.forEachTarget(of: user, record, json) { _, _ in isReached = true }
    if isReached { users += 1 } else { self[filter.reason(for: user, record)] += 1 }
  }
}
