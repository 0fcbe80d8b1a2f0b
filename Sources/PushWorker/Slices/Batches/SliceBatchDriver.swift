import CampaignStore
import EventLoop
import PushCore

/// Runs the steps of all slices of a batch together, and ends finished slices.
struct SliceBatchDriver: WorkerPart {
  let environment: WorkerEnvironment
  let slices: SliceTable
  let dispatcher: CreditDispatcher
  let committer: SliceCommitter
  let closer: SliceCloser
  let release: SliceRelease
  let runner: SliceRunner
  let failover: FailoverService
  let damage: DamageIsolator

  /// Runs the next step of each slice until no slice is left in the batch.
  func drive(_ sliceBatch: inout RunningBatch, _ group: inout DiscardingTaskGroup) async {
    while !sliceBatch.sessions.isEmpty {
      let now = EventLoop.now
      let demand = Scheduler.Demand(dispatcher.entries(now))
      var waiting: [SliceSession] = []
      var steps: [(session: SliceSession, commit: SliceCommitter.CommitInProgress?)] = []
      for session in sliceBatch.sessions {
        switch dispatcher.nextStep(of: session, demand, now) {
        case .wait: waiting.append(session)
        case .commit(let credit) where session.mayCommitImmediately(credit):
          var commit = committer.beginCommit(session, credit: credit)
          commit.findSuspects(of: session)
          steps.append((session, commit))
        case .finish: steps.append((session, nil))
        default: leave(session, &group)
        }
      }
      sliceBatch.sessions = waiting
      if steps.isEmpty {
        if !waiting.isEmpty { await sliceBatch.signal.wait() }
      } else {
        await take(steps, &sliceBatch, &group)
      }
    }
  }

  /// Commits slices, and closes the slices without remaining targets, in one round trip.
  private func take(
    _ steps: [(session: SliceSession, commit: SliceCommitter.CommitInProgress?)], _ sliceBatch: inout RunningBatch,
    _ group: inout DiscardingTaskGroup
  ) async {
    var commits = steps.map { session, commit in
      let batch = commit?.batch ?? OutcomeBatch()
      let ends = session.ends(with: batch)
      if ends { session.claim.ending = .finish }
      return SliceCommit(ledger: session.ledger, outcomes: batch, request: commit?.request, closes: ends)
    }
    let answers: [Result<SliceCommitAnswer, any Error>]
    do {
      answers = try await store.slices.commit(&commits)
    } catch {
      answers = steps.map { _ in .failure(error) }
      log.report("slices of campaign \(sliceBatch.context.campaign.id)", error)
      await failover.checkServer()
    }
    var ended: [(session: SliceSession, counters: SliceCounters)] = []
    for ((session, commit), answer) in zip(steps, answers) {
      switch answer {
      case .success(let answer):
        if answer.counters == nil { session.claim.ending = nil }
        if let commit, let granted = answer.commit {
          await endCommit(commit, of: session, granted, isLast: answer.counters != nil, &sliceBatch, &group)
        } else if answer.counters == nil {
          // Redis did not close the slice: it has remaining targets.
          leave(session, &group)
        }
        if let counters = answer.counters { ended.append((session, counters)) }
      case .failure:
        if let commit { committer.failCommit(commit, of: session) }
        session.claim.ending = nil
        session.claim.mustReconcile = true
        leave(session, &group)
      }
    }
    await count(ended, sliceBatch.context, &group)
    wakeSlices()
  }

  /// Applies Redis' answer to a commit (``SliceCommitter``). If this fails, the slice leaves the batch.
  func endCommit(
    _ commit: SliceCommitter.CommitInProgress, of session: SliceSession, _ answer: CommitAnswer, isLast: Bool = false,
    _ sliceBatch: inout RunningBatch, _ group: inout DiscardingTaskGroup
  ) async {
    do {
      try await committer.endCommit(commit, of: session, answer)
      if !isLast { sliceBatch.sessions.append(session) }
    } catch {
      // The granted targets are in doubt. The slice must first compare its targets in flight with Redis
      // (``SliceCommitter/reconcile(_:)``).
      session.claim.mustReconcile = true
      log.report("slice", of: session.slice, error)
      if !isLast { leave(session, &group) }
    }
  }

  // MARK: Ending

  /// Adds the counts of closed slices to their campaign.
  func count(
    _ ended: [(session: SliceSession, counters: SliceCounters)], _ context: CampaignContext,
    _ group: inout DiscardingTaskGroup
  ) async {
    guard !ended.isEmpty else { return }
    for (session, counters) in ended { closer.recordEnd(of: session.slice, counters) }
    do {
      let state = try await sharedStore.slices.finish(
        ended.map { ($0.session.slice, $0.counters) }, lane: Lane.allCases[context.facts.account.lane],
        worker: environment.configuration.name)
      for (session, _) in ended {
        release.discard(session)
        slices.drop(session.slice)
      }
      wakeClaims()
      await closer.recordCount(of: context.campaign.id, state)
    } catch {
      log.report("could not count slices of campaign \(context.campaign.id)", error)
      await damage.repair(error)
      // The slices are closed, so no worker can claim them. The next attempt to claim such a slice counts it. If this
      // worker's attempt fails too, another worker takes the slice over.
      for (session, _) in ended { release.discard(session) }
      for slice in ended.map(\.session.slice) { loop.start(in: &group) { await self.runner.work(on: slice) } }
    }
  }

  /// Removes a slice from its batch and runs it in a separate task. The targets of the slice must be known.
  func leave(_ session: SliceSession, _ group: inout DiscardingTaskGroup) {
    session.leaveBatch()
    loop.start(in: &group) { await self.runner.work(apart: session, isPrepared: true) }
  }
}
