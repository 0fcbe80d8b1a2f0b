public import PushCore
import Redis

/// What became of one target.
public struct TargetResult: Sendable {
  /// Empty for a raw token of a job.
  public var user: String
  public var token: DeviceToken
  /// `nil` while the target has no outcome.
  public var outcome: Outcome?
  /// The last HTTP status; 0 for none.
  public var status: UInt16
  /// Its push service's word; empty for none.
  public var reason: String
  /// ms since the epoch; 0 without an outcome.
  public var at: UInt64
}

/// Reading the ledger.
extension CampaignStore {
  /// Walks over all targets of a campaign, slice by slice.
  ///
  /// - Parameters:
  ///   - id: the campaign.
  ///   - body: gets at most 500 results at a time; returns false to stop.
  public func forEachResult(of id: String, _ body: ([TargetResult]) async throws -> Bool) async throws {
    guard let record = try await campaign(id) else { throw noSuchCampaign(id) }
    let service = try service(of: record)
    let partitions = partitions(of: record)
    for start in stride(from: 0, to: partitions.count, by: Self.batch) {
      let page = partitions[start..<min(start + Self.batch, partitions.count)]
      var pipeline = RedisPipeline()
      for partition in page {
        pipeline.append("HMGET", keys.slice(partition, of: id), "phase", "count", "granted", "format")
      }
      for (partition, slice) in zip(page, try await run(pipeline)) {
        let view = try SliceView(SliceReference(campaign: id, partition: partition), slice)
        guard try await read(view, service, body) else { return }
      }
    }
  }

  /// What became of one token; `nil` when it was no target.
  public func result(of token: DeviceToken, in id: String) async throws -> TargetResult? {
    guard let record = try await campaign(id) else { throw noSuchCampaign(id) }
    let service = try service(of: record)
    var found: TargetResult?
    let look: ([TargetResult]) async throws -> Bool = { page in
      found = page.first { $0.token == token }
      return found == nil
    }
    // The owner's slice first, and the token's own, where a raw token of a job stands. A pruned token has no owner any
    // more: then all slices are walked.
    var likely = [Partition.of(token: token.bytes, of: service, count: keys.partitions)]
    if let owner = try await owners(of: [token], service)[0] {
      likely.insert(Partition.of(user: owner, count: keys.partitions), at: 0)
    }
    for partition in likely {
      var pipeline = RedisPipeline()
      pipeline.append("HMGET", keys.slice(partition, of: id), "phase", "count", "granted", "format")
      let view = try await SliceView(SliceReference(campaign: id, partition: partition), run(pipeline)[0])
      _ = try await read(view, service, look)
      if found != nil { return found }
    }
    try await forEachResult(of: id, look)
    return found
  }

  /// What became of the tokens of a user; empty when none was a target. Raw tokens of a job are nobody's.
  public func results(ofUser user: String, in id: String) async throws -> [TargetResult] {
    guard let record = try await campaign(id) else { throw noSuchCampaign(id) }
    let partition = Partition.of(user: user, count: keys.partitions)
    var pipeline = RedisPipeline()
    pipeline.append("HMGET", keys.slice(partition, of: id), "phase", "count", "granted", "format")
    let slice = try SliceView(SliceReference(campaign: id, partition: partition), try await run(pipeline)[0])
    var found: [TargetResult] = []
    _ = try await read(slice, service(of: record)) { page in
      found += page.filter { $0.user == user }
      return true
    }
    return found
  }

  /// The push service of a campaign.
  private func service(of record: CampaignRecord) throws(StoreError) -> any PushService {
    guard let service = services[record.service] else {
      throw StoreError(
        .mismatch,
        "campaign \(record.id) is of the push service \(Excerpt.quoted(record.service)), which this program doesn't know",
        hint: "run the version of Carillon that took it in")
    }
    return service
  }

  private func read(
    _ slice: SliceView, _ service: any PushService, _ body: ([TargetResult]) async throws -> Bool
  ) async throws -> Bool {
    let size = LedgerRecord.size
    let (id, partition) = (slice.reference.campaign, slice.reference.partition)
    for first in stride(from: 0, to: slice.count, by: Self.batch) {
      let last = min(first + Self.batch, slice.count) - 1
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
      let page = replies[1].withBytes { records in
        chunk.places.indices.compactMap { position -> TargetResult? in
          guard let record = LedgerRecord(records, at: position * size),
            let token = DeviceToken(bytes: chunk.token(position))
          else { return nil }
          let outcome = slice.outcome(of: record, at: first + position)
          return TargetResult(
            user: String(decoding: chunk.user(position), as: UTF8.self), token: token, outcome: outcome,
            status: record.status,
            reason: record.reason == .other
              ? replies[2][position].string ?? "" : service.reasonName(of: record.reason),
            at: outcome == nil ? 0 : record.at)
        }
      }
      guard try await body(page) else { return false }
    }
    return true
  }
}

/// What of a slice's hash the reading of its ledger needs.
private struct SliceView {
  var reference: SliceReference
  var isCancelled: Bool
  var count: Int
  var granted: Int

  /// - Parameters:
  ///   - reference: the slice.
  ///   - reply: its phase, count, granted and format.
  /// - Throws: ``StoreError`` `mismatch` when it has targets that this version can't read.
  init(_ reference: SliceReference, _ reply: RedisReply) throws(StoreError) {
    self.reference = reference
    isCancelled = reply[0].string == "cancelled"
    count = reply[1].integer ?? 0
    granted = reply[2].integer ?? 0
    guard count == 0 || reply[3].integer == TargetPage.formatVersion else {
      throw StoreError(unreadable: reference, version: reply[3].integer)
    }
  }

  /// Closing a cancelled slice writes counters only; what its targets without an outcome became follows from the phase.
  func outcome(of record: LedgerRecord, at index: Int) -> Outcome? {
    switch record.state {
    case .terminal(let outcome): outcome
    case .waiting: isCancelled ? .cancelled : nil
    case .granted: isCancelled ? (index < granted ? .unknown : .cancelled) : nil
    }
  }
}
