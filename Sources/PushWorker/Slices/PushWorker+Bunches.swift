import CampaignStore
import EventLoop
import PushCore

/// Slices of one campaign with few targets each, which are taken through their lives together: a round trip for each step
/// of all, not of each. What is out of the ordinary with one of them is done apart from the others, as with any slice.
extension PushWorker {
  /// A bunch on its way: its slices in hand, and the tasks of those that left it.
  private struct Bunch {
    let context: CampaignContext
    let bell = Bell()
    var sessions: [SliceSession] = []
  }

  /// Works on slices of one campaign until each is finished, parked, given back or lost.
  func work(on references: [SliceReference]) async {
    guard references.count > 1 else {
      if let reference = references.first { await work(on: reference) }
      return
    }
    await withDiscardingTaskGroup { group in
      guard !references.contains(where: failover.mustTell) else {
        for reference in references { group.addTask { await self.work(on: reference) } }
        return
      }
      do {
        if var bunch = try await claim(references, &group) { await drive(&bunch, &group) }
      } catch {
        // The references stay in our list and the leases run out: a takeover finds both.
        log.report("slices of campaign \(references[0].campaign)", error)
        await mend(error)
      }
    }
    wakeClaims()
  }

  // MARK: Beginning

  /// Claims slices, expands and seals them, and sends what they are granted.
  ///
  /// - Returns: those that are sealed; `nil` where they are worked on one by one instead.
  private func claim(
    _ references: [SliceReference], _ group: inout DiscardingTaskGroup
  ) async throws -> Bunch? {
    var left = Set(references)
    var sessions: [Int: SliceSession] = [:]
    do {
      let epoch = campaigns.epoch
      guard let context = try await plainContext(of: references[0].campaign) else {
        for reference in references { group.addTask { await self.work(on: reference) } }
        return nil
      }
      let ledgers = references.map {
        SliceLedger(
          store: store, slice: $0, lease: configuration.lease, app: context.campaign.app, rules: context.rules)
      }
      // Should Redis come back without a later claim than these, their targets are not for us to seal.
      let expanding = store.pinned()
      var slices = SliceBunch(
        ledgers, store: expanding, of: context.campaign, filter: context.filter, quotas: context.prospect.quotas,
        now: Int(now))
      var bunch = Bunch(context: context)
      let number = self.slices.nextBunch()
      let claimedAt = EventLoop.now
      let claims = try await slices.claim(
        worker: configuration.name, gracePeriod: failover.takeoverGrace(EventLoop.now))
      for (position, claim) in claims.enumerated() {
        let reference = references[position]
        switch claim {
        case .success(.claimed(let standing)):
          let session = takeUp(ledgers[position], context, standing, at: claimedAt, expanding: expanding)
          if standing.isSealed {
            left.remove(reference)
            group.addTask { [tag = session.tag] in await self.work(apart: tag) }
          } else {
            session.join(number, bunch.bell)
            sessions[position] = session
          }
        case .success(.held), .success(.finished):
          left.remove(reference)
          group.addTask { await self.work(on: reference) }
        case .failure(let error):
          left.remove(reference)
          await drop(reference, error)
        }
      }
      // Paused or cancelled since the state was read: we may have said already that we have followed.
      if campaigns.epoch != epoch { try await followControl() }
      let positions = sessions.keys.sorted()
      for (position, result) in zip(positions, try await slices.expand(positions)) {
        guard let session = sessions[position] else { continue }
        switch result {
        case .success(_?): continue
        case .success(nil):
          session.leaveBunch()
          group.addTask { [tag = session.tag] in await self.work(apart: tag) }
        case .failure(let error):
          discard(session)
          await drop(session.slice, error)
        }
        left.remove(session.slice)
        sessions[position] = nil
      }
      left.subtract(sessions.values.map(\.slice))
      await seal(sessions, slices, into: &bunch, &group)
      return bunch
    } catch {
      for session in sessions.values where left.contains(session.slice) { discard(session) }
      for reference in left { self.slices.drop(reference) }
      throw error
    }
  }

