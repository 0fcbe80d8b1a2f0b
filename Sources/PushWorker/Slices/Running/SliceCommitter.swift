import CampaignStore
import EventLoop
import PushCore

/// Makes the commits of slices. A *commit* is one write to the ledger of a slice (its records in Redis): it records
/// outcomes and asks for grants of further targets. Also finds the targets in doubt and sends them again, and searches
/// for a poison target: a target that kills every worker that sends it.
struct SliceCommitter: WorkerPart {
  let environment: WorkerEnvironment
  let credit: CreditLedger
  let recorder: TargetRecorder
  let sender: PushSender
  let failover: FailoverService
  let figures: WorkerFigures

  /// A commit that was prepared and that Redis has not answered yet.
  struct CommitInProgress {
    var batch: OutcomeBatch
    var request: CommitRequest
    /// Monotonic time in ns at which the commit was prepared. The renewed lease begins at or after this time.
    let at: UInt64
    /// The same time by Redis' clock, in ms since the epoch. Redis grants the targets at or after this time.
    let clock: UInt64
    /// The targets that the commit may grant. This worker has compared their users with the departed users.
    private(set) var compared = ComparedTargets()
    /// Credit that was allocated to the slice for this commit.
    var credit: Int { request.credit }

    init(batch: OutcomeBatch, request: CommitRequest, at: UInt64, clock: UInt64) {
      (self.batch, self.request, self.at, self.clock) = (batch, request, at, clock)
    }

    /// Finds the suspects: the targets whose users may have departed. Redis must check them when it grants them.
    mutating func findSuspects(of session: SliceSession) {
      compared = session.compare(within: credit)
      request.suspects = compared.suspects
    }
  }

  func commit(_ session: SliceSession, credit asked: Int) async throws {
    var commit = beginCommit(session, credit: asked)
    let answer: CommitAnswer
    do {
      if commit.credit > 0, session.claim.granted < (session.targets.count ?? 0) {
        try await session.load(
          session.claim.granted..<min(session.claim.granted + commit.credit, (session.targets.count ?? 0)))
        commit.findSuspects(of: session)
      }
      answer = try await session.ledger.commit(&commit.batch, commit.request)
    } catch {
      failCommit(commit, of: session)
      throw error
    }
    try await endCommit(commit, of: session, answer)
    wakeSlices()
  }

  /// Takes the outcomes to record, and allocates the requested credit.
  func beginCommit(_ session: SliceSession, credit asked: Int) -> CommitInProgress {
    let batch = session.pending.outcomes.takeBatch(EventLoop.now)
    // After a lost reply, Redis may have granted targets that this worker does not know. The worker must find them
    // first.
    let assigned = session.claim.mustReconcile ? 0 : asked
    credit.assign(assigned, to: session)
    session.context.spend(assigned)
    let start = EventLoop.now
    session.claim.renewAt = start + SliceSession.renewal(of: lease)
    return CommitInProgress(
      batch: batch,
      request: CommitRequest(
        seal: session.claim.seal, expected: .acknowledged(session.claim.version), credit: assigned,
        resent: session.doubt.resent, departures: session.targets.departed.number), at: start, clock: now)
  }

  /// Handles a commit whose result is unknown.
  func failCommit(_ commit: CommitInProgress, of session: SliceSession) {
    session.context.reconcile(spent: commit.credit, sent: 0)
    // The outcomes go back to the queue, because recording them twice is safe. Only Redis knows whether the credit was
    // used.
    session.pending.outcomes.putBack(commit.batch)
    session.claim.uncertain += commit.credit
  }

