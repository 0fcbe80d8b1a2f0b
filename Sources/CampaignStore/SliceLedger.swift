public import PushCore
import Redis

/// What claiming a slice came to.
public enum ClaimAnswer: Sendable {
  /// It is ours.
  case claimed(SliceStanding)
  /// Another worker's lease has this many ms left.
  case held(milliseconds: Int)
  /// It had ended before; what is left is to count it.
  case finished
}

/// How far a slice has come.
public struct SliceStanding: Sendable {
  /// Whether the targets are fixed; before that there are none.
  public var isSealed: Bool
  /// Sealed targets.
  public var count: Int
  /// The high-water mark: targets below it may have been sent.
  public var granted: Int
  /// Granted without an answer.
  public var inDoubt: Int
  /// Waiting for a retry.
  public var waiting: Int
  /// How often the slice has been claimed, this time included.
  public var claims: Int
  /// What the list of targets is called; nothing before the seal.
  public var seal: [UInt8]
  /// How often it has been written to.
  public var version: SliceVersion
  /// Claims in a row that ran out without an outcome in between: after some, the slice is taken to kill its workers.
  public var deaths: Int
  /// First and last of the targets that were bisected when the last of them died, if any were.
  public var bisected: ClosedRange<Int>?
}

/// A target that may be sent.
public struct GrantedTarget: Equatable, Sendable {
  /// Its place in the slice.
  public var index: Int
  /// Attempts before this one.
  public var attempt: UInt8
  /// How many of them don't count.
  public var free: UInt8

  /// Memberwise; a first attempt unless said otherwise.
  public init(index: Int, attempt: UInt8 = 0, free: UInt8 = 0) {
    self.index = index
    self.attempt = attempt
    self.free = free
  }
}

/// How often a slice has been written to since its seal.
public struct SliceVersion: Equatable, Sendable {
  /// Commits by owners.
  public var sequence: Int
  /// Failover replays.
  public var replays: Int

  /// Memberwise; that of a slice just sealed unless said otherwise.
  public init(sequence: Int = 0, replays: Int = 0) {
    self.sequence = sequence
    self.replays = replays
  }

  /// After one more commit by its owner.
  public var next: SliceVersion { SliceVersion(sequence: sequence + 1, replays: replays) }
}

/// What a commit says beside its outcomes.
public struct CommitRequest: Sendable {
  /// What Redis should know.
  public enum Standing: Sendable {
    /// Everything up to this version: that after the last acknowledged commit.
    case acknowledged(SliceVersion)
    /// Perhaps not what it had acknowledged: the commit replays that, up to this high-water mark. Nothing is granted.
    case replay(granted: Int)
  }

  /// The name of the list of targets.
  public var seal: [UInt8]
  /// What Redis should know.
  public var standing: Standing
  /// How many more targets may be granted.
  public var credit: Int
  /// How many targets in doubt are being sent again because of this claim.
  public var resent: Int

  /// Memberwise.
  public init(seal: [UInt8], standing: Standing, credit: Int = 0, resent: Int = 0) {
    self.seal = seal
    self.standing = standing
    self.credit = credit
    self.resent = resent
  }
}

/// What a commit brought.
public struct CommitAnswer: Sendable {
  /// Whether the claim still holds; if not, nothing was granted.
  public var isOwner: Bool
  /// Whether the slice is sealed, and under the seal of the commit; if not, its outcomes were dropped.
  public var isSealed: Bool
  /// The version that was stored before. Another than was acknowledged means that nothing was granted.
  public var version: SliceVersion
  /// The high-water mark now: first attempts below it may be sent.
  public var granted: Int
  /// Granted without an answer.
  public var inDoubt: Int
  /// Waiting for a retry.
  public var waiting: Int
  /// ms until the nearest retry is due; `nil` when none waits.
  public var nextRetry: Int?
  /// Retries that may be sent.
  public var retries: [GrantedTarget]
}

/// How a slice is closed.
public enum Closing: String, Sendable {
  /// Every target has its outcome.
  case finish
  /// The campaign was cancelled: what has no outcome gets one.
  case cancel
}

/// What closing a slice came to.
public enum CloseAnswer: Sendable {
  /// It has ended, now or before, with these counters.
  case closed(SliceCounters)
  /// The claim is another's.
  case stale
  /// Targets are left that are granted, waiting or never granted.
  case unfinished
}

/// One slice under one claim: the fence that every step carries.
public struct SliceLedger: Sendable {
  /// The slice.
  public let slice: SliceReference
  /// How long a lease lasts, in ms.
  public let lease: Int
  /// 128 random bits as text. Random, not counted: a number that Redis lost would be given out twice.
  public let claim: [UInt8]
  let store: CampaignStore
  /// What delivers the pushes of its campaign.
  let service: any PushService
  /// What its notices begin with.
  private let names: [UInt8]

  private let sliceKey: [UInt8]
  private let building: [UInt8]
  private let targets: [UInt8]
  let commitKeys: [[UInt8]]

