import CampaignStore
import EventLoop
import PushCore

/// Records the outcomes of slices in their ledgers and gets new targets granted. It also finds the targets in doubt, sends them
/// again, and searches for a target that kills its workers.
struct SliceCommitter: WorkerPart {
  let environment: WorkerEnvironment
  let credit: CreditLedger
  let recorder: TargetRecorder
  let sender: PushSender
  let failover: FailoverService
  let figures: WorkerFigures

  /// A commit that was written down, and of which Redis has not been heard yet.
  struct CommitUnderWay {
    var batch: OutcomeBatch
    var request: CommitRequest
    /// When it was written down, monotonic ns: its lease begins no earlier.
    let at: UInt64
    /// Lent to the slice for it.
    var credit: Int { request.credit }
  }

  func commit(_ session: SliceSession, credit asked: Int) async throws {
    var commit = beginCommit(session, credit: asked)
    let answer: CommitAnswer
    do {
      if commit.credit > 0, session.claim.granted < (session.targets.count ?? 0) {
        try await session.load(
          session.claim.granted..<min(session.claim.granted + commit.credit, (session.targets.count ?? 0)))
        commit.request.suspects = session.suspects(within: commit.credit)
      }
      answer = try await session.ledger.commit(&commit.batch, commit.request)
    } catch {
      failCommit(commit, of: session)
      throw error
    }
    try await endCommit(commit, of: session, answer)
    wakeSlices()
  }

  /// Takes the outcomes that are to be recorded, and lends the credit that is asked for with them.
  func beginCommit(_ session: SliceSession, credit asked: Int) -> CommitUnderWay {
    let batch = session.pending.outcomes.takeBatch(EventLoop.now)
    // After a lost reply Redis may have granted what we never heard of: first that is to be known.
    let lent = session.claim.mustReconcile ? 0 : asked
    credit.lend(lent, to: session)
    session.context.spend(lent)
    let now = EventLoop.now
    session.claim.renewAt = now + SliceSession.renewal(of: lease)
    return CommitUnderWay(
      batch: batch,
      request: CommitRequest(
        seal: session.claim.seal, standing: .acknowledged(session.claim.version), credit: lent,
        resent: session.doubt.resent, departures: session.targets.departed.number), at: now)
  }

  /// Nobody knows what became of a commit.
  func failCommit(_ commit: CommitUnderWay, of session: SliceSession) {
    session.context.reconcile(spent: commit.credit, sent: 0)
    // The outcomes are kept, and merging them twice does no harm. The credit is Redis' to know about.
    session.pending.outcomes.putBack(commit.batch)
    session.claim.uncertain += commit.credit
  }

  /// Takes note of what a commit brought, and sends what was granted.
  func endCommit(_ commit: CommitUnderWay, of session: SliceSession, _ answer: CommitAnswer) async throws {
    let (batch, lent, resent) = (commit.batch, commit.credit, commit.request.resent)
    var sent = 0
    defer { session.context.reconcile(spent: lent, sent: sent) }
    if !batch.isEmpty { crashPoint(.committed) }
    session.journal.note(batch, retries: answer.retries, at: EventLoop.now)
    session.pending.outcomes.markTold(batch)
    session.doubt.resent -= resent
    figures.totals.recorded += batch.count
    figures.totals.commits += 1
    credit.giveBack(batch.count, of: session)
    guard answer.isOwner || breaks(.fenceIgnored) else {
      credit.giveBack(lent, of: session)
      return await noteLostClaim(session)
    }
    // Pushes that wait for a connection are sent for as long as some claim of their pool holds.
    session.context.facts.route.maySend(until: commit.at + lease)
    let sealed = session.targets.count ?? 0
    // Under another seal there may be more of them: Redis has forgotten ours.
    guard !answer.isSealed || answer.granted <= sealed, answer.retries.allSatisfy({ $0.index < sealed }) else {
      credit.giveBack(lent, of: session)
      throw await store.repair.inspect(session.slice)
    }
    let expected = session.claim.version
    session.claim.version = answer.version.next
    let isRemembered =
      answer.isSealed && answer.granted >= session.claim.granted && answer.version.sequence >= expected.sequence
      && answer.version.replays == expected.replays
    guard isRemembered || breaks(.fenceIgnored) else {
      credit.giveBack(lent, of: session)
      // Redis has forgotten something, or was told by somebody else what it had forgotten.
      session.claim.mustReplay = true
      return session.wake()
    }
    let before = session.claim.granted
    session.claim.granted = answer.granted
    session.claim.waiting = answer.waiting
    session.claim.later = answer.later
    session.claim.nextRetry = answer.nextRetry.map { EventLoop.now + UInt64($0) * 1_000_000 }
    if session.claim.mustReconcile || answer.version != expected && !breaks(.fenceIgnored) {
      credit.giveBack(lent, of: session)
      // What Redis granted in a reply that was lost was never sent; what is left of an earlier owner's may have been.
      session.doubt.isInherited = session.doubt.isInherited && !(session.doubt.isEmpty)
      try await reconcile(session)
    } else {
      if session.claim.granted > before || !answer.retries.isEmpty { crashPoint(.granted) }
      sent = session.claim.granted - before + answer.retries.count
      if breaks(.creditIgnored) {
        session.claim.granted = min((session.targets.count ?? 0), session.claim.granted + 64)
      }
      credit.giveBack(lent - (session.claim.granted - before) - answer.retries.count, of: session)
      session.targets.decisions.note(answer.firstDecisions, from: before, of: sealed)
      for (index, decision) in answer.withheld { session.targets.decisions.note(decision, index, of: sealed) }
      for (target, decision) in zip(answer.retries, answer.retryDecisions) {
        session.targets.decisions.note(decision, target.index, of: sealed)
      }
      // In one call: who can't read targets gives back the credit of all of them.
      let targets = answer.retries + (before..<session.claim.granted).map { GrantedTarget(index: $0) }
      session.targets.departed.note(answer.departures)
      guard !targets.isEmpty else { return }
      do {
        try await session.check(targets, except: commit.request.suspects)
      } catch {
        // They are granted: whoever looks for what is in doubt finds them, and checks them again.
        credit.giveBack(targets.count, of: session)
        throw error
      }
      try await sender.send(session, targets)
    }
  }

