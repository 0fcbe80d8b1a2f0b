import CampaignStore
import EventLoop
import PushCore

/// What keeps a campaign from erasing the device base: prunes and quarantines wait until its answers look sane.
///
/// A held answer is an answer: it is no longer unanswered. But its target stays under way and its credit lent until it
/// is recorded, so should the worker die it is in doubt like any other.
extension PushWorker {
  /// Answers held back at most, over all campaigns; the rest of the window goes on earning answers, so that nothing
  /// waits for ever.
  private var holdingLimit: Int { GuardPolicy.holdingLimit(window: configuration.window) }

  /// Keeps an answer until its campaign's guard has decided.
  func hold(_ answer: HeldAnswer, of run: SliceRun) {
    run.held.append(answer)
    let held = slots.compactMap { $0 }.filter { !$0.held.isEmpty }
    guard held.reduce(0, { $0 + $1.held.count }) >= holdingLimit else { return }
    // Several campaigns probe at once, and no more can be held: the one that holds most has the most to go by.
    var counts: [ObjectIdentifier: Int] = [:]
    for run in held { counts[ObjectIdentifier(run.context), default: 0] += run.held.count }
    let fullest = held.max { counts[ObjectIdentifier($0.context)] ?? 0 < counts[ObjectIdentifier($1.context)] ?? 0 }
    if let context = fullest?.context, context.guard.decide() { decided.append(context) }
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

  /// Records what a slice holds back: with what it does to the devices, unless the guard has tripped.
  func release(_ run: SliceRun) {
    let isTripped = run.context.guard.tripReason != nil
    for answer in run.held {
      append(answer, to: run, fate: isTripped ? .keep : answer.fate)
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
