import CampaignStore
import PushCore

/// Closes slices, and adds their counts to their campaigns.
struct SliceCloser: WorkerPart {
  let environment: WorkerEnvironment
  let campaigns: CampaignTable
  let feedback: FeedbackDelivery
  let returns: SliceReturn
  let figures: WorkerFigures

  /// Closes a slice in Redis, and adds the counts of its outcomes to its campaign.
  ///
  /// - Returns: `false` if Redis has targets without an outcome, although this worker has recorded all outcomes.
  func end(_ ledger: SliceLedger, _ context: CampaignContext, _ closing: Closing) async throws -> Bool {
    let counters: SliceCounters
    switch try await ledger.close(
      closing, variantLanguages: context.campaign.message.content?.variantLanguages, results: context.campaign.results)
    {
    case .closed(let final): counters = final
    case .unfinished: return false
    case .stale:
      log.write(.lost(slice: ledger.slice))
      try await returns.postpone(ledger.slice)
      return true
    }
    recordEnd(of: ledger.slice, counters)
    let lane = Lane.allCases[context.facts.account.lane]
    let state = try await sharedStore.slices.finish(
      ledger.slice, counters: counters, lane: lane, worker: environment.configuration.name)
    await recordCount(of: ledger.slice.campaign, state)
    return true
  }

  /// Records that a slice is closed. This happens before its counts are added to its campaign.
  func recordEnd(of slice: SliceReference, _ counters: SliceCounters) {
    crashPoint(.closed)
    figures.totals.slices += 1
    log.write(.closed(slice: slice, targets: counters.targets))
    if counters.pruned + counters.quarantined > 0 { feedback.add(prunesIn: slice.partition) }
  }

  /// Records that the counts of slices were added to their campaign.
  ///
  /// - Parameter state: The state of the campaign, if these slices ended it.
  func recordCount(of campaign: String, _ state: CampaignState?) async {
    if let state {
      campaigns.drop(campaign)
      log.write(.ended(campaign: campaign, state: state))
      let whole = CampaignID(campaign).whole
      let record = try? await sharedStore.campaigns.find(whole)
      if whole != campaign, let record, record.state.isFinal {
        log.write(.ended(campaign: whole, state: record.state))
      }
      // If several parts end together, only the last one logs the event.
      let last = record?.parts.max { ($0.times.finishedAt ?? 0, $0.id) < ($1.times.finishedAt ?? 0, $1.id) }
      if let reason = record?.noUserReason, last?.id ?? campaign == campaign {
        log.write(.reachedNoUser(campaign: whole, reason: reason))
      }
    }
    if state != nil || feedback.isDue { await feedback.deliver() }
  }
}