  /// The claim does not hold any more.
  private func noteLostClaim(_ session: SliceSession) async {
    session.doubt.drop()
    // Redis may have forgotten a claim of a moment ago, and a seal with it.
    await failover.checkServer()
    if failover.isInGrace, session.intent != .lost {
      session.claim.mustReplay = true
      session.wake()
    } else {
      recorder.withdraw(session, .lost)
    }
  }

  /// Finds out which targets are in doubt; what Redis may have granted unheard is among them.
  func reconcile(_ session: SliceSession) async throws {
    session.claim.mustReconcile = true
    let isOurs = try await findDoubt(session)
    session.claim.mustReconcile = false
    credit.giveBack(session.claim.uncertain, of: session)
    session.claim.uncertain = 0
    if !isOurs { await noteLostClaim(session) }
  }

  /// Reads which targets are granted without an answer and not under way here.
  ///
  /// - Returns: false when the claim was lost: what is granted then may be another's, who is sending it.
  private func findDoubt(_ session: SliceSession) async throws -> Bool {
    var found: [GrantedTarget] = []
    let known = Set((session.doubt.targets + session.doubt.setAside).map(\.index))
    for first in stride(from: 0, to: session.claim.granted, by: TargetsUnderWay.chunkSize) {
      let (records, isOwner) = try await session.ledger.records(
        from: first, count: min(TargetsUnderWay.chunkSize, session.claim.granted - first))
      guard isOwner || breaks(.fenceIgnored) else { return false }
      for (offset, record) in records.enumerated() where record.state == .granted {
        let index = first + offset
        // What was answered while Redis could not be told is in no doubt, though the ledger does not know it yet.
        let isUnrecorded = session.pending.outcomes.isUntold(index) && !breaks(.resendsUnrecorded)
        if session.targets.underWay.contains(index) {
          var history = record.history
          history.isWithheld = false
          session.targets.underWay.renumber(index, attempt: record.attempt, history: history)
        }
        guard !session.targets.underWay.contains(index), !isUnrecorded, !known.contains(index) else { continue }
        if let outcome = record.withheld {
          session.targets.decisions.note(GrantDecision(withheldAs: outcome), index, of: session.targets.count ?? 0)
        }
        var history = record.history
        history.isWithheld = false
        found.append(.init(index: index, attempt: record.attempt, history: history))
      }
    }
    session.doubt.targets += found
    session.journal.note(OutcomeBatch(), retries: found.filter { $0.attempt > 0 }, at: EventLoop.now)
    return true
  }

  /// Sends targets in doubt again, or records that nobody knows, as the campaign wants it.
  func resend(_ session: SliceSession, _ count: Int) async throws {
    let targets = Array(session.doubt.targets.prefix(count))
    let resends = session.context.campaign.delivery.ambiguity == .resend
    // What an earlier owner was granted may have been sent, unless it was withheld.
    let sent = session.doubt.isInherited && resends ? targets.map { resent($0, of: session) } : targets
    // Before anything is waited for: meanwhile other slices are lent what is left.
    credit.lend(count, to: session)
    session.context.spend(count)
    var spent = 0
    defer { session.context.reconcile(spent: count, sent: spent) }
    do {
      try await session.load(targets.map(\.index))
      if resends || !session.doubt.isInherited {
        try await session.regrant(targets.map(\.index))
      }
    } catch {
      credit.giveBack(count, of: session)
      throw error
    }
    // While they were read the slice may have been lost, and with it what was in doubt.
    guard session.doubt.targets.starts(with: targets) else { return credit.giveBack(count, of: session) }
    session.doubt.targets.removeFirst(count)
    spent = count
    if session.doubt.isInherited, !resends {
      for target in targets { giveUp(session, target) }
      session.context.unspend(count)
      return
    }
    if session.doubt.isInherited {
      session.doubt.resent += count
      figures.totals.resent += count
    }
    try await sender.send(session, sent)
  }

