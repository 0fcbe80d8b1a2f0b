import CampaignStore
import EventLoop
import PushCore
import PushTransport

/// Passes granted targets to the connections, in batches. This code runs for each push, so it uses only plain values.
final class PushSender: WorkerPart {
  let environment: WorkerEnvironment
  private let slices: SliceTable
  private let credit: CreditLedger
  private let recorder: TargetRecorder
  private let figures: WorkerFigures
  /// Maximum time in ns that a push waits for a connection if its payload contains the remaining lifetime. The payload
  /// is then up to this time too old, and the push service may deliver the push up to this time after its expiration.
  private static let backlogAge: UInt64 = 5_000_000_000
  /// Tokens that were rejected recently.
  private var rejected = RejectedTokens()

  init(
    _ environment: WorkerEnvironment, slices: SliceTable, credit: CreditLedger, recorder: TargetRecorder,
    figures: WorkerFigures
  ) {
    self.environment = environment
    self.slices = slices
    self.credit = credit
    self.recorder = recorder
    self.figures = figures
  }

  /// Loads granted targets and passes them to the connections.
  ///
  /// - Parameter grantedAt: a time at or before the grant of the targets, by Redis' clock in ms since the epoch.
  func send(_ session: SliceSession, _ targets: [GrantedTarget], grantedAt: UInt64) async throws {
    do {
      try await session.load(targets.map(\.index))
    } catch {
      // The targets stay granted. The next search for targets in doubt finds and sends them.
      credit.giveBack(targets.count, of: session)
      throw error
    }
    let fresh = targets.filter { !session.targets.inFlight.contains($0.index) }
    for target in targets where session.targets.inFlight.contains(target.index) {
      session.targets.inFlight.renumber(target.index, attempt: target.attempt, history: target.history)
      credit.giveBack(1, of: session)
    }
    for target in fresh {
      session.targets.inFlight.begin(
        target.index, attempt: target.attempt, history: target.history, grantedAt: grantedAt)
    }
    session.context.returnPermits(targets.count - fresh.count)
    // While the targets were loaded, their deadline may have passed, or the slice may have been lost or paused.
    try submit(session, admit(session, settleWithheld(session, fresh.map(\.index))))
  }

  /// Records a token that the service has just rejected.
  func recordRejected(_ token: ArraySlice<UInt8>) { rejected.insert(token) }

  /// Records outcomes or retries for targets that must not be sent now.
  ///
  /// - Returns: The other targets.
  func admit(_ session: SliceSession, _ indexes: [Int]) -> [Int] {
    let now = Int(now)
    if session.targets.times == nil, session.intent == .send,
      session.context.schedule.deadline.map({ $0 * 1000 > now }) ?? true
    {
      return indexes
    }
    var admitted: [Int] = []
    admitted.reserveCapacity(indexes.count)
    for index in indexes {
      let decision = session.decision(of: index, now: now)
      if decision == .send, session.intent == .send {
        admitted.append(index)
      } else {
        recorder.recordUnsent(session, index, decision)
      }
    }
    session.context.returnPermits(indexes.count - admitted.count)
    return admitted
  }

  /// Records the outcomes of granted targets that are withheld.
  ///
  /// - Returns: The other targets.
  private func settleWithheld(_ session: SliceSession, _ indexes: [Int]) -> [Int] {
    guard !session.targets.decisions.isEmpty else { return indexes }
    var sent: [Int] = []
    sent.reserveCapacity(indexes.count)
    for index in indexes {
      if let outcome = session.targets.decisions[index].withheld {
        recorder.recordUnsent(session, index, outcome)
      } else {
        sent.append(index)
      }
    }
    session.context.returnPermits(indexes.count - sent.count)
    return sent
  }

  /// Passes targets that are marked as in flight to the connections.
  func submit(_ session: SliceSession, _ indexes: [Int]) throws {
    let context = session.context
    guard let times = session.targets.times, case .after = context.campaign.message.expiration else {
      return try submit(session, indexes, by: context.composers.standard)
    }
    // The indexes are in the order of their send times.
    var rest = indexes[...]
    while let first = rest.first {
      let expiration = times.expiration(of: first)
      let same = rest.prefix { times.expiration(of: $0) == expiration }
      rest = rest.dropFirst(same.count)
      let composer = expiration.map(context.composer(expiration:)) ?? context.composers.standard
      try submit(session, Array(same), by: composer)
    }
  }

