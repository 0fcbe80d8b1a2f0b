public import PushCore
import Redis

/// The ledger of one slice: the records of its targets. Every change names the id of the worker's claim as a fencing
/// token. Redis therefore refuses changes by a worker that has lost its claim.
public struct SliceLedger: Sendable {
  /// The slice.
  public let slice: SliceReference
  /// Duration of a lease in ms.
  public let lease: Int
  /// Claim id: 128 random bits as text. A counter would not be safe, because Redis could lose its value in a failover
  /// and issue the same number again.
  public let claim: [UInt8]
  /// Ids of the campaign's parts, one for each leg, in the order of the legs. An expansion of this slice writes the
  /// targets of all these parts.
  let parts: [String]
  let store: CampaignStore
  /// Push service of the campaign.
  let service: any PushService
  /// First bytes of the slice's notices about devices (see `commit.lua`): the names of service, app and campaign.
  private let names: [UInt8]

  let sliceKey: [UInt8]
  let building: [UInt8]
  let targets: [UInt8]
  /// Keys of the control group: the list that this claim writes, and the final (sealed) list.
  private let controls: (building: [UInt8], sealed: [UInt8])
  let departures: [UInt8]
  let rules: PackedGrantRules
  let commitKeys: [[UInt8]]

  /// Creates a ledger with a new claim id. The caller must then claim the slice with ``claim(worker:gracePeriod:)``.
  ///
  /// - Parameters:
  ///   - store: the store that has the slice.
  ///   - slice: the slice.
  ///   - lease: the duration of a lease in ms. A worker that does not commit for a longer time may lose the slice.
  ///   - app: the app of the campaign.
  ///   - service: the push service of the slice; `nil` for the standard service of the store (``PushServices``).
  ///   - rules: the rules for granting the slice's targets; `nil` if the only condition is that the user has the
  ///     device.
  ///   - parts: the ids of the campaign's parts for its legs, in their order; empty for one leg.
  public init(
    store: CampaignStore, slice: SliceReference, lease: Int, app: String, service: (any PushService)? = nil,
    rules: GrantRules? = nil, parts: [String] = []
  ) {
    self.init(
      store: store, slice: slice, lease: lease, app: app, service: service, rules: rules, parts: parts, claim: nil)
  }

  /// Creates the ledger of another leg's slice in the same partition. The returned ledger writes targets and seals them
  /// under the claim of this slice.
  func sibling(_ campaign: String) -> SliceLedger {
    SliceLedger(
      store: store, slice: SliceReference(campaign: campaign, partition: slice.partition), lease: lease,
      app: String(decoding: rules.app, as: UTF8.self),
      service: service, rules: nil, parts: [], claim: claim)
  }

  private init(
    store: CampaignStore, slice: SliceReference, lease: Int, app: String, service: (any PushService)?,
    rules: GrantRules?, parts: [String], claim: [UInt8]?
  ) {
    let service = service ?? store.services.standard
    self.service = service
    names = DeviceNotice.Head.names(service: service.name, app: app, campaign: CampaignID(slice.campaign).whole)
    self.store = store
    self.slice = slice
    self.lease = lease
    self.parts = parts.isEmpty ? [slice.campaign] : parts
    let claim = claim ?? Self.newClaim()
    self.claim = claim
    let keys = store.keys
    let (partition, id) = (slice.partition, slice.campaign)
    sliceKey = Array(keys.slice(partition, of: id).utf8)
    building = Array(keys.building(partition, id, claim: String(decoding: claim, as: UTF8.self)).utf8)
    targets = Array(keys.targets(partition, id).utf8)
    controls = (
      Array(keys.buildingControl(partition, id, claim: String(decoding: claim, as: UTF8.self)).utf8),
      Array(keys.control(partition, id).utf8)
    )
    departures = Array(keys.departures(partition).utf8)
    self.rules = PackedGrantRules(rules ?? GrantRules(app: app), of: CampaignID(id).whole, in: partition, keys)
    commitKeys =
      [
        keys.slice(partition, of: id), keys.ledger(partition, id), keys.retry(partition, id),
        keys.results(partition, id),
        keys.reasons(partition, id), keys.devices(partition), keys.users(partition), keys.outbox(partition),
        keys.owner(partition), keys.quarantine(partition), keys.attributes(partition), keys.pressure(partition),
      ].map { Array($0.utf8) } + [departures, targets] + self.rules.lists
  }

