public import PushCore
import Redis

/// The result of one target.
public struct TargetResult: Sendable {
  /// The user; empty for a raw token of a job and for an erased target.
  public var user: String
  /// The token; `nil` for an erased target.
  public var token: DeviceToken?
  /// Name of the push service of the token.
  public var service: String
  /// The outcome; `nil` if the target has none yet.
  public var outcome: Outcome?
  /// The last HTTP status; 0 for none.
  public var status: UInt16
  /// The push service's reason; empty for none.
  public var reason: String
  /// Time of the outcome, in ms since the epoch; 0 without an outcome. If a cancel caused the outcome, this is the time
  /// at which the slice was closed.
  public var at: UInt64
  /// Place of the target's variant (`PushCore/CampaignVariants`); `nil` without an outcome, and in a campaign without
  /// variants.
  public var variant: Int?
  /// The outcome in the form of a ledger record, also if the ledger has no record with an outcome.
  var record: LedgerRecord
  /// Whether the outcome follows from the phase of the slice, because the ledger has no outcome.
  var isDerived: Bool
}

/// Results of campaigns and devices: outcomes, receipts, the quarantine, feedback, the event stream, the audit log.
public struct Results: StoreRoom {
  let store: CampaignStore

  /// Calls `body` with all targets of a campaign, slice by slice. For a campaign with parts, these are the targets of
  /// its stages.
  ///
  /// - Parameters:
  ///   - id: id of the campaign.
  ///   - body: gets at most 500 results at a time; returns false to stop.
  /// - Throws: ``StoreError`` `damaged` after the last target, if some targets can't be read.
  public func forEachResult(of id: String, _ body: ([TargetResult]) async throws -> Bool) async throws {
    guard let record = try await store.campaigns.find(id) else { throw store.campaigns.noSuchCampaign(id) }
    var damage: StoreError?
    for stage in record.stages {
      do {
        guard try await forEachResult(of: stage, body) else { return }
      } catch let error as StoreError where error.code == .damaged {
        damage = damage ?? error
      }
    }
    if let damage { throw damage }
  }

  /// Calls `body` with all targets of one part.
  /// - Returns: false if `body` has returned false.
  private func forEachResult(
    of record: CampaignRecord, _ body: ([TargetResult]) async throws -> Bool
  ) async throws -> Bool {
    let id = record.id
    let service = try service(of: record)
    let partitions = record.reachedPartitions
    var damage: StoreError?
    for page in partitions.batches() {
      var pipeline = RedisPipeline()
      for partition in page { view(SliceReference(campaign: id, partition: partition), to: &pipeline) }
      let replies = try await runEach(pipeline)
      for (position, partition) in page.enumerated() {
        let slice = SliceReference(campaign: id, partition: partition)
        do {
          let view = try SliceView(slice, keys, replies[2 * position].get(), replies[2 * position + 1].get())
          guard try await read(view, service, body) else { return false }
        } catch let error as StoreError where error.code == .damaged {
          damage = damage ?? error
        }
      }
    }
    if let damage { throw damage }
    return true
  }

  /// Calls `body` with the targets of some slices of a campaign.
  func forEachResult(
    of slices: [SliceReference], _ record: CampaignRecord, _ body: ([TargetResult]) async throws -> Bool
  ) async throws {
    let service = try service(of: record)
    var pipeline = RedisPipeline()
    for slice in slices { view(slice, to: &pipeline) }
    let replies = try await run(pipeline)
    for (position, slice) in slices.enumerated() {
      let view = try SliceView(slice, keys, replies[2 * position], replies[2 * position + 1])
      guard try await read(view, service, body) else { return }
    }
  }

  /// Appends the commands whose replies make a ``SliceView``.
  private func view(_ slice: SliceReference, to pipeline: inout RedisPipeline) {
    pipeline.command("HMGET") { arguments in
      arguments.append(keys.slice(slice.partition, of: slice.campaign))
      for field in SliceView.fields { arguments.append(field) }
    }
    pipeline.append("LLEN", keys.targets(slice.partition, slice.campaign))
  }

  /// Returns the result of one token; `nil` if it was not a target.
  ///
  /// - Parameters:
  ///   - token: the token.
  ///   - name: the push service of the token. The campaign must have a leg of this service.
  ///   - id: id of the campaign.
  public func result(of token: DeviceToken, _ name: String, in id: String) async throws -> TargetResult? {
    guard let record = try await store.campaigns.find(id) else { throw store.campaigns.noSuchCampaign(id) }
    let stages = record.stages.filter { $0.service == name }
    guard let first = stages.first else { return nil }
    let service = try service(of: first)
    var found: TargetResult?
    let look: ([TargetResult]) async throws -> Bool = { page in
      found = page.first { $0.token == token }
      return found == nil
    }
    // Read the slice in the partition of the token's owner first. Then read the slice in the token's own partition,
    // where the job may have listed it as a raw token. A pruned token no longer has an owner, so the other slices
    // follow.
    var likely = [Partition.of(token: token.bytes, of: service, count: record.placement.partitions)]
    if let owner = try await store.registry.owners(of: [token], service)[0] {
      likely.insert(Partition.of(user: owner, count: record.placement.partitions), at: 0)
    }
    for partition in likely {
      for stage in stages {
        var pipeline = RedisPipeline()
        let slice = SliceReference(campaign: stage.id, partition: partition)
        view(slice, to: &pipeline)
        let replies = try await run(pipeline)
        _ = try await read(SliceView(slice, keys, replies[0], replies[1]), service, look)
        if found != nil { return found }
      }
    }
    for stage in stages where try await !forEachResult(of: stage, look) { break }
    return found
  }

