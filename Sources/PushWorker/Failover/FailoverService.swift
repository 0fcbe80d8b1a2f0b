import CampaignStore
import EventLoop
import PushCore

/// Detects that Redis may have lost writes, for example after a failover. It then replays the writes of the last
/// seconds before the worker takes or sends anything new.
final class FailoverService: WorkerPart {
  let environment: WorkerEnvironment
  private let slices: SliceTable
  private let campaigns: CampaignTable
  private let membership: FleetMembership
  private let closer: SliceCloser
  private let damage: DamageIsolator
  private var failover = FailoverReplay()

  init(
    _ environment: WorkerEnvironment, slices: SliceTable, campaigns: CampaignTable, membership: FleetMembership,
    closer: SliceCloser, damage: DamageIsolator
  ) {
    self.environment = environment
    self.slices = slices
    self.campaigns = campaigns
    self.membership = membership
    self.closer = closer
    self.damage = damage
  }

  /// Whether the worker stores no writes of released slices that Redis may lose.
  var isIdle: Bool { failover.former.isEmpty }
  /// `EventLoop.now` at which the worker takes slices again, after a possible loss of writes.
  var claimsResume: UInt64 { failover.claimsResume }
  /// Time in ms by which the leases of all claims are extended, because their owners may still replay lost writes.
  var takeoverGrace: Int { failover.takeoverGrace(EventLoop.now) }
  /// Time in ns to wait before a replay; 0 for none.
  var delay: UInt64 { failover.delay(EventLoop.now) }

  /// Records that this worker runs. The calls must be more frequent than ``SliceJournal/memory``.
  func recordRunning(_ now: UInt64) { failover.recordRunning(now) }

  /// Stores a slice that is being released.
  func addReleased(_ session: SliceSession) { failover.addReleased(session, at: EventLoop.now) }

  /// Returns whether this worker must replay a slice. Until then this worker must not take the slice.
  func mustReplay(of slice: SliceReference) -> Bool { failover.mustReplay(of: slice) }

  /// Returns whether the servers were checked within this number of ms before now, and both clients are connected to
  /// checked servers.
  func knowsServers(since milliseconds: Int) async -> Bool {
    guard EventLoop.now < failover.checkedAt + UInt64(milliseconds) * 1_000_000 else { return false }
    return await isAdmitted()
  }

  /// Runs the first calls of a worker. A call that finds a damaged list in Redis renames the list and fails. The
  /// function then repeats the calls, because there may be several damaged lists. If another server has taken over, the
  /// function checks this server and repeats the calls.
  func begin<Result>(_ first: () async throws -> Result) async throws -> Result {
    while true {
      do {
        return try await first()
      } catch let error as StoreError {
        guard case .list(let key)? = error.damage, try await sharedStore.repair.isGone(key) else { throw error }
        log.report("a list is damaged", error)
      } catch {
        // The function repeats the calls only after a change of the server. Any other error ends the start of the
        // worker.
        guard await !isAdmitted() else { throw error }
        await checkServer()
        guard await isAdmitted() else { throw error }
      }
    }
  }

  /// Handles an error: isolates damaged data, and checks whether the server has changed.
  func recover(from error: any Error) async {
    await damage.repair(error)
    await checkServer()
  }

  private func isAdmitted() async -> Bool {
    guard await store.isAdmitted() else { return false }
    return await sharedStore.isAdmitted()
  }

  /// Error for a cluster in which the server with the shared keys does not answer. The shared keys include the list of
  /// workers.
  private struct SharedServerMissing: Error, CustomStringConvertible {
    var description: String { "the server of the shared keys does not answer" }
  }

  /// Whether other workers may still be replaying their writes.
  var isInGrace: Bool { failover.isInGrace(EventLoop.now) }

  /// Checks which servers answer. The stores refuse calls on new connections until this check has passed, because a
  /// changed server may have lost writes.
  func checkServer() async {
    failover.recordRunning(EventLoop.now)
    do {
      let (first, second) = try await Self.identify(store, sharedStore)
      guard let home = second.first(where: \.hasControl) else { throw SharedServerMissing() }
      failover.checkedAt = EventLoop.now
      let isReconnected = failover.recordConnections(
        Dictionary(grouping: first + second, by: \.place).mapValues { $0.map(\.connection) })
      if isReconnected || home.uptime < Int(FailoverReplay.grace / 1_000_000_000) {
        membership.expectOthers(by: EventLoop.now + FailoverReplay.grace)
      }
      let finding = failover.compare(Self.names(first), Self.names(second))
      if finding.isFirst {
        // The server may have lost writes before this worker started. Other workers then replay them.
        if try await mayHaveFailedOver(uptime: home.uptime) { failover.beginGrace(EventLoop.now, lease: lease) }
      } else if !finding.changed.isEmpty {
        try await beginReplay(finding, home: home, servers: first + second)
      } else if isReconnected {
        log.write(.reconnected)
      }
      // Only a primary makes writes durable. A replica may still replace its data with the data of its primary.
      removeDurable(second.filter { $0.isPrimary && finding.same.contains($0.place) })
      store.admit(first)
      sharedStore.admit(second)
      if failover.delay(EventLoop.now) == 0, failover.begin() {
        defer { failover.end() }
        try await replayFormerSlices()
      }
    } catch {
      log.report("could not check Redis for lost writes", error)
    }
  }