  /// What is known of a campaign; `nil` where anything about it is out of the ordinary.
  private func plainContext(of id: String) async throws -> CampaignContext? {
    guard let standing = try await control.campaigns.standing(of: id), standing.state == .active, !life.isStopping,
      !campaigns.objections.applies(to: id, round: standing.round),
      let context = campaigns.context(id, round: standing.round), context.isNarrowed, !context.route.isStuck,
      context.guard.tripReason == nil, context.campaign.recipients.limit == nil || context.prospect.quotas != nil
    else { return nil }
    context.prospect.unfinished = standing.unfinished
    if scheduler.note(unfinished: standing.unfinished) { wakeClaims() }
    return try await canExpand(context) ? context : nil
  }

  /// Seals slices that are expanded, by their positions, and sends what they are granted.
  private func seal(
    _ sessions: [Int: SliceSession], _ slices: consuming SliceBunch, into bunch: inout Bunch,
    _ group: inout DiscardingTaskGroup
  ) async {
    let demand = Scheduler.Demand(entries(EventLoop.now))
    let sealing = sessions.sorted { $0.key < $1.key }.map { position, session in
      let targets = slices.targets(of: position)
      let count = targets.count
      // Of those with times of their own some may not be sent now: that is looked at first.
      let credit = targets.times == nil ? credit(for: session, demand, EventLoop.now) : 0
      // What can't be granted as a whole is granted in its turn.
      session.claim.seal = session.ledger.claim
      return (position: position, session: session, commit: beginCommit(session, credit: credit < count ? 0 : count))
    }
    let answers: [Result<SealAnswer, any Error>]
    do {
      answers = try await slices.seal(sealing.map { ($0.position, $0.commit.credit) })
    } catch {
      log.report("slices of campaign \(bunch.context.campaign.id)", error)
      await checkServer()
      for (position, session, commit) in sealing {
        // Whether it is sealed and granted is to be found out; its targets are known here.
        noteSeal(slices.targets(of: position), of: session)
        failCommit(commit, of: session)
        session.claim.mustReplay = true
        leave(session, &group)
      }
      return wakeSlices()
    }
    var ended: [(session: SliceSession, counters: SliceCounters)] = []
    for ((position, session, commit), answer) in zip(sealing, answers) {
      let targets = slices.targets(of: position)
      switch answer {
      case .success(let answer) where !answer.isSealed:
        giveBack(commit.credit, of: session)
        session.context.settle(spent: commit.credit, sent: 0)
        log.tell(.lost(slice: session.slice))
        discard(session)
        self.slices.drop(session.slice)
      case .success(let answer):
        noteSeal(targets, of: session)
        if 1...TargetsUnderWay.chunkSize ~= targets.count { session.targets.keep(targets.chunk, number: 0) }
        if let counters = answer.counters {
          session.claim.ending = .finish
          ended.append((session, counters))
        } else if let granted = answer.commit {
          await endCommit(commit, of: session, granted, &bunch, &group)
        } else {
          bunch.sessions.append(session)
        }
      case .failure(let error):
        session.context.settle(spent: commit.credit, sent: 0)
        discard(session)
        await drop(session.slice, error)
      }
    }
    await count(ended, bunch.context, &group)
    wakeSlices()
  }

  // MARK: Driving

