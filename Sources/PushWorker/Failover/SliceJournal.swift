import CampaignStore
import PushCore

/// Recent writes of a slice that Redis has acknowledged and may still lose: by a crash that loses the end of its log,
/// or by a failover to a replica that lags behind. A replay restores these writes.
struct SliceJournal {
  private struct Entry {
    /// `EventLoop.now` of the acknowledgement.
    var at: UInt64
    /// The outcomes of the write; `nil` for none.
    var outcomes: RecordedOutcomes?
    var retries: [GrantedTarget]
  }

  private var entries: [Entry] = []
  /// The targets, if this worker sealed them recently.
  private(set) var targets: SealedTargets?
  private var sealedAt: UInt64 = 0

  /// Time in ns for which Redis may still lose an acknowledged write. Redis syncs its log every second (`appendfsync
  /// everysec`), and may delay a write for another second on a slow disk ("Redis persistence"). A replica must not lag
  /// behind by more than this time.
  static let memory: UInt64 = 3_000_000_000

  /// Records that this worker has sealed a list of targets.
  mutating func record(_ targets: SealedTargets, at now: UInt64) {
    self.targets = targets
    sealedAt = now
  }

  /// Records a commit (a write of outcomes that also grants targets) that Redis has acknowledged. If the worker had
  /// lost its claim, the journal contains only the outcomes that Redis accepts from a former owner.
  mutating func record(_ batch: OutcomeBatch, _ answer: CommitAnswer, at now: UInt64) {
    let outcomes = RecordedOutcomes(batch, isOwner: answer.isOwner)
    record(outcomes.isEmpty ? nil : outcomes, answer.retries, at: now)
  }

  /// Records targets that Redis granted in a commit whose reply was lost.
  mutating func record(found targets: [GrantedTarget], at now: UInt64) { record(nil, targets, at: now) }

  private mutating func record(_ outcomes: RecordedOutcomes?, _ retries: [GrantedTarget], at now: UInt64) {
    removeDurable(before: now)
    guard outcomes != nil || !retries.isEmpty else { return }
    entries.append(Entry(at: now, outcomes: outcomes, retries: retries))
  }

  /// Removes writes that are so old that Redis can't lose them any more.
  mutating func removeDurable(before now: UInt64) {
    if targets != nil, now - sealedAt > Self.memory { targets = nil }
    guard let first = entries.first, now - first.at > Self.memory else { return }
    entries.removeFirst(entries.firstIndex { now - $0.at <= Self.memory } ?? entries.count)
  }

  /// Sets the time of all writes to the time of their replay, because Redis may lose these writes again.
  mutating func renew(at now: UInt64) {
    if targets != nil { sealedAt = now }
    for index in entries.indices { entries[index].at = now }
  }

  /// Replays everything in the order of the acknowledgements. In a commit, the outcomes come before the retries.
  ///
  /// - Parameters:
  ///   - ledger: The ledger of the slice. It must have the same seal id.
  ///   - record: Records one batch; called for one batch after the other.
  func replay(to ledger: SliceLedger, _ record: (inout OutcomeBatch) async throws -> Void) async throws {
    for entry in entries {
      if var outcomes = try await entry.outcomes?.batch(of: ledger) { try await record(&outcomes) }
      guard !entry.retries.isEmpty else { continue }
      var grants = OutcomeBatch()
      for target in entry.retries {
        grants.append(LedgerRecord(state: .granted, attempt: target.attempt, history: target.history), at: target.index)
      }
      try await record(&grants)
    }
  }
}
