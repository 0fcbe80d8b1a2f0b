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
}

/// A target that may be sent.
public struct GrantedTarget: Sendable {
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

/// What a commit brought.
public struct CommitAnswer: Sendable {
  /// Whether the claim still holds; if not, nothing was granted.
  public var isOwner: Bool
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

/// One slice under one claim: the fence that every step carries.
public struct SliceLedger: Sendable {
  /// The slice.
  public let slice: SliceReference
  /// How long a lease lasts, in ms.
  public let lease: Int
  /// 128 random bits in hex. Random, not counted: a number that Redis forgot would be given out twice.
  let claim: [UInt8]
  let store: CampaignStore

  private let sliceKey: [UInt8]
  private let building: [UInt8]
  private let targets: [UInt8]
  private let ledger: [UInt8]
  private let commitKeys: [[UInt8]]

  /// A ledger under a new claim, which ``claim(worker:app:)`` is yet to make good.
  ///
  /// - Parameters:
  ///   - store: where the slice is.
  ///   - slice: which one.
  ///   - lease: ms; a worker that is silent for longer may lose the slice.
  public init(store: CampaignStore, slice: SliceReference, lease: Int) {
    self.store = store
    self.slice = slice
    self.lease = lease
    var random = SystemRandomNumberGenerator()
    claim = (0..<32).map { _ in Hex.digits[Int.random(in: 0..<16, using: &random)] }
    let keys = store.keys
    let (partition, id) = (slice.partition, slice.campaign)
    sliceKey = Array(keys.slice(partition, of: id).utf8)
    building = Array(keys.building(partition, id).utf8)
    targets = Array(keys.targets(partition, id).utf8)
    ledger = Array(keys.ledger(partition, id).utf8)
    commitKeys = [
      keys.slice(partition, of: id), keys.ledger(partition, id), keys.retry(partition, id), keys.results(partition, id),
      keys.reasons(partition, id), keys.devices(partition), keys.users(partition), keys.outbox(partition),
      keys.owner(partition), keys.targets(partition, id),
    ].map { Array($0.utf8) }
  }

  /// Claims the slice.
  public func claim(worker: String, app: String) async throws -> ClaimAnswer {
    var pipeline = RedisPipeline()
    pipeline.script(StoreScripts.claim, keys: [sliceKey, building]) {
      $0.append(claim)
      $0.append(worker)
      $0.append(lease)
      $0.append(app)
    }
    let reply = try await store.run(pipeline)[0]
    switch reply[0].string {
    case "done": return .finished
    case "held": return .held(milliseconds: reply[1].integer ?? lease)
    default:
      return .claimed(
        SliceStanding(
          isSealed: reply[1].string == "sealed", count: reply[2].integer ?? 0, granted: reply[3].integer ?? 0,
          inDoubt: reply[4].integer ?? 0, waiting: reply[5].integer ?? 0, claims: reply[6].integer ?? 0))
    }
  }

  /// Writes a step of the expansion: targets to add to the list that is being built.
  func append(_ entries: EntryList, to pipeline: inout RedisPipeline) {
    pipeline.script(StoreScripts.append, keys: [sliceKey, building]) { arguments in
      arguments.append(claim)
      arguments.append(lease)
      entries.forEach { arguments.append($0) }
    }
  }

  /// Writes the end of the expansion.
  func seal(count: Int, to pipeline: inout RedisPipeline) {
    pipeline.script(StoreScripts.seal, keys: [sliceKey, building, targets]) {
      $0.append(claim)
      $0.append(count)
      $0.append(lease)
    }
  }

  /// Reads sealed targets; fewer than asked for at the end of the list.
  public func targets(from first: Int, count: Int) async throws -> TargetChunk {
    var pipeline = RedisPipeline()
    pipeline.append("LRANGE", targets, first, first + count - 1)
    let reply = try await store.run(pipeline)[0]
    var chunk = TargetChunk(first: first, capacity: reply.count)
    for entry in reply { entry.withBytes { chunk.append(entry: $0) } }
    return chunk
  }

  /// Reads records; those never written are those of an untouched or just granted target.
  public func records(from first: Int, count: Int) async throws -> [LedgerRecord] {
    let size = LedgerRecord.size
    var pipeline = RedisPipeline()
    pipeline.append("GETRANGE", ledger, first * size, (first + count) * size - 1)
    return try await store.run(pipeline)[0].withBytes { bytes in
      try (0..<count).map { index in
        guard let record = LedgerRecord(bytes, at: index * size) else {
          throw StoreError(
            .mismatch, "record \(first + index) of slice \(slice) is not one this version can read",
            hint: "a newer version wrote it: run that one")
        }
        return record
      }
    }
  }

  /// Merges outcomes and asks for credit; renews the lease even when there is neither.
  ///
  /// - Parameters:
  ///   - outcomes: at most 500.
  ///   - credit: how many more targets may be granted.
  ///   - resent: how many targets in doubt are being sent again because of this claim.
  public func commit(_ outcomes: inout OutcomeBatch, credit: Int, resent: Int = 0) async throws -> CommitAnswer {
    outcomes.sort()
    var pipeline = RedisPipeline(reserving: 1024 + outcomes.count * 20 + outcomes.detailBytes)
    pipeline.script(StoreScripts.commit, keys: commitKeys) { arguments in
      arguments.append(claim)
      arguments.append(lease)
      arguments.append(credit)
      arguments.append(resent)
      outcomes.write(to: &arguments)
    }
    let reply = try await store.run(pipeline)[0]
    let retries = reply[6].withBytes { bytes in
      stride(from: 0, to: bytes.count - 5, by: 6).map { at in
        let index = bytes[at..<(at + 4)].reduce(0) { $0 << 8 | Int($1) }
        return GrantedTarget(index: index, attempt: bytes[at + 4], free: bytes[at + 5])
      }
    }
    let due = reply[5].integer ?? -1
    return CommitAnswer(
      isOwner: reply[0].integer == 1, granted: reply[2].integer ?? 0, inDoubt: reply[3].integer ?? 0,
      waiting: reply[4].integer ?? 0, nextRetry: due < 0 ? nil : due, retries: retries)
  }

  /// Ends the claim, so that another worker need not wait for the lease.
  public func release() async throws {
    var pipeline = RedisPipeline()
    pipeline.script(StoreScripts.release, keys: [sliceKey]) { $0.append(claim) }
    _ = try await store.run(pipeline)
  }

  /// Ends the slice.
  ///
  /// - Returns: its final counters, also when it had ended before; `nil` when the claim is stale or targets are left.
  public func close(_ closing: Closing) async throws -> SliceCounters? {
    var pipeline = RedisPipeline()
    pipeline.script(StoreScripts.close, keys: [sliceKey, building, commitKeys[2]]) {
      $0.append(claim)
      $0.append(closing.rawValue)
    }
    let reply = try await store.run(pipeline)[0]
    return reply.isNull ? nil : SliceCounters(slice: reply.integers)
  }
}
