import CampaignStore
import EventLoop
import PushCore

/// Seals the expanded slices of a batch, and sends their granted targets.
struct SliceBatchSeal: WorkerPart {
  let environment: WorkerEnvironment
  let slices: SliceTable
  let credit: CreditLedger
  let dispatcher: CreditDispatcher
  let preparation: SlicePreparation
  let committer: SliceCommitter
  let release: SliceRelease
  let runner: SliceRunner
  let driver: SliceBatchDriver
  let failover: FailoverService

  /// Seals expanded slices, by their positions in the batch, and sends their granted targets.
  func seal(
    _ sessions: [Int: SliceSession], _ expansion: consuming SliceBatch, into batch: inout RunningBatch,
    _ group: inout DiscardingTaskGroup
  ) async {
    let demand = Scheduler.Demand(dispatcher.entries(EventLoop.now))
    let sealing = sessions.sorted { $0.key < $1.key }.map { position, session in
      let targets = expansion.targets(of: position)
      let count = targets.count
      // If targets have their own send times, it may be too early to send them. A later step checks the times, so the
      // call that seals the list grants no such target.
      let assignable = targets.times == nil ? dispatcher.credit(for: session, demand, EventLoop.now) : 0
      // If the call can't grant all targets now, a later commit (``SliceCommitter``) grants the others.
      session.claim.seal = session.ledger.claim
      return (
        position: position, session: session,
        commit: committer.beginCommit(session, credit: assignable < count ? 0 : count)
      )
    }
    let answers: [Result<SealAnswer, any Error>]
    do {
      answers = try await expansion.seal(sealing.map { ($0.position, $0.commit.credit) })
    } catch {
      log.report("slices of campaign \(batch.context.campaign.id)", error)
      await failover.checkServer()
      for (position, session, commit) in sealing {
        // It is unknown whether Redis has sealed and granted the targets. The replay finds this out and restores them
        // if necessary, because this worker still has the targets.
        preparation.recordSeal(expansion.targets(of: position), of: session)
        committer.failCommit(commit, of: session)
        session.claim.mustReplay = true
        driver.leave(session, &group)
      }
      return wakeSlices()
    }
    var ended: [(session: SliceSession, counters: SliceCounters)] = []
    for ((position, session, commit), answer) in zip(sealing, answers) {
      let targets = expansion.targets(of: position)
      switch answer {
      case .success(let answer) where !answer.isSealed:
        credit.giveBack(commit.credit, of: session)
        session.context.reconcile(spent: commit.credit, sent: 0)
        log.write(.lost(slice: session.slice))
        release.discard(session)
        slices.drop(session.slice)
        do {
          try await preparation.returns.parkSealed(session)
        } catch {
          // The reference stays in this worker's list, where the next heartbeat finds it.
          log.report("slices of campaign \(session.slice.campaign)", error)
        }
      case .success(let answer):
        preparation.recordSeal(targets, of: session)
        if 1...TargetsInFlight.chunkSize ~= targets.count { session.targets.inFlight.keep(targets.chunk, number: 0) }
        if let counters = answer.counters {
          session.claim.ending = .finish
          ended.append((session, counters))
        } else if let granted = answer.commit {
          await driver.endCommit(commit, of: session, granted, &batch, &group)
        } else {
          batch.sessions.append(session)
        }
      case .failure(let error):
        session.context.reconcile(spent: commit.credit, sent: 0)
        release.discard(session)
        await runner.drop(session.slice, error)
      }
    }
    await driver.count(ended, batch.context, &group)
    wakeSlices()
  }
}