  /// Returns the results of a user's tokens; empty if none was a target. Raw tokens of a job have no user.
  public func results(ofUser user: String, in id: String) async throws -> [TargetResult] {
    guard let record = try await store.campaigns.find(id) else { throw store.campaigns.noSuchCampaign(id) }
    let partition = Partition.of(user: user, count: record.placement.partitions)
    var found: [TargetResult] = []
    for stage in record.stages {
      let slice = SliceReference(campaign: stage.id, partition: partition)
      var pipeline = RedisPipeline()
      view(slice, to: &pipeline)
      let replies = try await run(pipeline)
      _ = try await read(SliceView(slice, keys, replies[0], replies[1]), service(of: stage)) { page in
        found += page.filter { $0.user == user }
        return true
      }
    }
    return found
  }

  /// Returns the push service of a campaign.
  private func service(of record: CampaignRecord) throws(StoreError) -> any PushService {
    guard let service = services[record.service] else {
      throw StoreError(
        .mismatch,
        "campaign \(record.id) has the unknown push service \(Excerpt.quoted(record.service))",
        hint: "use the version of Carillon that activated the campaign")
    }
    return service
  }

  private func read(
    _ slice: SliceView, _ service: any PushService, _ body: ([TargetResult]) async throws -> Bool
  ) async throws -> Bool {
    let size = LedgerRecord.size
    let (id, partition) = (slice.reference.campaign, slice.reference.partition)
    for first in stride(from: 0, to: slice.count, by: CampaignStore.batch) {
      let last = min(first + CampaignStore.batch, slice.count) - 1
      var pipeline = RedisPipeline()
      let pages = TargetPage.pages(of: first..<(last + 1))
      pipeline.append("LRANGE", keys.targets(partition, id), pages.lowerBound, pages.upperBound)
      pipeline.append("GETRANGE", keys.ledger(partition, id), first * size, (last + 1) * size - 1)
      pipeline.command("HMGET") { arguments in
        arguments.append(keys.reasons(partition, id))
        for index in first...last { arguments.append(index) }
      }
      let replies = try await run(pipeline)
      var chunk = TargetChunk(first: first, capacity: last + 1 - first)
      for page in replies[0] { page.withBytes { chunk.append(page: $0) } }
      guard chunk.count == last + 1 - first else {
        throw StoreError(
          .slice(slice.reference),
          "the key \(keys.targets(partition, id)) should have \(slice.count) targets, but entry "
            + "\(first + chunk.count) is not a target")
      }
      let page = try replies[1].withBytes { records in
        try chunk.places.indices.map { position -> TargetResult in
          guard let record = LedgerRecord(records, at: position * size) else {
            throw StoreError(
              .slice(slice.reference),
              "the key \(keys.ledger(partition, id)) has a record of target \(first + position) that Carillon did not "
                + "write")
          }
          let outcome = record.outcome(in: slice.phase, isGranted: first + position < slice.granted)
          let isDerived = outcome.map { record.state != .terminal($0) } ?? false
          let at = isDerived ? slice.cancelledAt : record.at
          return TargetResult(
            user: String(decoding: chunk.user(position), as: UTF8.self),
            token: DeviceToken(bytes: chunk.token(position)), service: service.name,
            outcome: outcome, status: record.status,
            reason: record.reason == .other
              ? replies[2][position].string ?? "" : service.reasonName(of: record.reason),
            at: outcome == nil ? 0 : at, variant: record.variant > 0 ? Int(record.variant) - 1 : nil,
            record: outcome.map {
              LedgerRecord(state: .terminal($0), status: record.status, reason: record.reason, at: at)
            } ?? record, isDerived: isDerived)
        }
      }
      guard try await body(page) else { return false }
    }
    return true
  }
}

/// The fields of a slice's hash that are needed to read its ledger.
private struct SliceView {
  var reference: SliceReference
  var phase: SlicePhase
  var count: Int
  var granted: Int
  /// Time when a cancel closed the slice, in ms since the epoch; 0 if no cancel closed it.
  var cancelledAt: UInt64

  static let fields = ["phase", "count", "granted", "format", "cancelledAt"]

  /// Creates a view.
  /// - Parameters:
  ///   - reference: the slice.
  ///   - keys: keys of the store.
  ///   - reply: the values of ``fields``.
  ///   - pages: number of pages of its list of targets.
  /// - Throws: ``StoreError`` `mismatch` if this version can't read the targets, `damaged` if the slice is damaged.
  init(
    _ reference: SliceReference, _ keys: Keyspace, _ reply: RedisReply, _ pages: RedisReply
  ) throws(StoreError) {
    let fields = StoredFields(.slice(reference, keys), Self.fields, reply)
    self.reference = reference
    phase = try fields.text("phase").flatMap(SlicePhase.init(rawValue:)) ?? .expanding
    cancelledAt = UInt64(try fields.number("cancelledAt") ?? 0)
    // A slice that is not sealed has no targets.
    let most = (pages.integer ?? 0) * TargetPage.size
    count = try fields.number("count", upTo: most) ?? 0
    granted = try fields.number("granted", upTo: count) ?? 0
    let version = try fields.number("format")
    guard count == 0 || version == TargetPage.formatVersion else {
      throw StoreError(unreadable: reference, version: version)
    }
  }
}