  private static func newClaim() -> [UInt8] {
    var random = SystemRandomNumberGenerator()
    // Two random numbers of 64 bits are enough. Each random number costs a system call.
    return (0..<2).flatMap { _ in
      let bits = random.next()
      return (0..<16).map { Hex.digits[Int(bits >> UInt64(4 * $0) & 15)] }
    }
  }

  var regrantKeys: [[UInt8]] {
    [sliceKey, commitKeys[5], commitKeys[6], commitKeys[11], departures] + rules.lists
  }

  /// Records which targets the worker sends next, without other targets of the slice. The worker does this to find a
  /// *poison target*: a target whose push crashes the worker that sends it. `nil` ends the search.
  ///
  /// - Returns: false if the claim is stale.
  public func bisect(_ targets: ClosedRange<Int>?) async throws -> Bool {
    var pipeline = RedisPipeline()
    pipeline.script(StoreScripts.bisect, keys: [sliceKey]) {
      $0.append(claim)
      $0.append(targets.map { "\($0.lowerBound) \($0.upperBound)" } ?? "")
    }
    return try await store.run(pipeline)[0].integer == 1
  }

  /// Appends the commands that add pages of targets to the unsealed list of the claim, several pages in a command.
  ///
  /// These commands need no fencing token, because the key of the list contains the claim id, and only the owner of the
  /// claim can seal the list. `claim.lua` has created the list. RPUSHX adds nothing if the list has expired since then.
  func append(_ targets: SealedTargets, from first: Int = 0, to pipeline: inout RedisPipeline) {
    for start in stride(from: first, to: targets.ends.count, by: Self.pagesPerBatch) {
      pipeline.command("RPUSHX") { arguments in
        arguments.append(building)
        for page in start..<min(start + Self.pagesPerBatch, targets.ends.count) { arguments.append(targets.page(page)) }
      }
    }
  }

  private static let pagesPerBatch = 4

  /// Seconds after which an unsealed list of a claim expires.
  static let buildingLifetime = 3600

  /// Appends an empty commit, which renews the lease.
  func renewLease(to pipeline: inout RedisPipeline) {
    let request = CommitRequest(seal: [], expected: .acknowledged(SliceVersion()))
    write(OutcomeBatch(), request, to: &pipeline)
  }

  /// Returns whether Redis refused a command of an expansion, because the list has expired or the worker has lost the
  /// claim.
  static func isRefused(_ reply: RedisReply) -> Bool {
    reply.kind == .array ? reply.first?.integer == 0 : reply.integer == 0
  }

  /// Appends the commands that write the control group. The control group becomes valid with the seal. The commands
  /// need no fencing token, because the key of the list contains the claim id.
  func append(_ control: ControlUsers, to pipeline: inout RedisPipeline) {
    let pages = control.pages
    guard !pages.isEmpty else { return }
    pipeline.append("UNLINK", controls.building)
    for start in stride(from: 0, to: pages.count, by: Expansion.controlPages) {
      pipeline.command("RPUSH") { arguments in
        arguments.append(controls.building)
        for page in pages[start..<min(start + Expansion.controlPages, pages.count)] { arguments.append(page) }
      }
    }
    pipeline.append("EXPIRE", controls.building, Self.buildingLifetime)
  }

  /// Creates the list of another leg's slice for the targets that this claim finds.
  ///
  /// `LTRIM` with an empty range deletes the list that an earlier attempt left. `UNLINK` would reply 0 for a missing
  /// list, and ``isRefused(_:)`` treats this reply as a refusal.
  func beginBuilding(to pipeline: inout RedisPipeline) {
    pipeline.append("LTRIM", building, 1, 0)
    pipeline.append("RPUSH", building, "")
    pipeline.append("EXPIRE", building, Self.buildingLifetime)
  }

