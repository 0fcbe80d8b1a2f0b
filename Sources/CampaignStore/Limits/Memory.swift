public import PushCore
import Redis

/// Memory use of Redis; in a cluster, the memory use of the server with the least free memory.
public struct MemoryUse: Equatable, Sendable {
  /// Bytes that count towards the limit.
  public var used: Int
  /// `maxmemory` in bytes; 0 for no limit.
  public var limit: Int
  /// Number of servers that share the data of a campaign.
  var servers = 1
  /// Address of the server, if there are several.
  var endpoint: String?

  /// Percent of the limit above which no job is activated and no slice expanded. The rest is reserved for slices whose
  /// targets are sealed, because workers must be able to write their outcomes.
  static let mark = 90

  init(used: Int, limit: Int) {
    self.used = used
    self.limit = limit
  }

  /// Creates the memory use of the fullest server.
  /// - Parameter states: the states of all servers, at least one.
  init(_ states: [RedisServerState]) {
    let uses = states.map { ($0.endpoint, MemoryUse($0.info)) }
    let fullest = uses.min { ($0.1.room ?? .max) < ($1.1.room ?? .max) }
    self = fullest?.1 ?? MemoryUse(used: 0, limit: 0)
    guard states.count > 1 else { return }
    servers = states.count
    endpoint = fullest?.0
  }

  init(_ info: RedisServerInfo) {
    // Like Redis, do not count the buffers for replicas and for the append-only file (evict.c, getMaxmemoryState).
    let uncounted = info.fields["mem_not_counted_for_evict"].flatMap { Int($0) } ?? 0
    self.init(used: (info.usedMemory ?? 0) - uncounted, limit: info.maximumMemory ?? 0)
  }

  /// Free bytes below the ``mark``, for data that is spread evenly over the servers; `nil` without a limit.
  public var room: Int? { limit > 0 ? (limit / 100 * Self.mark - used) * servers : nil }

  /// The reason why no job should be activated now; `nil` if enough memory is free.
  var problem: StoreError? {
    guard let room, room < 0 else { return nil }
    return StoreError(
      .full,
      "\(name) uses \(standing): above \(Self.mark) % no new campaign starts",
      hint: "raise maxmemory, or wait until ended campaigns expire (ttl); running campaigns continue")
  }

  /// Returns the reason why work of this size should not begin; `nil` if enough memory is free.
  ///
  /// - Parameters:
  ///   - what: the work, as text for a person.
  ///   - bytes: the size from ``Limits/estimate(of:)``.
  public func shortage(of what: String, taking bytes: Int) -> String? {
    guard let room, room < bytes else { return nil }
    return
      "memory: \(what) needs about \(Self.mebibytes(bytes)) MiB, and \(name) already uses \(standing); the limit is "
      + "\(Self.mark) %"
  }

  private var name: String { endpoint.map { "the Redis at \($0)" } ?? "Redis" }

  private var standing: String {
    "\(Self.mebibytes(used)) of its \(Self.mebibytes(limit)) MiB (\(used * 100 / limit) %)"
  }

  private static func mebibytes(_ bytes: Int) -> Int { (bytes + (1 << 19)) >> 20 }
}

/// Memory of a campaign in Redis, with a margin. The numbers are measured: see `deploy/bench/README.md`.
public enum CampaignSize {
  /// Bytes of a slice without its targets.
  static let slice = 1200
  /// Bytes of a listed user or token in the set of its slice.
  fileprivate static let listed = 80

  /// Returns the bytes of a target: its place in a page, its record, its result line, and its own content.
  static func target(_ results: ResultsMode, _ content: PersonalContent? = nil) -> Int {
    let own = content?.bytesPerTarget ?? 0
    return switch results {
    case .none: own + 84
    // The estimate assumes that at most one target in eight fails.
    case .failures: own + 104
    case .all: own + 244
    }
  }

  /// Returns the bytes of the slices of a campaign that are not expanded yet.
  public static func bytes(slices: Int, targetsPerSlice: Int, of campaign: Campaign) -> Int {
    slices * (slice + targetsPerSlice * target(campaign.results, campaign.message.content))
  }

  /// Returns the bytes of a campaign with this number of targets.
  public static func bytes(of targets: Int, _ campaign: Campaign, partitions: Int) -> Int {
    min(partitions, max(1, targets)) * slice + targets * target(campaign.results, campaign.message.content)
  }

  /// Returns the bytes of targets that a job lists.
  static func bytes(listed count: Int, of campaign: Campaign) -> Int {
    count * (listed + target(campaign.results, campaign.message.content))
  }
}

