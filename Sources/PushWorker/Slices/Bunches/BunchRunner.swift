import CampaignStore

/// Slices of one campaign that are driven together.
struct Bunch {
  let context: CampaignContext
  let signal = LoopSignal()
  var sessions: [SliceSession] = []
}

/// Takes slices of one campaign with few targets each through their lives together: one round trip for each step of all slices. A slice
/// with something out of the ordinary leaves its bunch and goes on by itself.
struct BunchRunner: WorkerPart {
  let environment: WorkerEnvironment
  let runner: SliceRunner
  let start: BunchStart
  let driver: BunchDriver
  let failover: FailoverService
  let damage: DamageIsolator

  /// Works on slices of one campaign until each is finished, parked, given back or lost.
  func work(on references: [SliceReference]) async {
    guard references.count > 1 else {
      if let reference = references.first { await runner.work(on: reference) }
      return
    }
    await loop.withGroup { group in await self.work(on: references, &group) }
    wakeClaims()
  }

  private func work(on references: [SliceReference], _ group: inout DiscardingTaskGroup) async {
    guard !references.contains(where: failover.mustTell) else {
      for reference in references { loop.start(in: &group) { await self.runner.work(on: reference) } }
      return
    }
    do {
      if var bunch = try await start.claim(references, &group) { await driver.drive(&bunch, &group) }
    } catch {
      // The references stay in our list and the leases run out: a takeover finds both.
      log.report("slices of campaign \(references[0].campaign)", error)
      await damage.mend(error)
    }
  }
}