  /// A ledger under a new claim, which ``claim(worker:gracePeriod:)`` is yet to make good.
  ///
  /// - Parameters:
  ///   - store: where the slice is.
  ///   - slice: which one.
  ///   - lease: ms; without a commit for longer a worker may lose the slice.
  ///   - app: of its campaign.
  public init(store: CampaignStore, slice: SliceReference, lease: Int, app: String) {
    service = store.services.service(ofApp: app)
    names = DeviceNotice.Head.names(service: service.name, app: app, campaign: slice.campaign)
    self.store = store
    self.slice = slice
    self.lease = lease
    var random = SystemRandomNumberGenerator()
    claim = (0..<32).map { _ in Hex.digits[Int.random(in: 0..<16, using: &random)] }
    let keys = store.keys
    let (partition, id) = (slice.partition, slice.campaign)
    sliceKey = Array(keys.slice(partition, of: id).utf8)
    building = Array(keys.building(partition, id, claim: String(decoding: claim, as: UTF8.self)).utf8)
    targets = Array(keys.targets(partition, id).utf8)
    commitKeys = [
      keys.slice(partition, of: id), keys.ledger(partition, id), keys.retry(partition, id), keys.results(partition, id),
      keys.reasons(partition, id), keys.devices(partition), keys.users(partition), keys.outbox(partition),
      keys.owner(partition), keys.quarantine(partition),
    ].map { Array($0.utf8) }
  }

  /// Claims the slice.
  ///
  /// - Parameters:
  ///   - worker: who claims it.
  ///   - gracePeriod: ms of it that are left: another's claim that has run out still holds for as long.
  /// - Throws: ``StoreError`` `mismatch` when another version has sealed it.
  public func claim(worker: String, gracePeriod: Int = 0) async throws -> ClaimAnswer {
    var pipeline = RedisPipeline()
    pipeline.script(StoreScripts.claim, keys: [sliceKey, building]) {
      $0.append(claim)
      $0.append(worker)
      $0.append(lease)
      $0.append(gracePeriod)
      $0.append(TargetPage.formatVersion)
      $0.append(Self.buildingLifetime)
    }
    let reply = try await store.run(pipeline)[0]
    switch reply[0].string {
    case "done": return .finished
    case "held": return .held(milliseconds: reply[1].integer ?? lease)
    case "format": throw StoreError(unreadable: slice, version: reply[1].integer)
    default:
      return .claimed(
        SliceStanding(
          isSealed: reply[1].string == "sealed", count: reply[2].integer ?? 0, granted: reply[3].integer ?? 0,
          inDoubt: reply[4].integer ?? 0, waiting: reply[5].integer ?? 0, claims: reply[6].integer ?? 0,
          seal: Array(reply[8].bytes ?? []),
          version: SliceVersion(sequence: reply[9].integer ?? 0, replays: reply[10].integer ?? 0),
          deaths: reply[11].integer ?? 0, bisected: Self.range(reply[12].string ?? "")))
    }
  }

  private static func range(_ text: String) -> ClosedRange<Int>? {
    let ends = text.split(separator: " ").compactMap { Int($0) }
    return ends.count == 2 && ends[0] <= ends[1] ? ends[0]...ends[1] : nil
  }

  /// Notes which targets of a slice that kills its workers are sent alone; `nil` when the search is over.
  ///
  /// - Returns: false when the claim is stale.
  public func bisect(_ targets: ClosedRange<Int>?) async throws -> Bool {
    var pipeline = RedisPipeline()
    pipeline.script(StoreScripts.bisect, keys: [sliceKey]) {
      $0.append(claim)
      $0.append(targets.map { "\($0.lowerBound) \($0.upperBound)" } ?? "")
    }
    return try await store.run(pipeline)[0].integer == 1
  }

  /// Writes a step of the expansion: pages of targets to add to the list that is being built, a few in a command.
  ///
  /// The list carries the name of the claim, and only that claim can seal it, so this needs no fence. `claim.lua` makes
  /// the list: RPUSHX adds nothing where there is none.
  func append(_ targets: SealedTargets, from first: Int = 0, to pipeline: inout RedisPipeline) {
    for start in stride(from: first, to: targets.ends.count, by: Self.pagesAtOnce) {
      pipeline.command("RPUSHX") { arguments in
        arguments.append(building)
        for page in start..<min(start + Self.pagesAtOnce, targets.ends.count) { arguments.append(targets.page(page)) }
      }
    }
  }

  private static let pagesAtOnce = 4

  /// Seconds after which the list of a claim that has not sealed it expires.
  static let buildingLifetime = 3600

  /// Writes an empty commit: it renews the lease.
  func renewLease(to pipeline: inout RedisPipeline) {
    let request = CommitRequest(seal: [], standing: .acknowledged(SliceVersion()))
    write(OutcomeBatch(), request, to: &pipeline)
  }

  /// Whether a step of an expansion was refused: the list or the claim is gone.
  static func isRefused(_ reply: RedisReply) -> Bool {
    reply.kind == .array ? reply.first?.integer == 0 : reply.integer == 0
  }