  private func submit(_ session: SliceSession, _ indexes: [Int], by composer: any PushComposer) throws {
    if session.pending.unanswered == 0 { session.pending.composedAt = EventLoop.now }
    let seconds = Int(now / 1000)
    var batch = composer.batch(isUnproven: false, capacity: indexes.count, now: seconds)
    var unproven: PushBatch?
    var (tooLarge, erased): ([Int], [Int]) = ([], [])
    let isPersonal = session.context.facts.filter.isPersonal
    for index in indexes {
      guard let (chunk, position) = session.targets.inFlight.place(of: index), position < chunk.count else {
        throw StoreError(
          .mismatch,
          "slice \(session.slice) has no target \(index), although it was sealed with \(session.targets.count ?? 0)",
          hint: "Redis lost acknowledged writes; check its persistence settings")
      }
      guard !chunk.isErased(position) else {
        erased.append(index)
        continue
      }
      let token = chunk.token(position)
      crashPoint(sending: token)
      let tag = session.tag.tag(index)
      var values = isPersonal ? chunk.values(position) : nil
      if let badge = session.targets.decisions[index].badge {
        if values == nil { values = TargetValues.none }
        values?.badge = badge
      }
      let fits: Bool
      if isUnproven(index, of: session, token, user: chunk.user(position)) {
        if unproven == nil { unproven = composer.batch(isUnproven: true, capacity: indexes.count, now: seconds) }
        fits = unproven?.append(token, values, tag: tag, by: composer) ?? true
      } else {
        fits = batch.append(token, values, tag: tag, by: composer)
      }
      if !fits { tooLarge.append(index) }
    }
    session.context.returnPermits(tooLarge.count + erased.count)
    for index in erased { recorder.recordUnsent(session, index, .deviceGone) }
    for index in tooLarge { recorder.recordUnsent(session, index, .rejected, reason: .payloadTooLarge) }
    submit(session, batch)
    if let unproven { submit(session, unproven) }
    if !indexes.isEmpty { crashPoint(.sent) }
    if breaks(.acknowledgeFirst) { acknowledgeFirst(session, indexes) }
  }

  private func submit(_ session: SliceSession, _ batch: PushBatch) {
    guard !batch.pushes.isEmpty else { return }
    var batch = batch
    batch.flow = session.context.flow
    session.pending.unanswered += batch.pushes.count
    session.context.progress.addServed(batch.pushes.count)
    figures.totals.submitted += batch.pushes.count
    session.context.facts.tally.submitted += batch.pushes.count
    if !session.context.facts.route.pool.submit(batch, lane: session.context.facts.account.lane) {
      recorder.recordReturned(session, batch.pushes.map(\.tag))
    }
  }

  /// Returns whether a push uses the connection for unproven pushes (``PushBatch/isUnproven``). This is true in three
  /// cases: the job lists the token, the token was rejected recently, or an earlier attempt was not accepted. The third
  /// case includes retries after a 5xx or without an answer, which therefore use another connection than the first
  /// attempt. All other registered devices count as proven, although the worker does not know whether they have ever
  /// got a push.
  private func isUnproven(
    _ index: Int, of session: SliceSession, _ token: ArraySlice<UInt8>, user: ArraySlice<UInt8>
  ) -> Bool {
    if user.isEmpty { return session.context.campaign.channel == nil }
    return session.targets.inFlight.attempt(of: index).history.counted > 0 || rejected.contains(token)
  }

  /// Takes back pushes that no connection has taken, if their deadline has passed or their quiet hours have begun.
  func expireBacklogs() {
    let now = Int(now)
    for session in slices.sessions where session.pending.unanswered > 0 {
      let pool = session.context.facts.route.pool
      if session.targets.times != nil {
        let tag = session.tag
        let unsent = pool.cancelBacklog {
          tag.matches($0) && session.decision(of: SliceTag.index($0), now: now) != .send
        }
        guard !unsent.isEmpty else { continue }
        session.pending.unanswered -= unsent.count
        _ = admit(session, unsent.map(SliceTag.index))
      } else {
        guard let deadline = session.context.schedule.deadline, deadline * 1000 <= now else { continue }
        recorder.recordReturned(session, pool.cancelBacklog(where: session.tag.matches), as: .expired)
      }
      session.wake()
    }
  }

  /// Composes pushes again that no connection has taken for some seconds, if their payload contains the remaining
  /// lifetime.
  ///
  /// - Parameter clock: `EventLoop.now`.
  func renewBacklogs(_ clock: UInt64) {
    for session in slices.sessions where session.pending.unanswered > 0 && session.intent == .send {
      let context = session.context
      guard context.composers.standard.sendsLifetime, context.campaign.message.expiration.isTime,
        clock - session.pending.composedAt >= Self.backlogAge
      else { continue }
      session.pending.composedAt = clock
      let unsent = context.facts.route.pool.cancelBacklog(where: session.tag.matches)
      guard !unsent.isEmpty else { continue }
      session.pending.unanswered -= unsent.count
      // The pool returns the newest push first.
      let indexes = unsent.reversed().map(SliceTag.index)
      do {
        try submit(session, admit(session, indexes))
      } catch {
        for index in indexes where session.targets.inFlight.contains(index) {
          recorder.recordUnsent(session, index, nil)
        }
      }
    }
  }

  /// For a test with a deliberate fault: records pushes as accepted as soon as they are passed to the pool.
  private func acknowledgeFirst(_ session: SliceSession, _ indexes: [Int]) {
    for index in indexes where session.targets.inFlight.contains(index) {
      session.pending.unanswered -= 1
      recorder.recordUnsent(session, index, .accepted)
    }
  }
}
