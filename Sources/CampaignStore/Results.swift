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
  /// Apple's word; empty for none.
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
    let partitions = partitions(of: record)
    for start in stride(from: 0, to: partitions.count, by: Self.batch) {
      let page = partitions[start..<min(start + Self.batch, partitions.count)]
      var pipeline = RedisPipeline()
      for partition in page { pipeline.append("HMGET", keys.slice(partition, of: id), "phase", "count", "granted") }
      for (partition, slice) in zip(page, try await run(pipeline)) {
        guard try await read(SliceView(partition: partition, reply: slice), of: id, body) else { return }
      }
    }
  }

  /// What became of one token; `nil` when it was no target.
  public func result(of token: DeviceToken, in id: String) async throws -> TargetResult? {
    guard try await campaign(id) != nil else { throw noSuchCampaign(id) }
    var found: TargetResult?
    let look: ([TargetResult]) async throws -> Bool = { page in
      found = page.first { $0.token == token }
      return found == nil
    }
    // The owner's slice first, and the token's own, where a raw token of a job stands. A pruned token has no owner any
    // more: then all slices are walked.
    var likely = [partition(ofToken: token.bytes)]
    if let owner = try await owners(of: [token])[0] {
      likely.insert(Partition.of(user: owner, count: keys.partitions), at: 0)
    }
    for partition in likely {
      var pipeline = RedisPipeline()
      pipeline.append("HMGET", keys.slice(partition, of: id), "phase", "count", "granted")
      _ = try await read(SliceView(partition: partition, reply: run(pipeline)[0]), of: id, look)
      if found != nil { return found }
    }
    try await forEachResult(of: id, look)
    return found
  }

  private func read(_ slice: SliceView, of id: String, _ body: ([TargetResult]) async throws -> Bool) async throws
    -> Bool
  {
    let size = LedgerRecord.size
    for first in stride(from: 0, to: slice.count, by: Self.batch) {
      let last = min(first + Self.batch, slice.count) - 1
      var pipeline = RedisPipeline()
      let pages = TargetPage.pages(of: first..<(last + 1))
      pipeline.append("LRANGE", keys.targets(slice.partition, id), pages.lowerBound, pages.upperBound)
      pipeline.append("GETRANGE", keys.ledger(slice.partition, id), first * size, (last + 1) * size - 1)
      pipeline.command("HMGET") { arguments in
        arguments.append(keys.reasons(slice.partition, id))
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
            reason: record.reason == .other ? replies[2][position].string ?? "" : record.reason.name,
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
  var partition: Int
  var isCancelled: Bool
  var count: Int
  var granted: Int

  /// - Parameter reply: phase, count and granted.
  init(partition: Int, reply: RedisReply) {
    self.partition = partition
    isCancelled = reply[0].string == "cancelled"
    count = reply[1].integer ?? 0
    granted = reply[2].integer ?? 0
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