  /// Applies the answer to a commit, and sends the granted targets.
  func endCommit(_ commit: CommitInProgress, of session: SliceSession, _ answer: CommitAnswer) async throws {
    let (batch, assigned, resent) = (commit.batch, commit.credit, commit.request.resent)
    var sent = 0
    defer { session.context.reconcile(spent: assigned, sent: sent) }
    if !batch.isEmpty { crashPoint(.committed) }
    session.journal.record(batch, answer, at: EventLoop.now)
    session.pending.outcomes.markRecorded(batch)
    session.doubt.resent -= resent
    figures.totals.recorded += batch.count
    figures.totals.commits += 1
    credit.giveBack(batch.count, of: session)
    guard answer.isOwner || breaks(.fenceIgnored) else {
      credit.giveBack(assigned, of: session)
      return await handleLostClaim(session)
    }
    // The pool may send its waiting pushes while any claim of its slices is valid.
    session.context.facts.route.maySend(until: commit.at + lease)
    let sealed = session.targets.count ?? 0
    // If Redis has lost this worker's list, another worker may have sealed a list with another seal id and more
    // targets.
    guard !answer.isSealed || answer.granted <= sealed, answer.retries.allSatisfy({ $0.index < sealed }) else {
      credit.giveBack(assigned, of: session)
      throw await store.repair.inspect(session.slice)
    }
    let expected = session.claim.version
    session.claim.version = answer.version.next
    let isRemembered =
      answer.isSealed && answer.granted >= session.claim.granted && answer.version.sequence >= expected.sequence
      && answer.version.replays == expected.replays
    guard isRemembered || breaks(.fenceIgnored) else {
      credit.giveBack(assigned, of: session)
      // Redis lost a write, or another worker replayed lost writes.
      session.claim.mustReplay = true
      return session.wake()
    }
    let before = session.claim.granted
    session.claim.granted = answer.granted
    session.claim.waiting = answer.waiting
    session.claim.later = answer.later
    session.claim.nextRetry = answer.nextRetry.map { EventLoop.now + UInt64($0) * 1_000_000 }
    if session.claim.mustReconcile || answer.version != expected && !breaks(.fenceIgnored) {
      credit.giveBack(assigned, of: session)
      // This worker has not sent the targets whose grant was in a lost reply. Only targets that an earlier owner left
      // in doubt may have been sent.
      session.doubt.isInherited = session.doubt.isInherited && !(session.doubt.isEmpty)
      try await reconcile(session)
    } else {
      if session.claim.granted > before || !answer.retries.isEmpty { crashPoint(.granted) }
      sent = session.claim.granted - before + answer.retries.count
      if breaks(.creditIgnored) {
        session.claim.granted = min((session.targets.count ?? 0), session.claim.granted + 64)
      }
      credit.giveBack(assigned - (session.claim.granted - before) - answer.retries.count, of: session)
      session.targets.decisions.record(answer.firstDecisions, from: before, of: sealed)
      for (index, decision) in answer.withheld { session.targets.decisions.record(decision, index, of: sealed) }
      for (target, decision) in zip(answer.retries, answer.retryDecisions) {
        session.targets.decisions.record(decision, target.index, of: sealed)
      }
      // One call gets all targets. If it can't read them, it returns the credit of all of them.
      let targets = answer.retries + (before..<session.claim.granted).map { GrantedTarget(index: $0) }
      session.targets.departed.add(answer.departures)
      guard !targets.isEmpty else { return }
      do {
        try await session.check(targets, except: commit.compared)
      } catch {
        // The targets stay granted. The next search for targets in doubt finds them and checks them again.
        credit.giveBack(targets.count, of: session)
        throw error
      }
      try await sender.send(session, targets, grantedAt: commit.clock)
    }
  }

  /// Handles a claim that is no longer valid.
  private func handleLostClaim(_ session: SliceSession) async {
    session.doubt.drop()
    // Redis may have lost a recent claim, and the sealed list with it.
    await failover.checkServer()
    if failover.isInGrace, session.intent != .lost {
      session.claim.mustReplay = true
      session.wake()
    } else {
      recorder.stopSending(session, .lost)
    }
  }

  /// Finds the targets in doubt, including targets that Redis granted in a lost reply.
  func reconcile(_ session: SliceSession) async throws {
    session.claim.mustReconcile = true
    let isOurs = try await findDoubt(session)
    session.claim.mustReconcile = false
    credit.giveBack(session.claim.uncertain, of: session)
    session.claim.uncertain = 0
    if !isOurs { await handleLostClaim(session) }
  }

