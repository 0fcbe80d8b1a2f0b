import CampaignStore
import PushCore

/// What Redis has lately acknowledged of a slice, and may forget: a crash that loses the tail of its log, or a failover to
/// a replica that was behind, undoes it. Told again, it is as if nothing had been lost.
struct SliceJournal {
  private struct Entry {
    /// `EventLoop.now` of the acknowledgement.
    var at: UInt64
    /// Nothing where there was none.
    var outcomes: RecordedOutcomes?
    var retries: [GrantedTarget]
  }

  private var entries: [Entry] = []
  /// The targets, if this worker has sealed them lately.
  private(set) var targets: SealedTargets?
  private var sealedAt: UInt64 = 0

  /// ns for which an acknowledged write may still be forgotten. Redis syncs its log every second (`appendfsync everysec`)
  /// and lets a write wait for a slow disk for another ("Redis persistence"); a replica is to be behind by no more.
  static let memory: UInt64 = 3_000_000_000

  /// Notes a list of targets that was sealed.
  mutating func note(_ targets: SealedTargets, at now: UInt64) {
    self.targets = targets
    sealedAt = now
  }

  /// Notes a commit that was acknowledged.
  mutating func note(_ outcomes: OutcomeBatch, retries: [GrantedTarget], at now: UInt64) {
    forget(before: now)
    guard !outcomes.isEmpty || !retries.isEmpty else { return }
    entries.append(
      Entry(at: now, outcomes: outcomes.isEmpty ? nil : RecordedOutcomes(outcomes), retries: retries))
  }

  /// Lets go of what Redis has had the time to make durable.
  mutating func forget(before now: UInt64) {
    if targets != nil, now - sealedAt > Self.memory { targets = nil }
    guard let first = entries.first, now - first.at > Self.memory else { return }
    entries.removeFirst(entries.firstIndex { now - $0.at <= Self.memory } ?? entries.count)
  }

  /// It has all been told again at this time, and may be forgotten again.
  mutating func renew(at now: UInt64) {
    if targets != nil { sealedAt = now }
    for index in entries.indices { entries[index].at = now }
  }

  /// Tells everything in the order in which it was acknowledged; a commit's retries were granted after its outcomes.
  ///
  /// - Parameters:
  ///   - ledger: of the slice, sealed as it was.
  ///   - tell: gets a batch after the other.
  func replay(to ledger: SliceLedger, _ tell: (inout OutcomeBatch) async throws -> Void) async throws {
    for entry in entries {
      if var outcomes = try await entry.outcomes?.batch(of: ledger) { try await tell(&outcomes) }
      guard !entry.retries.isEmpty else { continue }
      var grants = OutcomeBatch()
      for target in entry.retries {
        grants.append(LedgerRecord(state: .granted, attempt: target.attempt, history: target.history), at: target.index)
      }
      try await tell(&grants)
    }
  }
}