  /// Writes the end of the expansion.
  ///
  /// - Parameters:
  ///   - count: of targets.
  ///   - pages: that they stand on.
  func seal(count: Int, pages: Int, to pipeline: inout RedisPipeline) {
    pipeline.script(StoreScripts.seal, keys: [sliceKey, building, targets]) {
      $0.append(claim)
      $0.append(count)
      $0.append(pages)
      $0.append(lease)
      $0.append(TargetPage.formatVersion)
    }
  }

  /// Reads sealed targets; fewer than asked for at the end of the list.
  public func targets(from first: Int, count: Int) async throws -> TargetChunk {
    var pipeline = RedisPipeline()
    let pages = TargetPage.pages(of: first..<(first + count))
    pipeline.append("LRANGE", targets, pages.lowerBound, pages.upperBound)
    let reply = try await store.run(pipeline)[0]
    var chunk = TargetChunk(first: first, capacity: count)
    for page in reply { page.withBytes { chunk.append(page: $0) } }
    return chunk
  }

  /// Reads records; those never written are those of an untouched or just granted target.
  ///
  /// - Returns: the records, and whether the claim stood when they were read: only then is what they have as granted the
  ///   caller's, and not of whoever has taken over.
  public func records(from first: Int, count: Int) async throws -> (records: [LedgerRecord], isOwner: Bool) {
    let size = LedgerRecord.size
    var pipeline = RedisPipeline()
    pipeline.append("GETRANGE", commitKeys[1], first * size, (first + count) * size - 1)
    pipeline.append("HGET", sliceKey, "claim")
    let replies = try await store.run(pipeline)
    let records = try replies[0].withBytes { bytes in
      try (0..<count).map { index in
        guard let record = LedgerRecord(bytes, at: index * size) else {
          throw StoreError(unreadable: slice, version: nil)
        }
        return record
      }
    }
    return (records, replies[1].withBytes { $0.elementsEqual(claim) })
  }

  /// Merges outcomes and asks for credit; renews the lease even when there is neither.
  ///
  /// - Parameters:
  ///   - outcomes: at most 500.
  ///   - request: what is asked for, and what Redis should know.
  public func commit(_ outcomes: inout OutcomeBatch, _ request: CommitRequest) async throws -> CommitAnswer {
    outcomes.sort()
    var pipeline = RedisPipeline(reserving: 1024 + outcomes.estimatedBytes)
    write(outcomes, request, to: &pipeline)
    let reply = try await store.run(pipeline)[0]
    let overruling = reply[9].withBytes { bytes in
      stride(from: 0, to: bytes.count - 3, by: 4).map { bytes[$0..<($0 + 4)].reduce(0) { $0 << 8 | UInt32($1) } }
    }
    if !overruling.isEmpty { try await overrule(overruling, with: outcomes, under: request.seal) }
    let retries = reply[6].withBytes { bytes in
      stride(from: 0, to: bytes.count - 5, by: 6).map { at in
        let index = bytes[at..<(at + 4)].reduce(0) { $0 << 8 | Int($1) }
        return GrantedTarget(index: index, attempt: bytes[at + 4], free: bytes[at + 5])
      }
    }
    let due = reply[5].integer ?? -1
    return CommitAnswer(
      isOwner: reply[0].integer == 1, isSealed: reply[1].string == "sealed",
      version: SliceVersion(sequence: reply[7].integer ?? 0, replays: reply[8].integer ?? 0),
      granted: reply[2].integer ?? 0, inDoubt: reply[3].integer ?? 0,
      waiting: reply[4].integer ?? 0, nextRetry: due < 0 ? nil : due, retries: retries)
  }

  private func write(_ outcomes: OutcomeBatch, _ request: CommitRequest, to pipeline: inout RedisPipeline) {
    pipeline.script(StoreScripts.commit, keys: commitKeys) { arguments in
      arguments.append(claim)
      arguments.append(lease)
      switch request.standing {
      case .acknowledged(let version):
        arguments.append(request.credit)
        arguments.append(request.resent)
        arguments.append(request.seal)
        arguments.append("\(version.sequence) \(version.replays)")
        arguments.append(0)
      case .replay(let granted):
        arguments.append(0)
        arguments.append(request.resent)
        arguments.append(request.seal)
        arguments.append("" as StaticString)
        arguments.append(granted)
      }
      outcomes.write(to: &arguments, of: service, names: names)
    }
  }

  /// Ends the claim, so that another worker need not wait for the lease.
  public func unclaim() async throws {
    var pipeline = RedisPipeline()
    pipeline.script(StoreScripts.unclaim, keys: [sliceKey]) { $0.append(claim) }
    _ = try await store.run(pipeline)
  }

  /// Ends the slice.
  public func close(_ closing: Closing) async throws -> CloseAnswer {
    var pipeline = RedisPipeline()
    pipeline.script(StoreScripts.close, keys: [sliceKey, building, commitKeys[2]]) {
      $0.append(claim)
      $0.append(closing.rawValue)
    }
    let reply = try await store.run(pipeline)[0]
    switch reply.integer {
    case 0: return .stale
    case 1: return .unfinished
    default: return .closed(SliceCounters(slice: reply.integers))
    }
  }
}