  /// Finds targets that are granted, have no answer and are not in flight on this worker.
  ///
  /// - Returns: `false` if the claim was lost. The new owner may then be sending the granted targets.
  private func findDoubt(_ session: SliceSession) async throws -> Bool {
    var found: [GrantedTarget] = []
    let known = Set((session.doubt.targets + session.doubt.deferred).map(\.index))
    for first in stride(from: 0, to: session.claim.granted, by: TargetsInFlight.chunkSize) {
      let (records, isOwner) = try await session.ledger.records(
        from: first, count: min(TargetsInFlight.chunkSize, session.claim.granted - first))
      guard isOwner || breaks(.fenceIgnored) else { return false }
      for (offset, record) in records.enumerated() where record.state == .granted {
        let index = first + offset
        // A target that was answered while Redis was unreachable is not in doubt, although the ledger has no outcome
        // yet.
        let isUnrecorded = session.pending.outcomes.isUnrecorded(index) && !breaks(.resendsUnrecorded)
        if session.targets.inFlight.contains(index) {
          var history = record.history
          history.isWithheld = false
          session.targets.inFlight.renumber(index, attempt: record.attempt, history: history)
        }
        guard !session.targets.inFlight.contains(index), !isUnrecorded, !known.contains(index) else { continue }
        if let outcome = record.withheld {
          session.targets.decisions.record(GrantDecision(withheldAs: outcome), index, of: session.targets.count ?? 0)
        }
        var history = record.history
        history.isWithheld = false
        found.append(.init(index: index, attempt: record.attempt, history: history))
      }
    }
    session.doubt.targets += found
    session.journal.record(found: found.filter { $0.attempt > 0 }, at: EventLoop.now)
    return true
  }

  /// Sends targets in doubt again, or records them as unknown. The field `ambiguity` of the campaign decides.
  func resend(_ session: SliceSession, _ count: Int) async throws {
    let targets = Array(session.doubt.targets.prefix(count))
    let resends = session.context.campaign.delivery.ambiguity == .resend
    // An earlier owner may have sent its granted targets, except withheld ones.
    let sent = session.doubt.isInherited && resends ? targets.map { resent($0, of: session) } : targets
    // Allocates the credit before the first suspension, because other slices get credit during a suspension.
    credit.assign(count, to: session)
    session.context.spend(count)
    var spent = 0
    defer { session.context.reconcile(spent: count, sent: spent) }
    // Redis checks the targets after this time. The check counts as their grant.
    let start = now
    do {
      try await session.load(targets.map(\.index))
      if resends || !session.doubt.isInherited {
        try await session.regrant(targets.map(\.index))
      }
    } catch {
      credit.giveBack(count, of: session)
      throw error
    }
    // While the targets were read, the worker may have lost the slice and dropped the targets in doubt.
    guard session.doubt.targets.starts(with: targets) else { return credit.giveBack(count, of: session) }
    session.doubt.targets.removeFirst(count)
    spent = count
    if session.doubt.isInherited, !resends {
      for target in targets { giveUp(session, target) }
      session.context.returnPermits(count)
      return
    }
    if session.doubt.isInherited {
      session.doubt.resent += count
      figures.totals.resent += count
    }
    try await sender.send(session, sent, grantedAt: start)
  }

  /// Returns a target in doubt, marked as ambiguous (sent and not answered), because an earlier owner of the slice may
  /// have sent it. A withheld target is not marked.
  private func resent(_ target: GrantedTarget, of session: SliceSession) -> GrantedTarget {
    var target = target
    if session.targets.decisions[target.index].withheld == nil { target.history.isAmbiguous = true }
    return target
  }

  /// Records the outcome `unknown` for a target in doubt, because the push may have been delivered. A withheld target
  /// gets the outcome of its decision instead. The caller has allocated the credit of the target.
  private func giveUp(_ session: SliceSession, _ target: GrantedTarget) {
    var record = LedgerRecord(state: .granted, attempt: target.attempt, history: target.history)
    record.finish(session.targets.decisions[target.index].withheld ?? .unknown, at: now)
    recorder.append(
      DeferredAnswer(index: target.index, record: record, tokenAction: .keep, timestamp: 0), to: session,
      tokenAction: .keep)
    session.pending.outcomes.markUnrecorded(target.index)
  }

  // MARK: Passing over