  /// Returns the keys of the unsealed lists that a claim of this slice may have, including the lists of the other legs.
  func unsealedLists(of claim: [UInt8]) -> [[UInt8]] {
    let lists = parts.flatMap {
      store.keys.unsealedLists(slice.partition, $0, claim: String(decoding: claim, as: UTF8.self))
    }
    return lists.map { Array($0.utf8) }
  }

  /// Removes the unsealed lists of this claim.
  func removeLists(to pipeline: inout RedisPipeline) {
    pipeline.command("UNLINK") { arguments in
      for list in unsealedLists(of: claim) { arguments.append(list) }
    }
  }

  /// Appends the command that seals the slice. It ends the expansion of this slice and of the slices of other legs.
  ///
  /// - Parameters:
  ///   - seal: the targets of the slice. Their control group and pages must have been written before.
  ///   - siblings: the ledgers and targets of the other legs.
  func seal(
    _ seal: SliceSeal, siblings: [(ledger: SliceLedger, seal: SliceSeal)] = [], to pipeline: inout RedisPipeline
  ) {
    let all = [(ledger: self, seal: seal)] + siblings
    pipeline.script(
      StoreScripts.seal,
      keys: all.flatMap {
        let ledger = $0.ledger
        return [ledger.sliceKey, ledger.building, ledger.targets, ledger.controls.building, ledger.controls.sealed]
      }
    ) {
      $0.append(claim)
      $0.append(lease)
      $0.append(TargetPage.formatVersion)
      $0.append(seal.departures ?? -1)
      for (_, seal) in all { seal.write(to: &$0) }
    }
  }

  /// Reads sealed targets. At the end of the list, it returns fewer than requested.
  public func targets(from first: Int, count: Int) async throws -> TargetChunk {
    var pipeline = RedisPipeline()
    let pages = TargetPage.pages(of: first..<(first + count))
    pipeline.append("LRANGE", targets, pages.lowerBound, pages.upperBound)
    let reply = try await store.run(pipeline)[0]
    var chunk = TargetChunk(first: first, capacity: count)
    for page in reply { page.withBytes { chunk.append(page: $0) } }
    return chunk
  }

  /// Reads sealed targets, and throws an error if any of them is missing.
  ///
  /// - Parameters:
  ///   - first: the index of the first target.
  ///   - count: the number of targets to read.
  ///   - sealed: the number of targets in the whole slice.
  ///   - seal: the seal id of the list, which is the id of the claim that sealed it.
  /// - Throws: ``StoreError`` `damaged` if targets are missing although Redis has this seal id and this number
  ///   of targets; `mismatch` if Redis has lost the sealed list.
  public func targets(from first: Int, count: Int, of sealed: Int, seal: [UInt8]) async throws -> TargetChunk {
    let chunk = try await targets(from: first, count: count)
    guard chunk.count < min(count, sealed - first) else { return chunk }
    // The slice may have been sealed between the first read and this one. Read the phase of the slice, and then the
    // list again. A sealed slice must have its whole list.
    var pipeline = RedisPipeline()
    pipeline.append("HMGET", sliceKey, "phase", "seal", "count")
    let slice = try await store.run(pipeline)[0]
    let again = try await targets(from: first, count: count)
    guard again.count < min(count, sealed - first) else { return again }
    guard slice[0].string == "sealed", slice[1].withBytes({ $0.elementsEqual(seal) }), slice[2].integer == sealed else {
      throw StoreError(
        .mismatch, "slice \(self.slice) has no target \(first + again.count), although it was sealed with \(sealed)",
        hint: "Redis lost acknowledged writes; check its persistence settings")
    }
    throw StoreError(
      .slice(self.slice),
      "the key \(String(decoding: targets, as: UTF8.self)) should have \(sealed) targets, but entry "
        + "\(first + again.count) is not a target")
  }

