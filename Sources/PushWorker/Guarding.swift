import CampaignStore
import EventLoop
import PushCore

/// What keeps a campaign from erasing the device base: prunes and quarantines wait until its answers look sane.
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
    // Each knows of its own answers at least.
    let (own, fleet) = (holders[fullest].guard.counts, holders[fullest].probe.answer?.counts ?? GuardCounts())
    if holders[fullest].guard.decide(on: own.answers > fleet.answers ? own : fleet) { decided.append(holders[fullest]) }
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
        context.campaign.id, minimum: context.guard.policy.minimum, lease: configuration.lease, wanted: question.wanted,
        news: question.news, returned: question.returned)
      context.probe.take(answer, to: question, now: EventLoop.now)
      if context.guard.judge(answer.counts) {
        decided.append(context)
        followGuards()
      }
    } catch {
      context.probe.take(nil, to: question, now: EventLoop.now)
      report("could not ask what campaign \(context.campaign.id) may send", error)
    }
    wakeSlices()
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
  /// go of before the guard has decided: whoever paused the campaign may know why.
  func release(_ run: SliceRun) {
    let guarding = run.context.guard
    let isSpared = guarding.tripReason != nil || guarding.isProbing && run.intent != .send && !isStopping
    for answer in run.held {
      append(answer, to: run, fate: isSpared ? .keep : answer.fate)
      run.end(answer.index)
    }
    run.held = []
  }

  /// Whether a campaign that is active was paused by this worker before, so that somebody must have resumed it. If its
  /// guard has tripped and the pause did not get through, it is paused once more.
  func wasResumed(_ context: CampaignContext) -> Bool {
    guard !pausing.contains(context.campaign.id) else { return false }
    if !context.isPaused, let reason = context.guard.tripReason { pauseCampaign(context.campaign.id, reason) }
    return context.isPaused
  }
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
