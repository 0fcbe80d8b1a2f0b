public import PushCore
import Redis

/// How many users each partition takes of a campaign with a limit: all together as many as the limit says.
public struct AudienceQuotas: Sendable, Equatable {
  /// For each partition 32 bits.
  let bytes: [UInt8]

  init(_ quotas: [Int]) {
    bytes = quotas.flatMap { quota in
      stride(from: 24, through: 0, by: -8).map { UInt8(truncatingIfNeeded: quota >> $0) }
    }
  }

  /// - Returns: `nil` for what has not so many partitions.
  init?(_ bytes: [UInt8], partitions: Int) {
    guard bytes.count == 4 * partitions else { return nil }
    self.bytes = bytes
  }

  /// How many users a partition takes.
  public subscript(partition: Int) -> Int {
    guard bytes.count >= 4 * partition + 4 else { return 0 }
    return bytes[(4 * partition)..<(4 * partition + 4)].reduce(0) { $0 << 8 | Int($1) }
  }
}

/// The users seen last, of all partitions: each slice counts its users by when they were seen, before it is expanded; the last
/// one to be counted finds how many each takes. As every step can be repeated, and the quotas stand once they are there,
/// it does not matter who dies on the way, nor who registers meanwhile: nobody takes more than the quota.
extension Expansion {
  /// How many users each partition takes of a campaign with a limit.
  ///
  /// Counts those of a slice, where nobody has done that. The first that finds all counted opens the slices that wait for it.
  ///
  /// - Parameters:
  ///   - slice: held under a claim, not expanded.
  ///   - campaign: its campaign, which has a limit.
  ///   - filter: what it asks of devices.
  /// - Returns: `nil` while slices are left to be counted.
  public func quotas(
    for slice: SliceReference, of campaign: Campaign, filter: DeviceFilter
  ) async throws -> AudienceQuotas? {
    let (partition, id) = (slice.partition, slice.campaign)
    var pipeline = RedisPipeline()
    pipeline.append("HGET", keys.campaign(id), "quotas")
    pipeline.append("HEXISTS", keys.ranking(id), partition)
    let replies = try await run(pipeline)
    if let quotas = try quotas(replies[0], of: id) { return quotas }
    var report: [UInt8] = []
    if replies[1].integer != 1 {
      report = try await histogram(of: campaign, filter, in: partition).bytes
      // Nobody is something to say, too.
      if report.isEmpty { report = RecencyHistogram.nobody }
    }
    pipeline.removeAll()
    pipeline.script(StoreScripts.rank, keys: [keys.campaign(id), keys.ranking(id)]) {
      $0.append(partition)
      $0.append(report)
      $0.append(Self.rankingLifetime)
    }
    guard try await run(pipeline)[0].integer == 1, let found = try await quotas(of: campaign) else {
      // Somebody else may have found them since.
      pipeline.removeAll()
      pipeline.append("HGET", keys.campaign(id), "quotas")
      return try quotas(try await run(pipeline)[0], of: id)
    }
    pipeline.removeAll()
    pipeline.script(StoreScripts.quota, keys: [keys.campaign(id), keys.ranking(id)]) { $0.append(found.bytes) }
    guard let quotas = try quotas(try await run(pipeline)[0], of: id) else { return nil }
    try await store.campaigns.unparkAll(of: id, lane: campaign.delivery.lane, isReady: true)
    return quotas
  }

  /// Seconds for which counts are kept that nobody makes quotas of: a campaign that is paused for longer is counted anew.
  private static let rankingLifetime = 7 * 86_400

  private func quotas(_ reply: RedisReply, of id: String) throws -> AudienceQuotas? {
    guard !reply.isNull else { return nil }
    guard let quotas = AudienceQuotas(Array(reply.bytes ?? []), partitions: keys.partitions) else {
      throw StoreError(
        .campaign(id), "the field quotas of the key \(keys.campaign(id)) should have \(4 * keys.partitions) bytes")
    }
    return quotas
  }

  /// The users of a partition whom a campaign can reach, by when they were seen.
  func histogram(of campaign: Campaign, _ filter: DeviceFilter, in partition: Int) async throws -> RecencyHistogram {
    var histogram = RecencyHistogram()
    guard let search = AudienceSearch(campaign, start: filter.start) else { return histogram }
    try await forEachUser(of: search, in: partition, reading: filter.asksToChoose) { page in
      page.forEachUser { user, record, json, _ in
        if let seenAt = filter.seenAt(of: user, record, json) {
          histogram.add(bin: RecencyHistogram.bin(seenAt: seenAt, start: filter.start))
        }
      }
    }
    return histogram
  }