  /// Queues outcomes for the next targets that can't be sent, because their deadline has passed or they are in quiet
  /// hours. If Redis gets an outcome of a target that is not granted, it records the grant too. This step therefore
  /// needs no grant, and ignores rate, guard trial and window.
  func skip(_ session: SliceSession, _ count: Int) async throws {
    let indexes = session.claim.granted..<session.claim.granted + count
    try await session.load(indexes)
    // While the targets were read, an answer may have arrived, or the slice was lost or paused. A later step then tries
    // again.
    guard session.intent == .send, session.pending.outcomes.count == 0, !session.claim.mustReconcile,
      !session.claim.mustReplay
    else { return }
    credit.assign(count, to: session)
    session.claim.granted = indexes.upperBound
    for index in indexes {
      session.targets.inFlight.begin(index, attempt: 0, history: AttemptHistory(), grantedAt: now)
      recorder.recordUnsent(session, index, session.decision(of: index, now: Int(now)))
    }
  }

  // MARK: Bisecting

  /// Continues the search for the poison target.
  func bisect(_ session: SliceSession) async throws {
    guard var search = session.doubt.bisection else { return }
    switch search.next() {
    case .attempt(let targets):
      guard let first = targets.first, let last = targets.last else { return }
      guard try await session.ledger.bisect(first.index...last.index) else {
        return recorder.stopSending(session, .lost)
      }
      session.doubt.targets = Array(targets)
      session.doubt.deferred.removeAll { target in targets.contains { $0.index == target.index } }
      session.doubt.bisection = search
    case .deadLetter(let target):
      try await deadLetter(session, target)
      session.doubt.deferred.removeAll { $0.index == target.index }
      credit.assign(1, to: session)
      giveUp(session, target)
      log.write(.poison(slice: session.slice, index: target.index))
      session.doubt.bisection = search
    case .end: try await endBisection(session)
    }
  }

  /// Ends the search. The targets that were not part of the last step are then handled like all targets in doubt.
  private func endBisection(_ session: SliceSession) async throws {
    guard try await session.ledger.bisect(nil) else { return recorder.stopSending(session, .lost) }
    session.doubt.endBisection()
  }

  /// Returns the payload of a target; `nil` if all targets get the same payload.
  private func payload(
    of chunk: TargetChunk, _ position: Int, badge: Int?, _ context: CampaignContext
  ) -> [UInt8]? {
    guard let content = context.campaign.message.content else { return nil }
    var batch = context.composers.standard.batch(isUnproven: false, capacity: 1, now: Int(now / 1000))
    var values = chunk.values(position)
    values.badge = badge
    guard batch.append(chunk.token(position), values, tag: 0, by: context.composers.standard),
      let push = batch.pushes.first
    else {
      return nil
    }
    var payload: [UInt8] = []
    _ = content.write(values, id: push.id, most: .max, to: &payload)
    return payload
  }

  /// Puts a target on the dead list, as a separate job. This happens before its outcome is recorded. If this worker
  /// dies in between, the target may be on the list twice, but is never missing.
  private func deadLetter(_ session: SliceSession, _ target: GrantedTarget) async throws {
    try await session.load([target.index])
    guard let (chunk, position) = session.targets.inFlight.place(of: target.index) else { return }
    guard let token = DeviceToken(bytes: chunk.token(position)) else { return }
    let slice = session.slice
    let user = String(decoding: chunk.user(position), as: UTF8.self)
    let (whole, service) = (session.context.facts.job, session.context.facts.channel.service)
    let payload = payload(
      of: chunk, position, badge: session.targets.decisions[target.index].badge, session.context)
    let job = try await LargeJobThread.read(whole.count) {
      Result { () throws(JSONSyntaxError) in
        try CampaignJob.forSingleDevice(
          whole, token: service.text(of: token), of: user, suffix: "\(slice.partition).\(target.index)",
          payload: payload, for: service)
      }
    }.get()
    try await sharedStore.queue.deadLetter(
      job, reason: "target \(target.index) of slice \(slice) killed every worker that sent it",
      hint: "find the cause in the workers' logs; `carillon dead retry` sends it as a separate campaign",
      worker: environment.configuration.name, user: user)
  }
}
