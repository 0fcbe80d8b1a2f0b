public import PushCore
import Redis

/// The quotas of a campaign with a limit: the maximum number of users of each partition. The sum of the quotas is at
/// most the limit.
public struct AudienceQuotas: Sendable, Equatable {
  /// 32 bits for each partition.
  let bytes: [UInt8]

  init(_ quotas: [Int]) {
    bytes = quotas.flatMap { quota in
      stride(from: 24, through: 0, by: -8).map { UInt8(truncatingIfNeeded: quota >> $0) }
    }
  }

  /// Reads the stored form.
  ///
  /// - Returns: `nil` if the bytes are not for this number of partitions.
  init?(_ bytes: [UInt8], partitions: Int) {
    guard bytes.count == 4 * partitions else { return nil }
    self.bytes = bytes
  }

  /// Quota of a partition.
  public subscript(partition: Int) -> Int {
    guard bytes.count >= 4 * partition + 4 else { return 0 }
    return bytes[(4 * partition)..<(4 * partition + 4)].reduce(0) { $0 << 8 | Int($1) }
  }
}

/// Ranking: selects the users who were seen last, over all partitions. Before the expansion, each slice counts its
/// users by the time they were last seen. The worker that counts the last slice computes the quota of each partition.
///
/// Every step can be repeated, and the quotas never change after they are written. No slice selects more users than its
/// quota, even if a worker dies or users register in between.
extension Expansion {
  /// Returns the quotas of a campaign with a limit.
  ///
  /// If the users of the slice are not counted yet, the function counts them. The first call after all slices are
  /// counted opens the slices that wait for the quotas.
  ///
  /// - Parameters:
  ///   - slice: a slice that is held under a claim and not expanded.
  ///   - campaign: its campaign, which has a limit.
  ///   - filter: the device filter of the campaign.
  /// - Returns: `nil` while some slices are not counted.
  public func quotas(
    for slice: SliceReference, of campaign: Campaign, filter: DeviceFilter
  ) async throws -> AudienceQuotas? {
    // The legs of a stage share one ranking, which is stored under the first leg.
    let (partition, id) = (slice.partition, campaign.expandedTogether.first ?? slice.campaign)
    var pipeline = RedisPipeline()
    pipeline.append("HGET", keys.campaign(id), "quotas")
    pipeline.append("HGET", keys.ranking(id), partition)
    let replies = try await run(pipeline)
    if let quotas = try quotas(replies[0], of: id) { return quotas }
    var report: [UInt8] = []
    if replies[1].isNull {
      report = try await histogram(of: campaign, filter, in: partition).bytes
      // A partition without users also needs an entry.
      if report.isEmpty { report = RecencyHistogram.noUsers }
    }
    pipeline.removeAll()
    pipeline.script(StoreScripts.rank, keys: [keys.campaign(id), keys.ranking(id)]) {
      $0.append(partition)
      $0.append(report)
      $0.append(Self.rankingLifetime)
    }
    guard try await run(pipeline)[0].integer == 1,
      let found = try await quotas(of: id, limit: campaign.recipients.limit)
    else {
      // Another worker may have written the quotas in the meantime.
      pipeline.removeAll()
      pipeline.append("HGET", keys.campaign(id), "quotas")
      return try quotas(try await run(pipeline)[0], of: id)
    }
    pipeline.removeAll()
    pipeline.script(StoreScripts.quota, keys: [keys.campaign(id), keys.ranking(id)]) { $0.append(found.bytes) }
    guard let quotas = try quotas(try await run(pipeline)[0], of: id) else { return nil }
    for id in campaign.expandedTogether.isEmpty ? [id] : campaign.expandedTogether {
      try await store.campaigns.unparkAll(of: id, lane: campaign.delivery.lane, isReady: true)
    }
    return quotas
  }

  /// Seconds after which the counts expire if no quotas are computed. A campaign that is paused for longer is counted
  /// again.
  private static let rankingLifetime = 7 * 86_400

  private func quotas(_ reply: RedisReply, of id: String) throws -> AudienceQuotas? {
    guard !reply.isNull else { return nil }
    guard let quotas = AudienceQuotas(Array(reply.bytes ?? []), partitions: keys.partitions) else {
      throw StoreError(
        .campaign(id), "the field quotas of the key \(keys.campaign(id)) should have \(4 * keys.partitions) bytes")
    }
    return quotas
  }