  /// Asks both clients at the same time which servers answer.
  private static func identify(
    _ first: CampaignStore, _ second: CampaignStore
  ) async throws -> ([ServerIdentity], [ServerIdentity]) {
    async let ofFirst = first.identify()
    async let ofSecond = second.identify()
    return (try await ofFirst, try await ofSecond)
  }

  private static func names(_ servers: [ServerIdentity]) -> [String: String] {
    Dictionary(servers.map { ($0.place, $0.name) }) { $0 == $1 ? $0 : "changing" }
  }

  /// Starts the replay of all writes that servers may have lost.
  private func beginReplay(
    _ finding: FailoverReplay.Finding, home: ServerIdentity, servers: [ServerIdentity]
  ) async throws {
    let changed = servers.filter { finding.changed.contains($0.place) }
    let isControl = finding.changed.contains(home.place)
    // The server may have lost the entry of this worker in the list of workers.
    if isControl { membership.hasJoined = false }
    let isForgotten = { (partition: Int) in isControl || changed.contains { $0.has(partition: partition) } }
    failover.beginGrace(EventLoop.now, lease: lease)
    for session in slices.sessions where isForgotten(session.slice.partition) {
      session.claim.graceEnd = failover.claimsResume
      guard session.isReady else { continue }
      session.claim.mustReplay = true
      session.wake()
    }
    failover.mustRun(where: isForgotten)
    log.write(.serverChanged)
    try await sharedStore.slices.recordFailover(for: Int(FailoverReplay.grace / 1_000_000))
  }

  private func mayHaveFailedOver(uptime: Int) async throws -> Bool {
    do {
      return try await sharedStore.slices.mayHaveFailedOver(uptime: uptime, timeout: FailoverReplay.silence)
    } catch let error as StoreError where error.code == .damaged {
      // Because the list is damaged, the worker can't find out whether Redis lost writes. It therefore waits for the
      // replays of other workers.
      log.report("a list is damaged", error)
      return true
    }
  }

  /// Removes writes that Redis can't lose any more.
  ///
  /// - Parameter servers: servers that are the same as before and accept writes.
  private func removeDurable(_ servers: [ServerIdentity]) {
    guard !servers.isEmpty else { return }
    let now = EventLoop.now
    let hasControl = servers.contains(where: \.hasControl)
    let isDurable = { (partition: Int) in servers.contains { $0.has(partition: partition) } }
    guard failover.removeDurable(before: now, clock: hasControl ? self.now : nil, where: isDurable) else { return }
    if hasControl { campaigns.removeDurable(before: now) }
    for session in slices.sessions where !session.claim.mustReplay && isDurable(session.slice.partition) {
      session.journal.removeDurable(before: now)
    }
  }

  // MARK: Released slices

  /// Replays lost writes before the worker ends, but not after the deadline of the stop. Possibly no other worker has
  /// these writes.
  func replayBeforeEnd() async {
    while failover.isPending, !life.isAbandoning {
      await checkServer()
      if failover.isPending { await pause(milliseconds: 100) }
    }
  }

  /// Number of slices that are replayed at the same time. A replay takes about ten sequential round trips, and the
  /// grace period is short.
  private static let replays = 16

  /// Replays released slices. Slices that are released during the replay may need another one.
  private func replayFormerSlices() async throws {
    do {
      failover.drop(try await restoreCampaigns(of: failover.former.filter(\.isDue).map(\.context)))
      let losses = failover.losses
      var due = failover.due.makeIterator()
      var failure: (any Error)?
      await loop.withGroup { group in
        for _ in 0..<Self.replays {
          self.loop.start(in: &group) {
            while failure == nil, let places = due.next() {
              if let error = await self.replay(places, since: losses) { failure = failure ?? error }
            }
          }
        }
      }
      if let failure { throw failure }
    } catch {
      failover.mustRunAgain()
      throw error
    }
  }