/// Refuses work before Redis has to refuse writes.
///
/// `submit` refuses a campaign if the memory use with this campaign would exceed ``MemoryUse/mark``. The estimate reads
/// the sizes of sets in 64 partitions. If the Redis user of the producer may not read these sets, `submit` accepts the
/// campaign without an estimate. Workers expand a slice only if the rest of its campaign fits, and report why it waits
/// (`ExpansionPreconditions`). Sealed slices continue even if Redis is full. The check does not add up campaigns that
/// are expanded at the same time. Two such campaigns may therefore both stop in the middle, and wait until there is
/// enough memory for the rest.
extension Limits {
  /// Returns Redis' present use of memory.
  public func memory() async throws -> MemoryUse {
    MemoryUse(try await redis.serverStates(["memory"]))
  }

  /// Throws if Redis has no memory for another campaign.
  ///
  /// - Throws: ``StoreError`` `full`.
  public func checkRoom() async throws {
    if let problem = try await memory().problem { throw problem }
  }

  /// Throws if Redis has no memory for a campaign of the estimated size.
  ///
  /// - Throws: ``StoreError`` `full`.
  func checkRoom(for campaign: Campaign) async throws {
    let memory = try await memory()
    if let problem = memory.problem { throw problem }
    guard memory.room != nil else { return }
    let bytes: Int
    do {
      bytes = try await estimate(of: campaign).bytes
    } catch let error as StoreError where error.code == .forbidden {
      // The Redis user of a producer may not be allowed to read devices. Workers check the memory before they expand
      // the campaign.
      return
    }
    guard let shortage = memory.shortage(of: "the campaign", taking: bytes) else { return }
    throw StoreError(
      .full, shortage,
      hint: "raise maxmemory, choose a smaller audience, or wait until ended campaigns expire (ttl)")
  }

  /// Number of partitions that are read for an estimate. Users are spread evenly over all partitions.
  private static let sampled = 64

  /// Estimates the targets of a campaign and its memory in Redis. The cost of this function does not depend on the size
  /// of the campaign. The estimate may be too high, because a user counts once for each set with this user that is
  /// read.
  public func estimate(of campaign: Campaign) async throws -> (targets: Int, bytes: Int) {
    let campaign = try await store.audiences.withEarlierParts(campaign)
    switch campaign.recipients.audience {
    case .tokens(let tokens): return Self.listed(tokens.count, campaign)
    case .channel: return Self.listed(1, campaign)
    case .users(let users):
      let targets = try await min(users.count, campaign.recipients.limit ?? .max) * devicesPerHundredUsers() / 100
      return (targets, Self.listed(targets, campaign).bytes)
    case .segment, .campaign, .activity:
      guard let search = AudienceSearch(campaign, start: 0) else { return (0, 0) }
      let targets =
        try await min(number(of: search), campaign.recipients.limit ?? .max) * devicesPerHundredUsers() / 100
      return (targets, CampaignSize.bytes(of: targets, campaign, partitions: keys.partitions))
    }
  }

  private static func listed(_ count: Int, _ campaign: Campaign) -> (targets: Int, bytes: Int) {
    let values = campaign.message.recipientValues.values.reduce(0) { $0 + $1.count + CampaignSize.listed }
    return (count, CampaignSize.bytes(listed: count, of: campaign) + count * CampaignSize.slice + values)
  }

  private var sample: [Int] {
    let count = min(keys.partitions, Self.sampled)
    return (0..<count).map { $0 * keys.partitions / count }
  }

  /// Estimates the number of users that are read to evaluate an expression.
  private func number(of search: AudienceSearch) async throws -> Int {
    let (sample, sets) = (sample, search.sets)
    var total = 0
    // Every round trip covers whole partitions, whatever the number of sets.
    let step = max(1, CampaignStore.batch / sets.count)
    for start in stride(from: 0, to: sample.count, by: step) {
      var pipeline = RedisPipeline()
      for partition in sample[start..<min(start + step, sample.count)] {
        for set in sets { keys.appendSize(of: set, in: partition, to: &pipeline) }
      }
      var sizes = try await run(pipeline).map { $0.integer ?? 0 }
      for position in sizes.indices {
        if case .reached = sets[position % sets.count] { sizes[position] *= TargetPage.size }
      }
      for first in stride(from: 0, to: sizes.count, by: sets.count) {
        total += search.size(Array(sizes[first..<(first + sets.count)]))
      }
    }
    return total * keys.partitions / sample.count
  }

  /// Estimates the number of devices of a hundred users, from a few users of each sampled partition.
  private func devicesPerHundredUsers() async throws -> Int {
    var pipeline = RedisPipeline()
    for partition in sample { pipeline.append("HSCAN", keys.devices(partition), 0, "COUNT", 5) }
    var (users, devices) = (0, 0)
    for reply in try await run(pipeline) {
      for (index, record) in reply[1].prefix(20).enumerated() where index % 2 == 1 {
        users += 1
        devices += record.withBytes { DeviceCursor($0).reduce(0) { count, _ in count + 1 } }
      }
    }
    return users > 0 ? max(100, devices * 100 / users) : 100
  }
}
