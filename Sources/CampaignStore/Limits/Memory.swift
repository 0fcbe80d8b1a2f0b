public import PushCore
import Redis

/// How much of its memory Redis uses; of a cluster the server that has the least room.
public struct MemoryUse: Equatable, Sendable {
  /// Bytes that count against the limit.
  public var used: Int
  /// `maxmemory` in bytes; 0 for none.
  public var limit: Int
  /// How many servers share what a campaign takes.
  var servers = 1
  /// Which of several it is.
  var endpoint: String?

  /// Percent of the limit above which no job is taken in, and no slice expanded: the rest is for what is sealed, whose
  /// outcomes are written however full Redis is.
  static let mark = 90

  init(used: Int, limit: Int) {
    self.used = used
    self.limit = limit
  }

  /// - Parameter sights: of all servers, at least one.
  init(_ sights: [RedisServerSight]) {
    let uses = sights.map { ($0.endpoint, MemoryUse($0.info)) }
    let fullest = uses.min { ($0.1.room ?? .max) < ($1.1.room ?? .max) }
    self = fullest?.1 ?? MemoryUse(used: 0, limit: 0)
    guard sights.count > 1 else { return }
    servers = sights.count
    endpoint = fullest?.0
  }

  init(_ info: RedisServerInfo) {
    // What is on its way to replicas and to the log is not counted by Redis either (evict.c, getMaxmemoryState).
    let uncounted = info.fields["mem_not_counted_for_evict"].flatMap { Int($0) } ?? 0
    self.init(used: (info.usedMemory ?? 0) - uncounted, limit: info.maximumMemory ?? 0)
  }

  /// Bytes that there are below the mark, for what is spread evenly; `nil` without a limit.
  public var room: Int? { limit > 0 ? (limit / 100 * Self.mark - used) * servers : nil }

  /// Why no job should be taken in now; `nil` when there is room.
  var problem: StoreError? {
    guard let room, room < 0 else { return nil }
    return StoreError(
      .full,
      "\(name) uses \(standing): above \(Self.mark) % no campaign is taken in",
      hint: "raise maxmemory, or wait until ended campaigns expire (ttl); campaigns that run go on")
  }

  /// Why something should not be begun that takes so many bytes; `nil` when there is room.
  ///
  /// - Parameters:
  ///   - what: what would take them, for people.
  ///   - bytes: by ``Limits/estimate(of:)``.
  public func shortage(of what: String, taking bytes: Int) -> String? {
    guard let room, room < bytes else { return nil }
    return "memory: \(what) takes some \(Self.mebibytes(bytes)) MiB, and \(name) uses \(standing) already, of which "
      + "\(Self.mark) % may be used"
  }

  private var name: String { endpoint.map { "the Redis at \($0)" } ?? "Redis" }

  private var standing: String {
    "\(Self.mebibytes(used)) of its \(Self.mebibytes(limit)) MiB (\(used * 100 / limit) %)"
  }

  private static func mebibytes(_ bytes: Int) -> Int { (bytes + (1 << 19)) >> 20 }
}

/// What a campaign takes of Redis' memory: by what was measured (`deploy/bench/README.md`, memory a target beyond the
/// registry), with something to spare.
public enum CampaignSize {
  /// Bytes of a slice, whatever it has.
  static let slice = 1200
  /// Bytes of a user or token that the job lists, in the set of its slice.
  fileprivate static let listed = 80

  /// Bytes of a target: its place in a page and its record, the line of its result, and what its push says of its own.
  static func target(_ results: ResultsMode, _ content: PersonalContent? = nil) -> Int {
    let own = content?.bytesPerTarget ?? 0
    return switch results {
    case .none: own + 84
    // One in eight fails, or it is no campaign to be planned for.
    case .failures: own + 104
    case .all: own + 244
    }
  }

  /// Bytes of what is left to expand of a campaign.
  public static func bytes(slices: Int, targetsPerSlice: Int, of campaign: Campaign) -> Int {
    slices * (slice + targetsPerSlice * target(campaign.results, campaign.message.content))
  }

  /// Bytes of a campaign of so many targets.
  public static func bytes(of targets: Int, _ campaign: Campaign, partitions: Int) -> Int {
    min(partitions, max(1, targets)) * slice + targets * target(campaign.results, campaign.message.content)
  }

  /// Bytes of targets that a job lists.
  static func bytes(listed count: Int, of campaign: Campaign) -> Int {
    count * (listed + target(campaign.results, campaign.message.content))
  }
}

/// Refusing work before Redis has to.
extension Limits {
  /// How much of its memory Redis uses now.
  public func memory() async throws -> MemoryUse {
    MemoryUse(try await redis.sights(["memory"]))
  }

  /// Refuses when Redis has no room for another campaign.
  ///
  /// - Throws: ``StoreError`` `full`.
  public func checkRoom() async throws {
    if let problem = try await memory().problem { throw problem }
  }

  /// Refuses when Redis has no room for a campaign, by what it is going to take.
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
      // Whoever may not see devices can't tell; workers wait before they expand it.
      return
    }
    guard let shortage = memory.shortage(of: "the campaign", taking: bytes) else { return }
    throw StoreError(
      .full, shortage,
      hint: "raise maxmemory, send it to fewer, or wait until ended campaigns expire (ttl)")
  }

  /// Partitions of which it is asked how many a campaign means: users are spread over all alike.
  private static let sampled = 64

  /// About how many targets a campaign has, and what it takes of Redis' memory; costs the same for every size. Whoever
  /// several sets have is counted as often as it takes to find them, so it is rather too much than too little.
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

  /// Users that are looked at to find those for whom an expression holds.
  private func number(of search: AudienceSearch) async throws -> Int {
    let (sample, sets) = (sample, search.sets)
    var total = 0
    // Whole partitions in a round trip, however many sets there are.
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

  /// By a few users of each of the sampled partitions.
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