  /// Replays released slices.
  ///
  /// - Parameter places: positions in the list of released slices.
  /// - Returns: the error of a slice that could not be replayed; `nil` if all were replayed.
  private func replay(_ places: [Int], since losses: Int) async -> (any Error)? {
    for place in places {
      let former = failover.former[place]
      do {
        failover.recordReplay(try await replay(former), at: place, since: losses)
      } catch let error as StoreError where error.code == .damaged {
        log.report("slice", of: former.ledger.slice, error)
        await damage.repair(error, of: former.ledger.slice)
        failover.recordReplay(nil, at: place, since: losses)
      } catch {
        return error
      }
    }
    return nil
  }

  /// Replays one released slice.
  ///
  /// - Returns: the entry that replaces this one; `nil` if the slice needs no further replay.
  private func replay(_ former: FormerSlice) async throws -> FormerSlice? {
    var slice = former
    slice.isDue = false
    try await sharedStore.audiences.addSlice(slice.ledger.slice)
    let isSealed = try await replay(
      slice.ledger, seal: slice.seal, granted: slice.granted, slice.journal, slice.decisions)
    if isSealed, let ending = slice.ending {
      if case .claimed = try await slice.ledger.claim(worker: environment.configuration.name),
        try await !closer.end(slice.ledger, slice.context, ending)
      {
        try await slice.ledger.unclaim()
      }
    } else {
      // Releases the claim, so that the next owner does not wait until this worker's lease ends.
      try await slice.ledger.unclaim()
      // Another worker may have the claim but no list of targets.
      if !isSealed, slice.journal.targets != nil, isInGrace {
        slice.isDue = true
        failover.mustRunAgain()
      }
      // Other workers continue with their own list of targets. If Redis loses that list, this worker must not restore
      // its older list.
      guard isSealed || isInGrace else { return nil }
    }
    slice.journal.renew(at: EventLoop.now)
    slice.at = EventLoop.now
    return slice
  }

  // MARK: Campaigns

  /// Activates campaigns again if Redis lost their activation, and repeats lost pauses and cancellations.
  ///
  /// - Returns: The campaigns that no longer exist, and can't or must not be restored.
  func restoreCampaigns(of contexts: [CampaignContext]) async throws -> Set<String> {
    var (seen, gone): (Set<String>, Set<String>) = ([], [])
    for context in contexts where seen.insert(context.campaign.id).inserted {
      let id = context.campaign.id
      do {
        let whole = context.campaign.whole
        if try await sharedStore.campaigns.status(of: whole) == nil {
          guard failover.mayBeForgotten(context) else {
            gone.insert(id)
            continue
          }
          // Other workers may hold slices in any partition, so the campaign keeps a slice in each partition.
          let campaign =
            whole == id
            ? context.campaign
            : try await CampaignJob.read(context.facts.job, environment.configuration.jobApps, as: whole)
          _ = try await sharedStore.queue.activate(
            campaign, job: context.facts.job, worker: environment.configuration.name, narrowed: true,
            restored: context.campaign.isFirstStage ? context.schedule.start : nil)
        }
        // A stage that has reached some of its users must continue for all of them.
        try await sharedStore.campaigns.restoreStage(
          of: context.campaign, job: context.facts.job, start: context.schedule.start)
      } catch let error as StoreError where error.code == .invalid {
        // The campaign can't be activated again, for example because Redis has also lost a segment.
        gone.insert(id)
      } catch is JobError {
        gone.insert(id)
      }
    }
    for (id, verb) in campaigns.recent where try await sharedStore.campaigns.status(of: id)?.state == .active {
      try await sharedStore.campaigns.control(id, verb, reason: "restored after Redis lost its last writes")
    }
    return gone
  }

  /// Replays the writes of a slice.
  ///
  /// - Returns: whether the slice in Redis has the sealed list with this seal id.
  func replay(
    _ ledger: SliceLedger, seal: [UInt8], granted: Int, _ journal: SliceJournal,
    _ decisions: GrantDecisions
  ) async throws -> Bool {
    if breaks(.noReplay) { return true }
    var nothing = OutcomeBatch()
    let request = CommitRequest(seal: seal, expected: .replay(granted: granted, decisions: decisions.decisions))
    if try await !ledger.commit(&nothing, request).isSealed {
      // This worker can restore only a list that it sealed recently. Otherwise the slice ended long ago, or another
      // worker restores the list.
      guard let targets = journal.targets,
        case .claimed(let progress) = try await ledger.claim(worker: environment.configuration.name),
        !progress.isSealed,
        try await store.expansion.restore(targets, of: ledger)
      else { return false }
      _ = try await ledger.commit(&nothing, request)
    }
    try await journal.replay(to: ledger) { _ = try await ledger.commit(&$0, request) }
    return true
  }
}
