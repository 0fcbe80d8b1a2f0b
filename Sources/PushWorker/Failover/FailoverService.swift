import CampaignStore
import EventLoop
import PushCore

/// Notices when Redis may have forgotten writes, and tells it again what this worker was told in the last seconds, before anything
/// new is taken or sent.
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

  /// Whether nothing is remembered that Redis may forget.
  var isIdle: Bool { failover.former.isEmpty }
  /// `EventLoop.now` from which on slices are taken, after Redis may have forgotten something.
  var claimsResume: UInt64 { failover.claimsResume }
  /// ms for which claims that have run out are left to their owners.
  var takeoverGrace: Int { failover.takeoverGrace(EventLoop.now) }
  /// ns to wait before anything is told again; 0 for not at all.
  var delay: UInt64 { failover.delay(EventLoop.now) }

  /// Notes that this worker runs; more often than it takes to forget anything.
  func noteRunning(_ now: UInt64) { failover.noteRunning(now) }

  /// Remembers a slice that is being let go of.
  func keep(_ session: SliceSession) { failover.keep(session, at: EventLoop.now) }

  /// Whether Redis is yet to be told of a slice what this worker knows of it. Until then this worker must not take the slice.
  func mustTell(of slice: SliceReference) -> Bool { failover.mustTell(of: slice) }

  /// Whether the servers were looked at in the last milliseconds, and both clients are connected to servers that were.
  func knowsServers(since milliseconds: Int) async -> Bool {
    guard EventLoop.now < failover.lookedAt + UInt64(milliseconds) * 1_000_000 else { return false }
    return await isAdmitted()
  }

  /// Does what a worker begins with, which may find one list after the other damaged: the call that finds a damaged list sets it
  /// aside. Where another server has taken over, it is looked at and asked again.
  func begin<Result>(_ first: () async throws -> Result) async throws -> Result {
    while true {
      do {
        return try await first()
      } catch let error as StoreError {
        guard case .list(let key)? = error.damage, try await sharedStore.repair.isGone(key) else { throw error }
        log.report("a list is damaged", error)
      } catch {
        // An admitted server refuses, or is out of reach: that is for whoever started the worker.
        guard await !isAdmitted() else { throw error }
        await checkServer()
        guard await isAdmitted() else { throw error }
      }
    }
  }

  /// Does what is to be done about an error: takes out what is damaged, and looks whether there is another server.
  func recover(from error: any Error) async {
    await damage.mend(error)
    await checkServer()
  }

  private func isAdmitted() async -> Bool {
    guard await store.isAdmitted() else { return false }
    return await sharedStore.isAdmitted()
  }

  /// Of a cluster the server that says who is there is missing.
  private struct SharedServerMissing: Error, CustomStringConvertible {
    var description: String { "the server of the shared keys does not answer" }
  }

  /// Whether others may still be telling Redis what it forgot.
  var isInGrace: Bool { failover.isInGrace(EventLoop.now) }

  /// Looks which servers answer; until then nothing is asked of a new connection. Another than before may have forgotten.
  func checkServer() async {
    failover.noteRunning(EventLoop.now)
    do {
      let (first, second) = try await Self.identify(store, sharedStore)
      guard let home = second.first(where: \.hasControl) else { throw SharedServerMissing() }
      failover.lookedAt = EventLoop.now
      let isReconnected = failover.noteConnections(
        Dictionary(grouping: first + second, by: \.place).mapValues { $0.map(\.connection) })
      if isReconnected || home.uptime < Int(FailoverReplay.grace / 1_000_000_000) {
        membership.expectOthers(by: EventLoop.now + FailoverReplay.grace)
      }
      let finding = failover.look(Self.names(first), Self.names(second))
      if finding.isFirst {
        // Others may know what it forgot before we came.
        if try await mayHaveFailedOver(uptime: home.uptime) { failover.beginGrace(EventLoop.now, lease: lease) }
      } else if !finding.changed.isEmpty {
        try await tellThatItForgot(finding, home: home, servers: first + second)
      } else if isReconnected {
        log.tell(.reconnected)
      }
      // A replica may yet take over what its primary has, and lose the rest.
      forgetWhatIsDurable(second.filter { $0.isPrimary && finding.same.contains($0.place) })
      store.admit(first)
      sharedStore.admit(second)
      if failover.delay(EventLoop.now) == 0, failover.begin() {
        defer { failover.end() }
        try await replayFormerSlices()
      }
    } catch {
      log.report("could not look whether Redis has forgotten anything", error)
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

  /// Sees to it that everything is told again that servers may have forgotten.
  private func tellThatItForgot(
    _ finding: FailoverReplay.Finding, home: ServerIdentity, servers: [ServerIdentity]
  ) async throws {
    let changed = servers.filter { finding.changed.contains($0.place) }
    let isControl = finding.changed.contains(home.place)
    // It may have forgotten that this worker listens.
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
    log.tell(.serverChanged)
    try await sharedStore.slices.noteFailover(for: Int(FailoverReplay.grace / 1_000_000))
  }

  private func mayHaveFailedOver(uptime: Int) async throws -> Bool {
    do {
      return try await sharedStore.slices.mayHaveFailedOver(uptime: uptime, timeout: FailoverReplay.silence)
    } catch let error as StoreError where error.code == .damaged {
      // Who could tell is gone: what others may know is waited for.
      log.report("a list is damaged", error)
      return true
    }
  }

  /// - Parameter servers: those that were there before, and take writes.
  private func forgetWhatIsDurable(_ servers: [ServerIdentity]) {
    guard !servers.isEmpty else { return }
    let now = EventLoop.now
    let hasControl = servers.contains(where: \.hasControl)
    let isDurable = { (partition: Int) in servers.contains { $0.has(partition: partition) } }
    guard failover.forget(before: now, clock: hasControl ? self.now : nil, where: isDurable) else { return }
    if hasControl { campaigns.forget(before: now) }
    for session in slices.sessions where !session.claim.mustReplay && isDurable(session.slice.partition) {
      session.journal.forget(before: now)
    }
  }

  // MARK: Slices that were let go of

  /// Before the worker ends: what Redis forgot, and nobody else knows, is told it, for as long as the stop allows.
  func replayBeforeEnd() async {
    while failover.isPending, !life.isAbandoning {
      await checkServer()
      if failover.isPending { await pause(milliseconds: 100) }
    }
  }

  /// Slices told of at a time: each takes some ten round trips, one behind the other, and the grace is short.
  private static let replays = 16

  /// What is let go of meanwhile may make it necessary once more.
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

  /// - Returns: why one slice could not be told of; `nil` when it was.
  private func replay(_ places: [Int], since losses: Int) async -> (any Error)? {
    for place in places {
      let former = failover.former[place]
      do {
        failover.note(try await replay(former), at: place, since: losses)
      } catch let error as StoreError where error.code == .damaged {
        log.report("slice", of: former.ledger.slice, error)
        await damage.mend(error, of: former.ledger.slice)
        failover.note(nil, at: place, since: losses)
      } catch {
        return error
      }
    }
    return nil
  }

  /// - Returns: the slice as it is to be remembered from now on, if it is.
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
      // Whoever has the reference to it now need not wait for our lease.
      try await slice.ledger.unclaim()
      // Another may have the claim, and no targets.
      if !isSealed, slice.journal.targets != nil, isInGrace {
        slice.isDue = true
        failover.mustRunAgain()
      }
      // Others go on now, with a list of targets of their own: ours must not come back should Redis forget theirs.
      guard isSealed || isInGrace else { return nil }
    }
    slice.journal.renew(at: EventLoop.now)
    slice.at = EventLoop.now
    return slice
  }

  // MARK: Campaigns

  /// Takes campaigns in once more that were taken in a moment before Redis forgot it, and pauses or cancels those that
  /// were.
  ///
  /// - Returns: those that are gone, and can't or must not be brought back.
  func restoreCampaigns(of contexts: [CampaignContext]) async throws -> Set<String> {
    var (seen, gone): (Set<String>, Set<String>) = ([], [])
    for context in contexts where seen.insert(context.campaign.id).inserted {
      let id = context.campaign.id
      do {
        let whole = context.campaign.whole
        if try await sharedStore.campaigns.standing(of: whole) == nil {
          guard failover.mayBeForgotten(context) else {
            gone.insert(id)
            continue
          }
          // Others may hold slices of it in partitions of which Redis has forgotten who was in them.
          let campaign =
            whole == id
            ? context.campaign : try CampaignJob.parse(context.facts.job, environment.configuration.jobApps, as: whole)
          _ = try await sharedStore.queue.activate(
            campaign, job: context.facts.job, worker: environment.configuration.name, narrowed: true)
        }
        // What was sent to some of a stage is sent to all.
        try await sharedStore.campaigns.restoreStage(
          of: context.campaign, job: context.facts.job, start: context.schedule.start)
      } catch let error as StoreError where error.code == .invalid {
        // Such as a segment that Redis has lost as well.
        gone.insert(id)
      } catch is JobError {
        gone.insert(id)
      }
    }
    for (id, verb) in campaigns.recent where try await sharedStore.campaigns.standing(of: id)?.state == .active {
      try await sharedStore.campaigns.control(id, verb, reason: "as it was before Redis lost its last writes")
    }
    return gone
  }

  /// - Returns: whether the slice is sealed under this seal.
  func replay(
    _ ledger: SliceLedger, seal: [UInt8], granted: Int, _ journal: SliceJournal,
    _ decisions: GrantDecisions
  ) async throws -> Bool {
    if breaks(.noReplay) { return true }
    var nothing = OutcomeBatch()
    let request = CommitRequest(seal: seal, standing: .replay(granted: granted, decisions: decisions.decisions))
    if try await !ledger.commit(&nothing, request).isSealed {
      // Ended long since: there is nothing to tell.
      guard let targets = journal.targets,
        case .claimed(let standing) = try await ledger.claim(worker: environment.configuration.name),
        !standing.isSealed,
        try await store.expansion.restore(targets, of: ledger)
      else { return false }
      _ = try await ledger.commit(&nothing, request)
    }
    try await journal.replay(to: ledger) { _ = try await ledger.commit(&$0, request) }
    return true
  }
}