  /// Works out the quotas.
  ///
  /// - Returns: `nil` when a slice that is not finished was not counted.
  private func quotas(of campaign: Campaign) async throws -> AudienceQuotas? {
    var pipeline = RedisPipeline()
    pipeline.append("GET", keys.finished(campaign.id))
    // Those that have no slice are finished, too.
    let finished = PartitionBitmap(Array(try await run(pipeline)[0].bytes ?? []))
    var quotas = RecencyQuotas(limit: campaign.recipients.limit ?? .max)
    var isComplete = true
    try await forEachHistogram(of: campaign.id) { partition, histogram in
      if let histogram { quotas.count(histogram) } else if !finished.contains(partition) { isComplete = false }
    }
    guard isComplete else { return nil }
    quotas.settle()
    var each: [Int] = []
    try await forEachHistogram(of: campaign.id) { _, histogram in
      each.append(histogram.map { quotas.quota(of: $0) } ?? 0)
    }
    return AudienceQuotas(each)
  }

  private func forEachHistogram(of id: String, _ body: (Int, RecencyHistogram?) -> Void) async throws {
    for start in stride(from: 0, to: keys.partitions, by: CampaignStore.batch) {
      let page = start..<min(start + CampaignStore.batch, keys.partitions)
      var pipeline = RedisPipeline()
      pipeline.command("HMGET") { arguments in
        arguments.append(keys.ranking(id))
        for partition in page { arguments.append(partition) }
      }
      for (partition, reply) in zip(page, try await run(pipeline)[0]) {
        guard let bytes = reply.bytes else {
          body(partition, nil)
          continue
        }
        guard !bytes.elementsEqual(RecencyHistogram.nobody) else {
          body(partition, RecencyHistogram())
          continue
        }
        guard let histogram = RecencyHistogram(bytes) else {
          throw StoreError(
            .list(key: keys.ranking(id)),
            "the field \(partition) of the key \(keys.ranking(id)) has no counts of users by when they were seen")
        }
        body(partition, histogram)
      }
    }
  }
}

extension RecencyHistogram {
  /// What is stored of a partition that has nobody: a field that is there.
  fileprivate static let nobody: [UInt8] = [UInt8(ascii: "-")]
}

/// Users of a partition with their targets, as many as a quota allows, those seen last first. Ties go by a draw, so it is
/// the same ones however often they are looked for.
struct BestUsers {
  private struct User {
    var seenAt: UInt64
    var tie: UInt64
    /// Its targets, by their places among the ends; of who gets nothing the name instead.
    var targets: Range<Int>
    /// Whether they get nothing.
    var isControl: Bool
  }

  private let quota: Int
  private let draw: UserDraw
  private var users: [User] = []
  /// Targets as they are written, one behind the other, and where each ends.
  private var bytes: [UInt8] = []
  private var ends: [Int] = []
  /// What was said of each.
  private var marks: [Int] = []
  private var begun = 0

  /// - Parameters:
  ///   - quota: users.
  ///   - campaign: its id.
  init(quota: Int, campaign: String) {
    self.quota = quota
    draw = UserDraw(salt: "limit " + campaign)
  }

  /// A target of the user that comes next.
  ///
  /// - Parameter mark: comes back with it.
  mutating func add(_ mark: Int = 0, _ write: (inout [UInt8]) -> Void) {
    write(&bytes)
    marks.append(mark)
    ends.append(bytes.count)
  }

  /// The user whose targets have been added.
  ///
  mutating func end(user: UnsafeRawBufferPointer, seenAt: UInt64) { end(user, seenAt, isControl: false) }

  /// A user who gets nothing.
  mutating func end(control user: UnsafeRawBufferPointer, seenAt: UInt64) {
    add { $0 += user }
    end(user, seenAt, isControl: true)
  }

  private mutating func end(_ user: UnsafeRawBufferPointer, _ seenAt: UInt64, isControl: Bool) {
    guard ends.count > begun else { return }
    users.append(User(seenAt: seenAt, tie: draw.bits(user), targets: begun..<ends.count, isControl: isControl))
    begun = ends.count
    // What can't be among the best any more goes now and then, so there are never many more than are wanted.
    if users.count > 2 * quota + 1024 { keepBest() }
  }

  /// Calls `body` with the targets of each who is taken, and their marks; of who gets nothing the name instead.
  ///
  /// - Parameter body: also gets whether they get nothing.
  mutating func forEachUser(_ body: (_ targets: [(bytes: ArraySlice<UInt8>, mark: Int)], _ isControl: Bool) -> Void) {
    keepBest()
    for user in users {
      body(user.targets.map { (bytes[($0 == 0 ? 0 : ends[$0 - 1])..<ends[$0]], marks[$0]) }, user.isControl)
    }
  }

  private mutating func keepBest() {
    users.sort { ($1.seenAt, $0.tie) < ($0.seenAt, $1.tie) }
    users = Array(users.prefix(quota))
    var (kept, places, keptMarks): ([UInt8], [Int], [Int]) = ([], [], [])
    for index in users.indices {
      let targets = users[index].targets
      let start = targets.lowerBound == 0 ? 0 : ends[targets.lowerBound - 1]
      let first = places.count
      for target in targets { places.append(kept.count + ends[target] - start) }
      kept += bytes[start..<ends[targets.upperBound - 1]]
      keptMarks += marks[targets]
      users[index].targets = first..<places.count
    }
    (bytes, ends, marks, begun) = (kept, places, keptMarks, places.count)
  }
}
