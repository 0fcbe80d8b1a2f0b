import PushCore
import Redis

/// Checks slices: compares their counters with their ledgers, and their ledgers with the lists of targets that wait for
/// a retry.
extension StoreCheck {
  /// The checked values of a slice's hash.
  private struct Slice {
    var reference: SliceReference
    var values: [[UInt8]]
    var counters: SliceCounters
    var phase: SlicePhase
    var granted: Int
    /// The slice's counters by variant.
    var variants: [VariantOutcome: Int]
    /// Version of the format of its targets and ledger; `nil` before the targets are sealed.
    var format: Int?
  }

  /// A variant and an outcome of its targets.
  private struct VariantOutcome: Hashable {
    /// The variant in the form of a ledger record: its position plus one.
    var variant: UInt8
    var outcome: Outcome
  }

  /// The totals of a ledger.
  private struct LedgerTally {
    /// Number of targets by outcome. If a record has no outcome, the phase of the slice gives it.
    var outcomes: [Outcome: Int] = [:]
    /// Number of targets by variant and outcome, only for outcomes that are in the records.
    var variants: [VariantOutcome: Int] = [:]
    var waiting = 0
    /// Number of records that no version of Carillon has written.
    var unreadable = 0
    var ended: Int { outcomes.values.reduce(0, +) }
  }

  mutating func slices(_ references: [SliceReference], of record: CampaignRecord) async throws -> [StoreFinding] {
    guard !references.isEmpty else { return [] }
    var pipeline = RedisPipeline()
    for slice in references {
      pipeline.append("HGETALL", keys.slice(slice.partition, of: slice.campaign))
      pipeline.append("LLEN", keys.targets(slice.partition, slice.campaign))
    }
    // Read the bitmap of finished slices last. A slice that was sealed at the first read and is finished now has just
    // ended, or was isolated.
    pipeline.append("GET", keys.finished(record.id))
    let replies = try await store.run(pipeline)
    let finished = PartitionBitmap(replies.last?.bytes.map(Array.init) ?? [])
    var findings: [StoreFinding] = []
    for (index, reference) in references.enumerated() where !replies[2 * index].isEmpty {
      tally.slices += 1
      let key = keys.slice(reference.partition, of: reference.campaign)
      do {
        let slice = try Self.slice(reference, replies[2 * index], keys)
        let isOver = slice.phase == .done || slice.phase == .cancelled
        if finished.contains(reference.partition), !isOver { continue }
        let (pages, count) = (replies[2 * index + 1].integer ?? 0, slice.counters.targets)
        if slice.phase == .sealed, pages * TargetPage.size < count || pages > count {
          findings.append(open(.damagedSlice, key, "\(reference)", "it has \(count) targets on \(pages) pages"))
          continue
        }
        // This version can't read the ledger of another version. Before the targets are sealed, a slice has no ledger.
        if slice.phase == .expanding || (slice.format ?? TargetPage.formatVersion) != TargetPage.formatVersion {
          continue
        }
        findings += try await ledger(of: slice)
      } catch let error as StoreError where error.code == .damaged {
        if !finished.contains(reference.partition) {
          findings.append(open(.damagedSlice, key, "\(reference)", error.message))
        }
      }
    }
    return findings
  }

  private static func slice(
    _ reference: SliceReference, _ reply: RedisReply, _ keys: Keyspace
  ) throws(StoreError) -> Slice {
    let fields = StoredFields(.slice(reference, keys), all: reply)
    var variants: [VariantOutcome: Int] = [:]
    for place in CampaignVariants.places where fields.has(VariantCounts.targetsField(place)) {
      let variant = VariantCounts.record(place)
      for outcome in Outcome.allCases {
        let count = try fields.number("\(VariantCounts.number(of: outcome.rawValue, variant))") ?? 0
        if count > 0 { variants[VariantOutcome(variant: variant, outcome: outcome)] = count }
      }
    }
    return Slice(
      reference: reference, values: reply.map { Array($0.bytes ?? []) }, counters: try SliceCounters(slice: fields),
      phase: try fields.text("phase").flatMap(SlicePhase.init(rawValue:)) ?? .expanding,
      granted: try fields.number("granted") ?? 0,
      variants: variants, format: try fields.number("format"))
  }

