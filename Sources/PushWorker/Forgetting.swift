import CampaignStore
import EventLoop
import PushCore

/// A slice that this worker has let go of, for as long as Redis may forget what became of it.
struct FormerSlice {
  let ledger: SliceLedger
  let context: CampaignContext
  let seal: [UInt8]
  let granted: Int
  let ending: Closing?
  var journal: SliceJournal
  /// `EventLoop.now` when it was let go of, or last told of again.
  var at: UInt64

  init(_ run: SliceRun, at now: UInt64) {
    ledger = run.ledger
    context = run.context
    seal = run.seal
    granted = run.granted
    ending = run.ending
    journal = run.journal
    at = now
  }
}

/// When Redis forgets: a crash, or a failover to a replica that was behind, undoes writes that it had acknowledged. What
/// this worker was told in the last seconds it tells Redis again, before it takes or sends anything new.
extension PushWorker {
  /// ns for which nothing is taken or sent anew after Redis may have forgotten: the others' turn to tell it what they know.
  /// They try to connect at least once a second; looking and telling takes some 100 ms.
  private static let courtesy: UInt64 = 3_000_000_000
  /// ms by which a campaign may be older than the last look at a server that has forgotten it, and still be missing only
  /// because the end of its log is: what is older Redis has really lost, and it is not for us to begin it again.
  private static let forgettable = 2 * Int(SliceJournal.memory / 1_000_000)

  /// What a slice can't be told again yet: the one who can restore its targets may still do so.
  private struct NotRestoredYet: Error, CustomStringConvertible {
    var description: String { "Redis has forgotten its targets; waiting for whoever sealed them" }
  }

  /// Remembers a slice that is being let go of.
  func keep(_ run: SliceRun) {
    guard run.isReady, run.granted > 0 || run.journal.targets != nil || run.ending != nil else { return }
    former.append(FormerSlice(run, at: EventLoop.now))
    if run.mustReplay { mustReplayFormer = true }
  }

  /// Leaves the others the time to tell Redis what it forgot, and the owners of claims that ran out while it was away the
  /// time to renew them.
  private func beCourteous() {
    claimsResume = EventLoop.now + Self.courtesy
    takeoversResume = EventLoop.now + UInt64(configuration.lease) * 1_000_000
  }

  /// ms for which claims that have run out are left to their owners.
  var sparing: Int { Int(takeoversResume - min(takeoversResume, EventLoop.now)) / 1_000_000 }

  /// Whether others may still be telling Redis what it forgot.
  var isRestoring: Bool { EventLoop.now < claimsResume }

  /// Looks which server answers; until then nothing is asked of a new connection. Another than before may have forgotten.
  func checkServer() async {
    do {
      let (first, second) = (try await store.identify(), try await control.identify())
      if server.isEmpty {
        // Others may know what it forgot before we came.
        let silence = 2 * Self.pulseInterval
        if try await control.mayHaveFallen(uptime: first.uptime, silence: silence) { beCourteous() }
      } else if first.name != server || second.name != server {
        for case let run? in slots where run.isReady {
          run.mustReplay = true
          run.wake()
        }
        beCourteous()
        mustReplayFormer = true
        observer(.serverChanged)
        try await control.noteFall(for: Int(Self.courtesy / 1_000_000))
      }
      // Two answers mean that it is changing just now: it is looked at again.
      let isSame = first.name == server && second.name == server
      // A replica may yet take over what its primary has, and lose the rest.
      if isSame, second.isPrimary { forgetWhatIsDurable() }
      server = first.name == second.name ? first.name : "changing"
      store.admit(first.connection)
      control.admit(second.connection)
      if mustReplayFormer, !isReplayingFormer {
        try await replayFormerSlices()
      }
    } catch {
      report("could not look whether Redis has forgotten anything", error)
    }
  }

  /// Notes what somebody has made of a campaign, for as long as Redis may forget it.
  func note(_ state: CampaignState?, of id: String) {
    switch state {
    case .paused, .cancelled: if steered[id]?.state != state { steered[id] = (state, EventLoop.now) }
    default: steered[id] = nil
    }
  }

  /// Steers campaigns again that were steered a moment before Redis forgot it.
  private func steerAgain() async throws {
    for (id, entry) in steered {
      guard try await control.campaign(id)?.state == .active else { continue }
      let reason = "as it was before Redis lost its last writes"
      try await control.steer(id, entry.state == .cancelled ? .cancel : .pause, reason: reason)
    }
  }

  /// Lets go of what a server that is still there has had the time to make durable. Not of more when it is away: what it
  /// forgets is what came last before it died, however long ago that is.
  private func forgetWhatIsDurable() {
    guard !mustReplayFormer, !isReplayingFormer else { return }
    seenDurableAt = self.now
    let now = EventLoop.now
    former.removeAll { now - $0.at > SliceJournal.memory }
    for index in former.indices { former[index].journal.forget(before: now) }
    steered = steered.filter { now - $0.value.at <= SliceJournal.memory }
    for case let run? in slots where !run.mustReplay { run.journal.forget(before: now) }
  }