  /// Reads records of the ledger. If no record was written for a target, the record is missing or all its bytes are 0.
  /// Such a target is not granted, or has just been granted.
  ///
  /// - Returns: the records, and whether the worker still owned the claim when they were read. If not, another worker
  ///   may have granted these targets to itself.
  public func records(from first: Int, count: Int) async throws -> (records: [LedgerRecord], isOwner: Bool) {
    let size = LedgerRecord.size
    var pipeline = RedisPipeline()
    pipeline.append("GETRANGE", commitKeys[1], first * size, (first + count) * size - 1)
    pipeline.append("HGET", sliceKey, "claim")
    let replies = try await store.run(pipeline)
    let records = try replies[0].withBytes { bytes in
      try (0..<count).map { index in
        guard let record = LedgerRecord(bytes, at: index * size) else {
          throw StoreError(
            .slice(slice),
            "the key \(String(decoding: commitKeys[1], as: UTF8.self)) has a record of target \(first + index) that "
              + "Carillon did not write")
        }
        return record
      }
    }
    return (records, replies[1].withBytes { $0.elementsEqual(claim) })
  }

  /// Merges outcomes into the ledger, requests grants for more targets, and renews the lease. The outcomes and the
  /// request may be empty.
  ///
  /// - Parameters:
  ///   - outcomes: at most 500 outcomes.
  ///   - request: the number of grants that the worker requests, and the state that it expects in Redis.
  public func commit(_ outcomes: inout OutcomeBatch, _ request: CommitRequest) async throws -> CommitAnswer {
    outcomes.sort()
    var pipeline = RedisPipeline(reserving: 1024 + outcomes.estimatedBytes)
    write(outcomes, request, to: &pipeline)
    return try await answer(toCommit: try await store.run(pipeline)[0], of: outcomes, request)
  }

  /// Reads the answer to a commit. If the ledger already had another outcome for a push that was accepted, this
  /// function replaces that outcome by `accepted`.
  func answer(
    toCommit reply: RedisReply, of outcomes: OutcomeBatch, _ request: CommitRequest
  ) async throws -> CommitAnswer {
    guard reply.count == 16 else { throw await store.repair.inspect(slice) }
    let lateAcceptances = reply[9].withBytes { bytes in
      stride(from: 0, to: bytes.count - 3, by: 4).map { bytes[$0..<($0 + 4)].reduce(0) { $0 << 8 | UInt32($1) } }
    }
    if !lateAcceptances.isEmpty { try await acceptLate(lateAcceptances, with: outcomes, under: request.seal) }
    let retries = reply[6].withBytes { bytes in
      stride(from: 0, to: bytes.count - 5, by: 6).map { at in
        let index = bytes[at..<(at + 4)].reduce(0) { $0 << 8 | Int($1) }
        return GrantedTarget(
          index: index, attempt: bytes[at + 4], history: AttemptHistory(rawValue: bytes[at + 5]))
      }
    }
    let due = reply[5].integer ?? -1
    guard (-1...Self.longestRetry).contains(due) else {
      throw StoreError(
        .slice(slice),
        "the key \(String(decoding: commitKeys[2], as: UTF8.self)) has a target that is due in \(due) ms, more than the limit of "
          + "\(Self.longestRetry)")
    }
    let granted = try await number(reply[2], upTo: StoredHash.maximumTargets)
    return CommitAnswer(
      isOwner: reply[0].integer == 1, isSealed: reply[1].string == "sealed",
      version: try await version(reply[7], reply[8]), granted: granted,
      inDoubt: try await number(reply[3], upTo: StoredHash.maximumTargets),
      waiting: try await number(reply[4], upTo: StoredHash.maximumTargets),
      later: try await number(reply[10], upTo: StoredHash.maximumTargets), nextRetry: due < 0 ? nil : due,
      retries: retries, firstDecisions: GrantDecision.all(reply[11]), retryDecisions: GrantDecision.all(reply[12]),
      withheld: Self.withheld(reply[15]), departures: NewDepartures(number: reply[13], users: reply[14]))
  }

