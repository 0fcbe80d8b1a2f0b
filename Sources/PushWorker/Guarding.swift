import CampaignStore
import EventLoop
import PushCore

/// What keeps a campaign from erasing the device base: prunes and quarantines wait until its answers look sane.
///
/// What they are dropped for is mended by a person, so their targets are not lost: they wait, and are sent to again when
/// the campaign goes on.
///
/// A held answer is an answer: it is no longer unanswered. But its target stays under way and its credit lent until it
/// is recorded, so should the worker die it is in doubt like any other.
extension PushWorker {
  /// Keeps an answer until its campaign's guard has decided.
  func hold(_ answer: HeldAnswer, of run: SliceRun) {
    run.held.append(answer)
    var holders: [CampaignContext] = []
    var counts: [Int] = []
    for case let run? in slots where !run.held.isEmpty {
      if let position = holders.firstIndex(where: { $0 === run.context }) {
        counts[position] += run.held.count
      } else {
        holders.append(run.context)
        counts.append(run.held.count)
      }
    }
    guard let fullest = GuardPolicy.mustDecide(held: counts, window: configuration.window) else { return }
    if holders[fullest].guard.decide(on: known(of: holders[fullest])) { decided.append(holders[fullest]) }
  }

  /// Asks control for sends of campaigns whose guard has not decided, and tells it what was answered.
  func followProbes(_ now: UInt64) {
    for case let first? in slots where first.isReady && first.context.guard.isProbing && !first.context.probe.isAsking {
      let context = first.context
      var (wanted, unanswered, isHolding) = (0, 0, false)
      for case let run? in slots where run.context === context {
        if run.intent == .send, run.isReady { wanted += run.sendable(now) }
        unanswered += run.unanswered
        isHolding = isHolding || !run.held.isEmpty
      }
      let question = context.probe.question(
        wanted: min(wanted, budget.free), unanswered: unanswered, isHolding: isHolding, counts: context.guard.counts,
        minimum: context.guard.policy.minimum, now: now)
      // One task a round trip, not one a push.
      if let question { Task { await ask(question, context) } }
    }
  }

  private func ask(_ question: ProbeLease.Question, _ context: CampaignContext) async {
    do {
      let answer = try await control.probe(
        context.campaign.id, app: context.campaign.app, minimum: context.guard.policy.minimum,
        lease: configuration.lease, wanted: question.wanted, news: question.news, returned: question.returned,
        round: context.round)
      context.probe.take(answer, to: question, lease: lease, now: EventLoop.now)
      if let answer {
        if context.guard.judge(answer.counts) {
          decided.append(context)
          followGuards()
        }
      } else {
        leaveRound(of: context)
      }
    } catch {
      context.probe.take(nil, to: question, lease: lease, now: EventLoop.now)
      report("could not ask what campaign \(context.campaign.id) may send", error)
      return wakeSlices()
    }
    tellRest(of: context)
    wakeSlices()
  }

  /// Tells control of the last answers to a campaign too small to be decided on, when none of its slices is in hand any
  /// more: the guards of others go by them.
  func tellRest(of context: CampaignContext) {
    guard context.guard.isProbing, !context.isOutdated, !slots.contains(where: { $0?.context === context }),
      let question = context.probe.rest(counts: context.guard.counts, now: EventLoop.now)
    else { return }
    Task { await ask(question, context) }
  }

  /// Ends the waiting of a slice whose campaign's answers are too few to decide on: no more will come.
  func flush(_ run: SliceRun) {
    let context = run.context
    let app = context.probe.answer?.app ?? GuardCounts()
    if context.guard.judge(known(of: context), amongThoseOfItsApp: app) {
      decided.append(context)
      followGuards()
    } else {
      release(run)
    }
  }

  /// Follows the guards that have decided while one lot of answers was handled.
  func followGuards() {
    for context in decided {
      for run in slots {
        guard let run, run.context === context else { continue }
        release(run)
        if context.guard.tripReason != nil { withdraw(run, .leave) }
      }
      if let reason = context.guard.tripReason { pauseCampaign(context.campaign.id, reason) }
    }
    decided = []
  }

  /// Records what a slice holds back: with what it does to the devices, unless the guard has tripped, or the slice is let
  /// go of before the guard has decided: whoever paused the campaign may know why. A worker that stops goes by what it
  /// knows.
  func release(_ run: SliceRun) {
    let guarding = run.context.guard
    let isUndecided = guarding.isProbing && run.intent != .send
    let isPaused = !isStopping || run.context.isOutdated
    let isSpared =
      guarding.tripReason != nil || isUndecided && (isPaused || guarding.objection(to: known(of: run.context)) != nil)
    for answer in run.held {
      if isSpared, !breaks(.guardDeaf) { spare(answer, of: run) } else { append(answer, to: run, fate: answer.fate) }
      run.end(answer.index)
    }
    run.held = []
  }

  /// Leaves a device alone: it is sent to again when the campaign goes on, unless it doesn't.
  func spare(_ answer: HeldAnswer, of run: SliceRun) {
    switch run.intent {
    case .cancel: return append(answer, to: run, fate: .keep)
    // To its new owner it is in doubt, and stays so: an outcome would keep it from being sent to again.
    case .lost: return giveBack(1, of: run)
    case .send, .leave: break
    }
    var record = answer.record
    record.state = .waiting
    record.free = Self.counted(record.free)
    record.at = 0
    run.record(EventLoop.now) { $0.append(record, at: answer.index) }
  }

  /// The most that is known of a campaign's answers: of its own a worker always knows.
  private func known(of context: CampaignContext) -> GuardCounts {
    let (own, fleet) = (context.guard.counts, context.probe.answer?.counts ?? GuardCounts())
    return own.answers > fleet.answers ? own : fleet
  }

  /// Somebody has resumed the campaign since its slices in hand were claimed: what they were answered before may be the
  /// fault of what was mended meanwhile.
  func leaveRound(of context: CampaignContext) {
    context.isOutdated = true
    let id = context.campaign.id
    if contexts[id] === context { contexts[id] = nil }
    for case let run? in slots where run.context === context { withdraw(run, .leave) }
  }

  /// Pauses a campaign once more whose guard has tripped, where that did not get through.
  func insist(_ context: CampaignContext) {
    if let reason = context.guard.tripReason { pauseCampaign(context.campaign.id, reason) }
  }

  private var lease: UInt64 { UInt64(configuration.lease) * 1_000_000 }
}

/// A final answer that is not recorded yet, as it would touch the device.
struct HeldAnswer {
  var index: Int
  var record: LedgerRecord
  var fate: Disposition.TokenFate
  /// With 410: when APNs found the token dead, in ms since the epoch; 0 when absent.
  var timestamp: UInt64
  /// The text of a reason that ``PushCore/Reason`` doesn't know.
  var unknownReason: String?
}
