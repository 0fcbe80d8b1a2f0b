import CampaignStore
import PushCore

/// A slice that this worker has released. The worker stores it while Redis may still lose writes of the slice.
struct FormerSlice {
  let ledger: SliceLedger
  let context: CampaignContext
  let seal: [UInt8]
  let granted: Int
  let ending: Closing?
  var journal: SliceJournal
  /// The decisions about its granted targets.
  let decisions: GrantDecisions
  /// `EventLoop.now` of the release, or of the last replay.
  var at: UInt64
  /// Whether the server of its partition may have lost writes, so that the slice must be replayed.
  var isDue: Bool
  /// Whether the slice needs no further replay.
  fileprivate(set) var isOver = false

  init(_ session: SliceSession, at now: UInt64) {
    ledger = session.ledger
    context = session.context
    seal = session.claim.seal
    granted = session.claim.granted
    ending = session.claim.ending
    journal = session.journal
    decisions = session.targets.decisions
    at = now
    isDue = session.claim.mustReplay
  }
}

/// The writes that Redis may still lose. A crash, or a failover to a replica that lags behind, undoes acknowledged
/// writes. The type does no I/O, and time is an argument.
struct FailoverReplay {
  /// The result of a check of the servers. A server's place is its address, at which another server can replace it. In
  /// the first check, no server counts as the same or as changed.
  struct Finding: Equatable {
    /// Whether no server was known before.
    var isFirst = false
    /// Places whose server is the same as at the last check.
    var same: Set<String> = []
    /// Places whose server has changed or lost data, and therefore needs a replay. The set also contains places that
    /// were unknown before, because their servers may have been replicas.
    var changed: Set<String> = []
  }

  /// Slices released in the last seconds.
  private(set) var former: [FormerSlice] = []
  /// For each place, the run id and the replication id of its last known server.
  private var servers: [String: String] = [:]
  /// For each place, the numbers of the connections on which its server last answered.
  private var connections: [String: [UInt64]] = [:]
  /// `EventLoop.now` of the last check of the servers.
  var checkedAt: UInt64 = 0
  /// `EventLoop.now` at which the worker takes slices again, after a possible loss of writes.
  private(set) var claimsResume: UInt64 = 0
  /// `EventLoop.now` from which this worker again takes over slices with expired leases. Before this time, a lease may
  /// have expired only because its owner could not renew it during the outage.
  private var takeoversResume: UInt64 = 0
  /// Last time at which the server of the shared keys was known and accepted writes, in ms since the epoch.
  private(set) var seenDurableAt: UInt64 = 0
  /// Whether released slices need a replay that has not begun.
  private(set) var isDue = false
  private var isRunning = false
  /// `EventLoop.now` of the last call of ``recordRunning(_:)``.
  private var lastRunAt: UInt64 = 0
  /// `EventLoop.now` at which this process last continued after it had been stopped (SIGSTOP, a suspended machine); 0
  /// for never.
  private var continuedAt: UInt64 = 0
  /// Number of checks that found a loss of writes.
  private(set) var losses = 0
  /// Whether a replay of released slices is due or running.
  var isPending: Bool { isDue || isRunning }

  /// Grace period in ns after a possible loss of writes. During this period the worker takes and sends nothing new, so
  /// that other workers can replay their writes. Workers try to connect at least once a second, and the check and the
  /// replay take about 100 ms.
  static let grace: UInt64 = 3_000_000_000
  /// Time in ms. If Redis has had no heartbeat of any worker for this time, no worker was running or Redis was
  /// unreachable. An idle worker sends a heartbeat every 2.5 s.
  static let silence = 4000
  /// Maximum age in ms at which a missing campaign is activated again. The age is the time from the activation of the
  /// campaign to the last check that found the server of the shared keys unchanged. Redis loses only the end of its
  /// log. An older campaign is missing for another reason, and workers must not begin it again.
  private static let forgettable = 2 * Int(SliceJournal.memory / 1_000_000)

  // MARK: Checking servers

  /// Compares the servers that answered two clients now with the servers of the last check, by place. Then records the
  /// new servers.
  mutating func compare(_ first: [String: String], _ second: [String: String]) -> Finding {
    var finding = Finding(isFirst: servers.isEmpty)
    for place in Set(first.keys).union(second.keys) {
      let names = Set([first[place], second[place]].compactMap(\.self))
      if !finding.isFirst {
        // If the two answers differ, the server is changing at this moment. The next check decides.
        if names == [servers[place] ?? ""] { finding.same.insert(place) } else { finding.changed.insert(place) }
      }
      servers[place] = names.count == 1 ? names.first : "changing"
    }
    return finding
  }

  /// Records the connections on which servers answered, by place.
  ///
  /// - Returns: Whether a known server answered on other connections.
  mutating func recordConnections(_ numbers: [String: [UInt64]]) -> Bool {
    var isReconnected = false
    for (place, numbers) in numbers {
      if let before = connections.updateValue(numbers, forKey: place), before != numbers { isReconnected = true }
    }
    return isReconnected
  }

  /// Begins the grace period.
  ///
  /// - Parameter lease: the lease of a claim, in ns. Owners have this time to renew claims that expired while Redis was
  ///   away.
  mutating func beginGrace(_ now: UInt64, lease: UInt64) {
    claimsResume = now + Self.grace
    takeoversResume = now + lease
  }