  /// Reads the checked targets that must not be sent.
  private static func withheld(_ reply: RedisReply) -> [(index: Int, decision: GrantDecision)] {
    reply.withBytes { bytes in
      stride(from: 0, to: bytes.count - 4, by: 5).map { at in
        let index = bytes[at..<(at + 4)].reduce(0) { $0 << 8 | Int($1) }
        return (index, GrantDecision(withheldAs: Outcome(rawValue: bytes[at + 4]) ?? .deviceGone))
      }
    }
  }

  /// Longest valid wait of a target in ms: a year. Every `Retry-After` of a service and every expiration of a job is
  /// shorter.
  private static let longestRetry = 366 * 86_400_000

  /// Appends the command of a commit. The outcomes must be sorted.
  func write(_ outcomes: OutcomeBatch, _ request: CommitRequest, to pipeline: inout RedisPipeline) {
    pipeline.script(StoreScripts.commit, keys: commitKeys) { arguments in
      arguments.append(claim)
      arguments.append(lease)
      switch request.expected {
      case .acknowledged(let version):
        arguments.append(request.credit)
        arguments.append(request.resent)
        arguments.append(request.seal)
        arguments.append("\(version.sequence) \(version.replays)")
        arguments.append(0)
      case .replay(let granted, let decisions):
        arguments.append(GrantDecision.packed(decisions.prefix(granted)))
        arguments.append(request.resent)
        arguments.append(request.seal)
        arguments.append("" as StaticString)
        arguments.append(granted)
      }
      outcomes.write(to: &arguments, of: service, names: names, rules: rules, request)
    }
  }

  /// Releases the claim before its lease expires, so that another worker does not wait.
  public func unclaim() async throws {
    var pipeline = RedisPipeline()
    pipeline.script(StoreScripts.unclaim, keys: [sliceKey] + unsealedLists(of: claim)) { $0.append(claim) }
    _ = try await store.run(pipeline)
  }

  /// Closes the slice. After a cancel, it also writes the result lines of the targets that were not sent.
  ///
  /// - Parameters:
  ///   - closing: whether the slice is finished or cancelled.
  ///   - variantLanguages: the number of languages in the content of a campaign with variants; `nil` without variants.
  ///   - results: which result lines the campaign keeps.
  public func close(
    _ closing: Closing, variantLanguages: Int? = nil, results: ResultsMode = .none
  ) async throws -> CloseAnswer {
    var pipeline = RedisPipeline()
    close(closing, variantLanguages: variantLanguages, to: &pipeline)
    let reply = try await store.run(pipeline)[0]
    let answer = try answer(toClose: reply)
    // If the slice was closed before, its result lines may be missing, because the worker may have died after the
    // close.
    if case .closed(let counters) = answer, results != .none,
      try StoredFields(.slice(slice, store.keys), all: reply).text("phase") == SlicePhase.cancelled.rawValue
    {
      try await keepCancelledResults(counters, results)
    }
    return answer
  }

  /// Appends the command that closes the slice.
  func close(_ closing: Closing, variantLanguages: Int? = nil, to pipeline: inout RedisPipeline) {
    // Only a cancel ends targets here, and only then are the keys of the records needed.
    let keys = [sliceKey, commitKeys[2]]
    let more = [targets, commitKeys[1], commitKeys[11], commitKeys[6]] + unsealedLists(of: claim)
    pipeline.script(StoreScripts.close, keys: closing == .cancel ? keys + more : keys) {
      $0.append(claim)
      $0.append(closing.rawValue)
      guard closing == .cancel else { return }
      $0.append(rules.app)
      $0.append(rules.counting)
      if let variantLanguages { $0.append(variantLanguages) }
    }
  }

  /// Reads the answer to a close.
  func answer(toClose reply: RedisReply) throws -> CloseAnswer {
    switch reply.integer {
    case 0: return .stale
    case 1: return .unfinished
    default: return .closed(try SliceCounters(slice: StoredFields(.slice(slice, store.keys), all: reply)))
    }
  }
}