  /// Returns a histogram of the users of a partition that a campaign can reach, by the time they were last seen.
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

  /// Computes the quotas.
  ///
  /// - Returns: `nil` if an unfinished slice was not counted.
  private func quotas(of id: String, limit: Int?) async throws -> AudienceQuotas? {
    var pipeline = RedisPipeline()
    pipeline.append("GET", keys.finished(id))
    // Partitions without a slice count as finished, too.
    let finished = PartitionBitmap(Array(try await run(pipeline)[0].bytes ?? []))
    var quotas = RecencyQuotas(limit: limit ?? .max)
    var isComplete = true
    try await forEachHistogram(of: id) { partition, histogram in
      if let histogram { quotas.count(histogram) } else if !finished.contains(partition) { isComplete = false }
    }
    guard isComplete else { return nil }
    quotas.settle()
    var each: [Int] = []
    try await forEachHistogram(of: id) { _, histogram in
      each.append(histogram.map { quotas.quota(of: $0) } ?? 0)
    }
    return AudienceQuotas(each)
  }

  private func forEachHistogram(of id: String, _ body: (Int, RecencyHistogram?) -> Void) async throws {
    for page in (0..<keys.partitions).batches() {
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
        guard !bytes.elementsEqual(RecencyHistogram.noUsers) else {
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
  /// Stored value of a partition without users, so that the field of the partition exists.
  fileprivate static let noUsers: [UInt8] = [UInt8(ascii: "-")]
}

/// The users of a partition who were seen last, with their targets. Their number is at most the quota. If users were
/// seen at the same time, a hash decides, so every run selects the same users.
struct BestUsers {
  private struct User {
    var seenAt: UInt64
    var tieBreaker: UInt64
    /// Range of the user's targets in `ends`. A user of the control group has one entry, which contains the user's id.
    var targets: Range<Int>
    /// Whether the user is in the control group.
    var isControl: Bool
  }

  private let quota: Int
  private let draw: UserDraw
  private var users: [User] = []
  /// The bytes of all targets, one after the other, and the end of each target.
  private var bytes: [UInt8] = []
  private var ends: [Int] = []
  /// The number that the caller gave for each target.
  private var marks: [Int] = []
  private var begun = 0

  /// Creates an empty selection.
  ///
  /// - Parameters:
  ///   - quota: the maximum number of users.
  ///   - campaign: the id of the campaign.
  init(quota: Int, campaign: String) {
    self.quota = quota
    draw = UserDraw(salt: "limit " + campaign)
  }

  /// Adds a target of the next user.
  ///
  /// - Parameter mark: a number that `forEachUser` returns with the target.
  mutating func add(_ mark: Int = 0, _ write: (inout [UInt8]) -> Void) {
    write(&bytes)
    marks.append(mark)
    ends.append(bytes.count)
  }

  /// Completes a user. The targets that were added since the last call belong to this user.
  mutating func end(user: UnsafeRawBufferPointer, seenAt: UInt64) { end(user, seenAt, isControl: false) }

  /// Adds a user of the control group.
  mutating func end(control user: UnsafeRawBufferPointer, seenAt: UInt64) {
    add { $0 += user }
    end(user, seenAt, isControl: true)
  }

  private mutating func end(_ user: UnsafeRawBufferPointer, _ seenAt: UInt64, isControl: Bool) {
    guard ends.count > begun else { return }
    users.append(User(seenAt: seenAt, tieBreaker: draw.bits(user), targets: begun..<ends.count, isControl: isControl))
    begun = ends.count
    // To bound the memory, remove the users who can no longer be selected.
    if users.count > 2 * quota + 1024 { keepBest() }
  }

  /// Calls `body` with the targets of each selected user, each with the number that the caller gave. For a user of the
  /// control group, `body` gets the user's id instead.
  ///
  /// - Parameter body: also gets whether the user is in the control group.
  mutating func forEachUser(_ body: (_ targets: [(bytes: ArraySlice<UInt8>, mark: Int)], _ isControl: Bool) -> Void) {
    keepBest()
    for user in users {
      body(user.targets.map { (bytes[($0 == 0 ? 0 : ends[$0 - 1])..<ends[$0]], marks[$0]) }, user.isControl)
    }
  }

  private mutating func keepBest() {
    users.sort { ($1.seenAt, $0.tieBreaker) < ($0.seenAt, $1.tieBreaker) }
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