  /// Returns whether other workers may still be replaying their writes.
  func isInGrace(_ now: UInt64) -> Bool { now < claimsResume }

  /// Returns the time in ms for which claims with an expired lease still count as valid.
  func takeoverGrace(_ now: UInt64) -> Int { Int(takeoversResume - min(takeoversResume, now)) / 1_000_000 }

  /// Records that this worker runs. The calls must be more frequent than ``SliceJournal/memory``.
  mutating func recordRunning(_ now: UInt64) {
    if lastRunAt > 0, now - lastRunAt > SliceJournal.memory { continuedAt = now }
    lastRunAt = now
  }

  /// Returns the time in ns to wait before a replay; 0 for none.
  ///
  /// If a worker was stopped (a stopped process, a suspended machine), its data is out of date. Other workers may have
  /// had its slices since then, and Redis may have lost their writes. If this worker replayed its old data first, Redis
  /// would refuse the newer replays of the other workers. This worker therefore waits for the first half of the grace
  /// period. It still replays before the grace period ends, because it may be the only worker with the data.
  func delay(_ now: UInt64) -> UInt64 {
    guard continuedAt > 0, now - continuedAt < Self.grace else { return 0 }
    let begin = claimsResume - min(claimsResume, Self.grace / 2)
    return begin - min(begin, now)
  }

  // MARK: Storing

  /// Stores a slice that is being released.
  mutating func addReleased(_ session: SliceSession, at now: UInt64) {
    guard session.isReady, session.claim.granted > 0 || session.journal.targets != nil || session.claim.ending != nil
    else { return }
    former.append(FormerSlice(session, at: now))
    if session.claim.mustReplay { isDue = true }
  }

  /// Removes writes that are old enough to be durable, for servers that are still the same. Keeps all writes for a
  /// server that does not answer, because that server may have lost its last writes, even if it stopped long ago.
  ///
  /// - Parameters:
  ///   - clock: Time by Redis' clock, in ms since the epoch; `nil` if the server of the shared keys is not the same as
  ///     before.
  ///   - isDurable: returns whether the server of a partition is the same as before.
  /// - Returns: `false` if all writes may still be needed.
  mutating func removeDurable(before now: UInt64, clock: UInt64?, where isDurable: (_ partition: Int) -> Bool) -> Bool {
    guard !isDue, !isRunning else { return false }
    if let clock { seenDurableAt = clock }
    former.removeAll { now - $0.at > SliceJournal.memory && isDurable($0.ledger.slice.partition) }
    for index in former.indices where isDurable(former[index].ledger.slice.partition) {
      former[index].journal.removeDurable(before: now)
    }
    return true
  }

  // MARK: Replaying

  /// Requests a replay of released slices.
  ///
  /// - Parameter isForgotten: returns whether the server of a partition may have lost writes.
  mutating func mustRun(where isForgotten: (_ partition: Int) -> Bool) {
    for index in former.indices where isForgotten(former[index].ledger.slice.partition) { former[index].isDue = true }
    losses += 1
    isDue = true
  }

  /// Requests another replay, because the last one failed.
  mutating func mustRunAgain() { isDue = true }

  /// Begins a replay of released slices.
  ///
  /// - Returns: `false` if none is due, or a replay is already running.
  mutating func begin() -> Bool {
    guard isDue, !isRunning else { return false }
    isRunning = true
    isDue = false
    return true
  }

  /// The slices to replay, as positions in ``former``. The positions stay valid until ``end()``. Entries of the same
  /// slice form a group, in the order of their releases.
  var due: [[Int]] {
    let places = former.indices.filter { former[$0].isDue && !former[$0].isOver }
    return Dictionary(grouping: places) { former[$0].ledger.slice }.values.sorted { $0[0] < $1[0] }
  }

  /// Records that a slice was replayed.
  ///
  /// - Parameters:
  ///   - slice: the entry that replaces the replayed one; `nil` if the slice needs no further replay.
  ///   - losses: the value of ``losses`` at the start of the replay. If ``losses`` has grown since then, the slice
  ///     needs another replay.
  mutating func recordReplay(_ slice: FormerSlice?, at place: Int, since losses: Int) {
    guard losses == self.losses else { return }
    if let slice { former[place] = slice } else { former[place].isOver = true }
  }

  mutating func end() {
    isRunning = false
    former.removeAll(where: \.isOver)
  }

  /// Returns whether this worker must replay a slice. Before the replay, the worker must not take the slice. Otherwise
  /// it would send targets a second time.
  func mustReplay(of slice: SliceReference) -> Bool {
    isPending && former.contains { $0.isDue && $0.ledger.slice == slice }
  }

  /// Removes campaigns that no longer exist and can't be restored. They are not replayed.
  mutating func drop(_ campaigns: Set<String>) { former.removeAll { campaigns.contains($0.context.campaign.id) } }

  /// Returns whether a campaign may be missing only because Redis lost its last writes.
  func mayBeForgotten(_ context: CampaignContext) -> Bool {
    context.facts.createdAt + Self.forgettable > Int(seenDurableAt)
  }
}