  /// A target in doubt that is sent again: its earlier owner may have sent it, unless it was withheld.
  private func resent(_ target: GrantedTarget, of session: SliceSession) -> GrantedTarget {
    var target = target
    if session.targets.decisions[target.index].withheld == nil { target.history.isAmbiguous = true }
    return target
  }

  /// Records that a target in doubt may have been delivered, on credit that was lent for it. One that was withheld ends
  /// with its outcome.
  private func giveUp(_ session: SliceSession, _ target: GrantedTarget) {
    var record = LedgerRecord(state: .granted, attempt: target.attempt, history: target.history)
    record.finish(session.targets.decisions[target.index].withheld ?? .unknown, at: now)
    recorder.append(
      DeferredAnswer(index: target.index, record: record, fate: .keep, timestamp: 0), to: session, fate: .keep)
    session.pending.outcomes.markUntold(target.index)
  }

  // MARK: Passing over

  /// Queues what becomes of the targets that are next and can't be sent now: their time has passed, or it is a quiet one. Redis
  /// takes an outcome of what it has not granted for a grant that it has lost, so nothing is granted, and no rate, guard
  /// trial or window is asked.
  func passOver(_ session: SliceSession, _ count: Int) async throws {
    let indexes = session.claim.granted..<session.claim.granted + count
    try await session.load(indexes)
    // While they were read something may have been answered, or the slice have been lost or paused: another time then.
    guard session.intent == .send, session.pending.outcomes.count == 0, !session.claim.mustReconcile,
      !session.claim.mustReplay
    else { return }
    credit.lend(count, to: session)
    session.claim.granted = indexes.upperBound
    for index in indexes {
      session.targets.underWay.begin(index, attempt: 0, history: AttemptHistory())
      recorder.settle(session, index, session.fate(of: index, now: Int(now)))
    }
  }

  // MARK: Bisecting

  /// Goes on with the search for the target that kills its workers.
  func bisect(_ session: SliceSession) async throws {
    guard var search = session.doubt.bisection else { return }
    switch search.next() {
    case .attempt(let targets):
      guard let first = targets.first, let last = targets.last else { return }
      guard try await session.ledger.bisect(first.index...last.index) else { return recorder.withdraw(session, .lost) }
      session.doubt.targets = Array(targets)
      session.doubt.setAside.removeAll { target in targets.contains { $0.index == target.index } }
      session.doubt.bisection = search
    case .deadLetter(let target):
      try await deadLetter(session, target)
      session.doubt.setAside.removeAll { $0.index == target.index }
      credit.lend(1, to: session)
      giveUp(session, target)
      log.tell(.poison(slice: session.slice, index: target.index))
      session.doubt.bisection = search
    case .end: try await endBisection(session)
    }
  }

  /// Ends the search: what it had set aside goes the way of all that is in doubt.
  private func endBisection(_ session: SliceSession) async throws {
    guard try await session.ledger.bisect(nil) else { return recorder.withdraw(session, .lost) }
    session.doubt.endBisection()
  }

  /// What is sent to a target; `nil` where all are sent the same.
  private func payload(
    of chunk: TargetChunk, _ position: Int, badge: Int?, _ context: CampaignContext
  ) -> [UInt8]? {
    guard let content = context.campaign.message.content else { return nil }
    var batch = context.composers.standard.batch(isUnproven: false, capacity: 1)
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

  /// Puts a target on the dead list, as a job of its own. Before its outcome is recorded: should this worker die in
  /// between, it stands there twice, and not nowhere.
  private func deadLetter(_ session: SliceSession, _ target: GrantedTarget) async throws {
    try await session.load([target.index])
    guard let (chunk, position) = session.targets.underWay.place(of: target.index) else { return }
    guard let token = DeviceToken(bytes: chunk.token(position)) else { return }
    let slice = session.slice
    let job = try CampaignJob.alone(
      session.context.facts.job, token: session.context.facts.app.service.text(of: token),
      suffix: "\(slice.partition).\(target.index)",
      payload: payload(
        of: chunk, position, badge: session.targets.decisions[target.index].badge, session.context))
    try await sharedStore.queue.deadLetter(
      job, reason: "target \(target.index) of slice \(slice) killed every worker that sent it",
      hint: "find out why in the workers' logs; `carillon dead retry` sends it as a campaign of its own",
      worker: environment.configuration.name, user: String(decoding: chunk.user(position), as: UTF8.self))
  }
}
