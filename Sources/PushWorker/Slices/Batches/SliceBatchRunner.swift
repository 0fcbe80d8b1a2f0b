import CampaignStore

/// A batch of slices of one campaign, driven by one task.
struct RunningBatch {
  let context: CampaignContext
  let signal = LoopSignal()
  var sessions: [SliceSession] = []
}

/// Runs batches of slices of one campaign. Each slice has few targets, so one round trip can run a step of all slices
/// together. A slice with an unusual next step leaves its batch and continues in a separate task.
struct SliceBatchRunner: WorkerPart {
  let environment: WorkerEnvironment
  let runner: SliceRunner
  let start: SliceBatchStart
  let driver: SliceBatchDriver
  let failover: FailoverService
  let damage: DamageIsolator

  /// Works on slices of one campaign until each is finished, parked (released until a later time), given back or lost.
  func work(on references: [SliceReference]) async {
    guard references.count > 1 else {
      if let reference = references.first { await runner.work(on: reference) }
      return
    }
    await loop.withGroup { group in await self.work(on: references, &group) }
    wakeClaims()
  }

  private func work(on references: [SliceReference], _ group: inout DiscardingTaskGroup) async {
    guard !references.contains(where: failover.mustReplay) else {
      for reference in references { loop.start(in: &group) { await self.runner.work(on: reference) } }
      return
    }
    do {
      if var batch = try await start.claim(references, &group) { await driver.drive(&batch, &group) }
    } catch {
      // The references stay in the worker's list, and the leases expire. Another worker then takes the slices over.
      log.report("slices of campaign \(references[0].campaign)", error)
      await damage.repair(error)
    }
  }
}
