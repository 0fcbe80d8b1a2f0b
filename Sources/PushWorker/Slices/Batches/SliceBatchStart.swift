import CampaignStore
import EventLoop
import PushCore

/// Claims and expands the slices of a batch, then passes them to ``SliceBatchSeal``.
struct SliceBatchStart: WorkerPart {
  let environment: WorkerEnvironment
  let slices: SliceTable
  let campaigns: CampaignTable
  let reader: CampaignReader
  let claimer: SliceClaimer
  let release: SliceRelease
  let runner: SliceRunner
  let follower: CampaignFollower
  let failover: FailoverService
  let seals: SliceBatchSeal

  /// Claims, expands and seals slices, and sends their granted targets.
  ///
  /// - Returns: The batch of sealed slices; `nil` if the worker handles the slices one by one.
  func claim(
    _ references: [SliceReference], _ group: inout DiscardingTaskGroup
  ) async throws -> RunningBatch? {
    var left = Set(references)
    var sessions: [Int: SliceSession] = [:]
    do {
      let epoch = campaigns.epoch
      guard let context = try await reader.plainContext(of: references[0].campaign) else {
        for reference in references { loop.start(in: &group) { await self.runner.work(on: reference) } }
        return nil
      }
      let ledgers = references.map {
        SliceLedger(
          store: store, slice: $0, lease: environment.configuration.lease, app: context.campaign.app,
          service: context.facts.channel.service, rules: context.facts.rules, parts: context.facts.expansion.parts)
      }
      // The expansion uses only the present connection. This worker therefore can't seal the targets after a failover
      // in which Redis has lost the claims.
      let expanding = store.pinned()
      var expansion = SliceBatch(
        ledgers, store: expanding, of: context.campaign,
        filter: context.facts.expansion.filter,
        quotas: context.progress.expansion.quotas,
        now: Int(now))
      var batch = RunningBatch(context: context)
      let number = slices.nextBatch()
      let claimedAt = EventLoop.now
      let claims = try await expansion.claim(
        worker: environment.configuration.name, gracePeriod: failover.takeoverGrace)
      for (position, claim) in claims.enumerated() {
        let reference = references[position]
        switch claim {
        case .success(.claimed(let progress)):
          let session = claimer.createSession(ledgers[position], context, progress, at: claimedAt, expanding: expanding)
          if progress.isSealed {
            left.remove(reference)
            loop.start(in: &group) { await self.runner.work(apart: session) }
          } else {
            session.join(number, batch.signal)
            sessions[position] = session
          }
        case .success(.held), .success(.finished):
          left.remove(reference)
          loop.start(in: &group) { await self.runner.work(on: reference) }
        case .failure(let error):
          left.remove(reference)
          await runner.drop(reference, error)
        }
      }
      // After the state was read, an operator may have paused or cancelled the campaign. The worker may already have
      // reported the control epoch of this change as applied.
      if campaigns.epoch != epoch { try await follower.follow() }
      let positions = sessions.keys.sorted()
      for (position, result) in zip(positions, try await expansion.expand(positions)) {
        guard let session = sessions[position] else { continue }
        switch result {
        case .success(_?): continue
        case .success(nil):
          session.leaveBatch()
          loop.start(in: &group) { await self.runner.work(apart: session) }
        case .failure(let error):
          release.discard(session)
          await runner.drop(session.slice, error)
        }
        left.remove(session.slice)
        sessions[position] = nil
      }
      left.subtract(sessions.values.map(\.slice))
      await seals.seal(sessions, expansion, into: &batch, &group)
      return batch
    } catch {
      for session in sessions.values where left.contains(session.slice) { release.discard(session) }
      for reference in left { slices.drop(reference) }
      throw error
    }
  }
}