  /// What is let go of meanwhile may make it necessary once more.
  private func replayFormerSlices() async throws {
    isReplayingFormer = true
    mustReplayFormer = false
    defer { isReplayingFormer = false }
    do {
      let gone = try await restoreCampaigns(of: former.map(\.context))
      former.removeAll { gone.contains($0.context.campaign.id) }
      try await replayEachFormerSlice()
    } catch {
      mustReplayFormer = true
      throw error
    }
  }

  private func replayEachFormerSlice() async throws {
    var again: [FormerSlice] = []
    for var slice in former {
      try await control.include(slice.ledger.slice)
      let isSealed = try await replay(
        slice.ledger, seal: slice.seal, granted: slice.granted, slice.journal)
      if isSealed, let ending = slice.ending {
        if case .claimed = try await slice.ledger.claim(worker: configuration.name),
          try await !end(slice.ledger, slice.context, ending)
        {
          try await slice.ledger.release()
        }
      } else {
        // Whoever has the reference to it now need not wait for our lease.
        try await slice.ledger.release()
        // Another may have the claim, and no targets.
        if !isSealed, slice.journal.targets != nil, isRestoring { mustReplayFormer = true }
        // Others go on now, with a list of targets of their own: ours must not come back should Redis forget theirs.
        guard isSealed || isRestoring else { continue }
      }
      slice.journal.renew(at: EventLoop.now)
      slice.at = EventLoop.now
      again.append(slice)
    }
    // What was let go of meanwhile is behind those that were there.
    former.replaceSubrange(0..<min(again.count, former.count), with: again)
  }

  /// Takes campaigns in once more that were taken in a moment before Redis forgot it, and steers as they were steered.
  ///
  /// - Returns: those that are gone, and can't or must not be brought back.
  private func restoreCampaigns(of contexts: [CampaignContext]) async throws -> Set<String> {
    var (seen, gone): (Set<String>, Set<String>) = ([], [])
    for context in contexts where seen.insert(context.campaign.id).inserted {
      let id = context.campaign.id
      guard try await control.campaign(id) == nil else { continue }
      guard context.createdAt + Self.forgettable > Int(seenDurableAt) else {
        gone.insert(id)
        continue
      }
      do {
        // Others may hold slices of it in partitions of which Redis has forgotten who was in them.
        _ = try await control.activate(
          context.campaign, job: context.job, worker: configuration.name, narrowing: false)
      } catch let error as StoreError where error.code == .invalid {
        // Such as a segment that Redis has lost as well.
        gone.insert(id)
      }
    }
    try await steerAgain()
    return gone
  }

  /// Tells Redis again what it had acknowledged of a slice in hand, if it has forgotten anything of it.
  func replay(_ run: SliceRun) async throws {
    if try await !restoreCampaigns(of: [run.context]).isEmpty {
      run.mustReplay = false
      return withdraw(run, .lost)
    }
    try await control.include(run.ledger.slice)
    var answer = try await run.ledger.claim(worker: configuration.name)
    var isForgotten = true
    if case .claimed(let standing) = answer, standing.seal == run.seal, standing.granted >= run.granted {
      isForgotten = standing.version.sequence < run.version.sequence || standing.version.replays != run.version.replays
    }
    if isForgotten {
      let isSealed = try await replay(run.ledger, seal: run.seal, granted: run.granted, run.journal)
      if !isSealed, isRestoring {
        // Whoever can seal them again needs the claim for it.
        try await run.ledger.release()
        throw NotRestoredYet()
      }
      // Too late, as with slices that were let go of.
      if !isSealed { run.journal = SliceJournal() }
      run.journal.renew(at: EventLoop.now)
      answer = try await run.ledger.claim(worker: configuration.name)
      // What is granted now and has no answer was sent by somebody else, or by us too long ago to be told again.
      run.doubtIsInherited = true
    }
    run.mustReplay = false
    guard case .claimed(let standing) = answer, standing.seal == run.seal else {
      if case .claimed = answer { try await run.ledger.release() }
      return withdraw(run, .lost)
    }
    adopt(standing, run)
    run.granted = standing.granted
    run.waiting = standing.waiting
    run.nextRetry = standing.waiting > 0 ? 0 : nil
    do {
      try await reconcile(run)
    } catch {
      // Whose the doubt is would be forgotten: from the beginning again.
      run.mustReplay = true
      throw error
    }
  }

  /// - Returns: whether the slice is sealed under this seal.
  private func replay(
    _ ledger: SliceLedger, seal: [UInt8], granted: Int, _ journal: SliceJournal
  ) async throws -> Bool {
    if breaks(.noReplay) { return true }
    var nothing = OutcomeBatch()
    let request = CommitRequest(seal: seal, standing: .forgotten(granted: granted))
    if try await !ledger.commit(&nothing, request).isSealed {
      // Ended long since: there is nothing to tell.
      guard let targets = journal.targets,
        case .claimed(let standing) = try await ledger.claim(worker: configuration.name), !standing.isSealed,
        try await store.restore(targets, of: ledger)
      else { return false }
      _ = try await ledger.commit(&nothing, request)
    }
    try await journal.replay(to: ledger) { _ = try await ledger.commit(&$0, request) }
    return true
  }
}
