import CampaignStore
import EventLoop
import PushCore
import PushTransport

/// Records the results of targets: an outcome, or that a target is granted again later. Also takes back pushes that no
/// connection has taken.
struct TargetRecorder: WorkerPart {
  let environment: WorkerEnvironment
  let credit: CreditLedger

  /// Records a final answer, with its effect on the device.
  func append(_ answer: DeferredAnswer, to session: SliceSession, tokenAction: Disposition.TokenAction) {
    let index = answer.index
    var record = answer.record
    if session.context.hasVariants { record.variant = session.variant(of: index) }
    let tally = session.context.facts.tally
    if case .terminal(let outcome) = record.state { tally.count(outcome) }
    let results = session.context.campaign.results
    let keepsResult = results == .all || results == .failures && record.state != .terminal(.accepted)
    guard keepsResult || tokenAction != .keep || record.reason == .other,
      let (chunk, position) = session.targets.inFlight.place(of: index)
    else {
      session.pending.outcomes.record(EventLoop.now) { $0.append(record, at: index) }
      return
    }
    let action: OutcomeBatch.Action =
      switch tokenAction {
      case .keep: .none
      case .prune: .prune
      case .quarantine: .quarantine
      }
    if tokenAction == .prune { tally.prunes += 1 }
    if tokenAction == .quarantine { tally.quarantines += 1 }
    session.pending.outcomes.record(EventLoop.now) { batch in
      batch.append(
        record, at: index, action: action, token: chunk.token(position), user: chunk.user(position),
        timestamp: answer.timestamp, keepsResult: keepsResult,
        unknownReason: answer.unknownReason ?? "")
    }
  }

  /// Records a granted target that is not sent now: with an outcome, or for a later grant.
  ///
  /// - Parameter milliseconds: Time until it may be granted again.
  func recordUnsent(
    _ session: SliceSession, _ index: Int, _ outcome: Outcome?, reason: ReasonCode = .none,
    after milliseconds: Int = 0
  ) {
    let (attempt, history) = session.targets.inFlight.attempt(of: index)
    var record = LedgerRecord(
      state: .waiting, attempt: attempt, history: history, reason: reason, at: UInt64(max(0, milliseconds)))
    defer { session.end(index) }
    if let outcome {
      // An earlier attempt may have been delivered, whatever prevents sending now.
      record.finish(history.isAmbiguous ? .unknown : outcome, at: now)
      append(
        DeferredAnswer(index: index, record: record, tokenAction: .keep, timestamp: 0), to: session, tokenAction: .keep)
    } else if session.intent == .lost {
      credit.giveBack(1, of: session)
    } else {
      session.pending.outcomes.record(EventLoop.now) { $0.append(record, at: index) }
    }
  }

  /// Records a target in flight that is not sent now.
  func recordUnsent(_ session: SliceSession, _ index: Int, _ decision: SliceTimes.Decision) {
    switch decision {
    case .expire: recordUnsent(session, index, .expired)
    case .send: recordUnsent(session, index, nil)
    case .hold(let milliseconds): recordUnsent(session, index, nil, after: milliseconds)
    }
  }

  // MARK: Taking back

  /// Records pushes that no connection has taken, with an outcome or for a later grant. These pushes were certainly not
  /// sent.
  func recordReturned(_ session: SliceSession, _ tags: [UInt64], as outcome: Outcome? = nil) {
    session.context.returnPermits(tags.count)
    for tag in tags {
      session.pending.unanswered -= 1
      recordUnsent(session, SliceTag.index(tag), outcome)
    }
  }

  /// Stops sending for a slice. Takes back and records the pushes that no connection has taken. Pushes that a
  /// connection has taken still get their answers.
  func stopSending(_ session: SliceSession, _ intent: SliceSituation.Intent) {
    guard session.stopSending(intent) else { return }
    returnBacklog(of: session)
    session.wake()
  }

  /// Takes back and records the pushes of a slice that no connection has taken.
  func returnBacklog(of session: SliceSession) {
    recordReturned(session, session.context.facts.route.pool.cancelBacklog(where: session.tag.matches))
  }
}