  /// Takes the next steps of its slices until none is left in it.
  private func drive(_ bunch: inout Bunch, _ group: inout DiscardingTaskGroup) async {
    while !bunch.sessions.isEmpty {
      let now = EventLoop.now
      let demand = Scheduler.Demand(entries(now))
      var waiting: [SliceSession] = []
      var steps: [(session: SliceSession, commit: CommitUnderWay?)] = []
      for session in bunch.sessions {
        switch nextStep(of: session, demand, now) {
        case .wait: waiting.append(session)
        case .commit(let credit) where session.mayCommitAtOnce(credit):
          var commit = beginCommit(session, credit: credit)
          commit.request.suspects = session.suspects(within: commit.credit)
          steps.append((session, commit))
        case .finish: steps.append((session, nil))
        default: leave(session, &group)
        }
      }
      bunch.sessions = waiting
      if steps.isEmpty {
        if !waiting.isEmpty { await bunch.bell.wait() }
      } else {
        await take(steps, &bunch, &group)
      }
    }
  }

  /// Commits to slices and ends those of which nothing is left, in one round trip.
  private func take(
    _ steps: [(session: SliceSession, commit: CommitUnderWay?)], _ bunch: inout Bunch,
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
      log.report("slices of campaign \(bunch.context.campaign.id)", error)
      await checkServer()
    }
    var ended: [(session: SliceSession, counters: SliceCounters)] = []
    for ((session, commit), answer) in zip(steps, answers) {
      switch answer {
      case .success(let answer):
        if answer.counters == nil { session.claim.ending = nil }
        if let commit, let granted = answer.commit {
          await endCommit(commit, of: session, granted, isLast: answer.counters != nil, &bunch, &group)
        } else if answer.counters == nil {
          // Redis knows of targets that are left.
          leave(session, &group)
        }
        if let counters = answer.counters { ended.append((session, counters)) }
      case .failure:
        if let commit { failCommit(commit, of: session) }
        session.claim.ending = nil
        session.claim.mustReconcile = true
        leave(session, &group)
      }
    }
    await count(ended, bunch.context, &group)
    wakeSlices()
  }

  /// Takes note of a commit's answer; the slice stays in the bunch, or leaves it where that fails.
  private func endCommit(
    _ commit: CommitUnderWay, of session: SliceSession, _ answer: CommitAnswer, isLast: Bool = false,
    _ bunch: inout Bunch, _ group: inout DiscardingTaskGroup
  ) async {
    do {
      try await endCommit(commit, of: session, answer)
      if !isLast { bunch.sessions.append(session) }
    } catch {
      // What was granted is in doubt until it is found.
      session.claim.mustReconcile = true
      log.report("slice", of: session.slice, error)
      if !isLast { leave(session, &group) }
    }
  }

  // MARK: Ending

  /// Has slices that are closed counted for their campaign.
  private func count(
    _ ended: [(session: SliceSession, counters: SliceCounters)], _ context: CampaignContext,
    _ group: inout DiscardingTaskGroup
  ) async {
    guard !ended.isEmpty else { return }
    for (session, counters) in ended { noteEnd(of: session.slice, counters) }
    do {
      let state = try await control.slices.finish(
        ended.map { ($0.session.slice, $0.counters) }, lane: Lane.allCases[context.account.lane],
        worker: configuration.name)
      for (session, _) in ended {
        discard(session)
        slices.drop(session.slice)
      }
      wakeClaims()
      await noteCount(of: context.campaign.id, state)
    } catch {
      log.report("could not count slices of campaign \(context.campaign.id)", error)
      await mend(error)
      // Ended, they are claimed by nobody: whoever has the reference next counts them.
      for (session, _) in ended { discard(session) }
      for slice in ended.map(\.session.slice) { group.addTask { await self.work(on: slice) } }
    }
  }

  /// A slice whose targets are known goes on apart from its bunch.
  private func leave(_ session: SliceSession, _ group: inout DiscardingTaskGroup) {
    session.leaveBunch()
    group.addTask { [tag = session.tag] in await self.work(apart: tag, isPrepared: true) }
  }

  /// Nothing more is done about a slice.
  private func drop(_ reference: SliceReference, _ error: any Error) async {
    log.report("slice", of: reference, error)
    await mend(error, of: reference)
    slices.drop(reference)
  }
}