  /// Compares the counters of a sealed slice with its ledger. If a worker commits in between, the slice is skipped.
  private func ledger(of slice: Slice) async throws -> [StoreFinding] {
    let (partition, id) = (slice.reference.partition, slice.reference.campaign)
    let isSealed = slice.phase == .sealed
    var findings: [StoreFinding] = []
    var ledger = LedgerTally()
    for first in stride(from: 0, to: slice.counters.targets, by: Self.recordsPerBatch) {
      let records = min(Self.recordsPerBatch, slice.counters.targets - first)
      let waiting = try await read(first..<(first + records), of: slice, &ledger)
      if isSealed { findings += try await hold(waiting, of: slice.reference) }
    }
    if isSealed {
      var known = Set(findings)
      try await forEachRanked(in: keys.retry(partition, id)) { members in
        let indexes = members.compactMap { Int($0) }.filter { $0 >= 0 && $0 < StoredHash.maximumTargets }
        for finding in try await hold(indexes, of: slice.reference) where known.insert(finding).inserted {
          findings.append(finding)
        }
      }
    }
    var pipeline = RedisPipeline()
    pipeline.append("HGETALL", keys.slice(partition, of: id))
    guard try await store.run(pipeline)[0].map({ Array($0.bytes ?? []) }) == slice.values else { return findings }
    if let detail = Self.difference(slice, ledger) {
      findings.append(open(.wrongCounters, keys.slice(partition, of: id), "\(slice.reference)", detail))
    }
    return findings
  }

  /// Records that are read with one command: 24 kB.
  private static let recordsPerBatch = 2048

  /// Adds records to the totals of a ledger.
  /// - Returns: the indexes of waiting targets.
  private func read(
    _ indexes: Range<Int>, of slice: Slice, _ tally: inout LedgerTally
  ) async throws -> [Int] {
    var pipeline = RedisPipeline()
    pipeline.append(
      "GETRANGE", keys.ledger(slice.reference.partition, slice.reference.campaign),
      indexes.lowerBound * LedgerRecord.size,
      indexes.upperBound * LedgerRecord.size - 1)
    var waiting: [Int] = []
    try await store.run(pipeline)[0].withBytes { bytes in
      for index in indexes {
        guard let record = LedgerRecord(bytes, at: (index - indexes.lowerBound) * LedgerRecord.size) else {
          tally.unreadable += 1
          continue
        }
        if record.state == .waiting {
          tally.waiting += 1
          waiting.append(index)
        }
        guard let outcome = record.outcome(in: slice.phase, isGranted: index < slice.granted) else { continue }
        tally.outcomes[outcome, default: 0] += 1
        if record.variant > 0 {
          tally.variants[VariantOutcome(variant: record.variant, outcome: outcome), default: 0] += 1
        }
      }
    }
    return waiting
  }

  /// Compares the targets that wait for a retry with the list of such targets. Finds waiting targets that the list does
  /// not contain, and entries whose targets do not wait.
  private func hold(_ indexes: [Int], of slice: SliceReference) async throws -> [StoreFinding] {
    let (partition, id) = (slice.partition, slice.campaign)
    let retry = keys.retry(partition, id)
    var pipeline = RedisPipeline()
    for page in indexes.batches() {
      pipeline.script(
        StoreScripts.repairRetry, keys: [keys.slice(partition, of: id), keys.ledger(partition, id), retry]
      ) {
        $0.append(repairs ? 1 : 0)
        for index in page { $0.append(index) }
      }
    }
    guard !pipeline.isEmpty else { return [] }
    return try await store.run(pipeline).flatMap { reply in
      stride(from: 0, to: reply.count - 1, by: 2).map { at in
        finding(
          reply[at].string == "waits" ? .lostRetry : .retryWithoutTarget, retry, "target \(reply[at + 1].string ?? "")")
      }
    }
  }

  /// Returns the first difference between a slice's counters and its ledger; `nil` if they agree.
  private static func difference(_ slice: Slice, _ ledger: LedgerTally) -> String? {
    if ledger.unreadable > 0 { return "\(ledger.unreadable) records can't be read" }
    let isCancelled = slice.phase == .cancelled
    for outcome in Outcome.allCases {
      let (counted, recorded) = (slice.counters.outcomes[outcome] ?? 0, ledger.outcomes[outcome] ?? 0)
      if counted != recorded {
        return "\(counted) \(outcome.name), by the ledger \(recorded)"
      }
    }
    for key in Set(slice.variants.keys).union(ledger.variants.keys) {
      let (counted, recorded) = (slice.variants[key] ?? 0, ledger.variants[key] ?? 0)
      // If a cancel ended a target, only the sealed target has its variant, not the ledger.
      let isLeft = isCancelled && (key.outcome == .unknown || key.outcome == .cancelled)
      if isLeft ? counted < recorded : counted != recorded {
        return "\(counted) \(key.outcome.name) of variant \(key.variant), by the ledger \(recorded)"
      }
    }
    if isCancelled { return nil }
    if slice.counters.retrying != ledger.waiting {
      return "\(slice.counters.retrying) waiting, by the ledger \(ledger.waiting)"
    }
    let inDoubt = slice.granted - ledger.waiting - ledger.ended
    return slice.counters.inDoubt == inDoubt ? nil : "\(slice.counters.inDoubt) in doubt, by the ledger \(inDoubt)"
  }
}
