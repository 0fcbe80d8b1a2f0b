import Glibc
import TestSupport

/// Workers that stall and continue, as on an overloaded or suspended machine, and workers that share a name.
enum StandstillCases {
  static let all = [stopped, twins]

  /// Lease of every worker in ms.
  static let lease = 6000

  static let stopped = FaultCase(
    "sigstop", faults: ["SIGSTOP for three leases, then SIGCONT"],
    invariant: "answers of the stale owner count; it sends nothing new", bound: "window × stops"
  ) { stage in
    let world = try await stage.world {
      // When a frozen worker continues, the remaining worker must hold its slices. So there are enough targets to last
      // until then, but few enough for the remaining worker to finish its own slices first.
      $0.devices = stage.times(short: 1500, full: 3000)
      $0.simulator = ["--latency", "300ms"]
      $0.timesTakeovers = true
    }
    let fleet = try await Fleet(stage, world, size: 3)
    for number in 1...stage.times(short: 1, full: 5) {
      let campaign = try await world.submit(FaultCampaign("stop-\(number)"), reaching: stage.random(20...200))
      // Only workers that hold slices are frozen, because others can make no mistake when they continue. At least one
      // worker remains to take over.
      let asleep = try await world.sending(among: fleet.workers.shuffled(by: stage)).prefix(2)
      for worker in asleep { worker.process.send(signal: SIGSTOP) }
      for worker in asleep { await world.takeovers.record(deathOf: worker.name) }
      await elapse(.milliseconds(stage.times(short: lease, full: 3 * lease)))
      // On a busy machine the takeover may be late. If a worker continued before it, the worker would still own its
      // slices, and the case would prove nothing.
      try await until("what they held is taken over", within: .seconds(60)) { await world.takeovers.waiting == 0 }
      for worker in asleep {
        worker.process.send(signal: SIGCONT)
        stage.fired("SIGSTOP for three leases, then SIGCONT", duplicates: worker.window)
      }
      try await world.ended(campaign)
      stage.expect(asleep.allSatisfy { $0.process.exit == nil }, "a frozen worker did not survive")
      try await stage.check(world)
    }
  }

  static let twins = FaultCase(
    "two-of-one-name", faults: [secondOfAName, killedAndReplaced],
    invariant: "only one worker of a name runs; every target has one outcome", bound: "window × kills"
  ) { stage in
    let world = try await stage.world {
      $0.devices = stage.times(short: 800, full: 3000)
      $0.simulator = ["--latency", "200ms"]
    }
    for number in 1...stage.times(short: 1, full: 5) {
      let first = try await world.worker("twin")
      let campaign = try await world.submit(FaultCampaign("twins-\(number)"), reaching: stage.random(50...300))
      let second = try await world.worker("twin", waits: false)
      if await second.ended() == .status(65) { stage.fired(secondOfAName) }
      if await world.kill(first) { stage.fired(killedAndReplaced, duplicates: first.window) }
      let next = try await world.worker("twin")
      try await stage.check(world, after: campaign)
      stage.expect(await next.terminate() == .status(0), "it did not stop")
    }
  }

  private static let secondOfAName = "a second worker of a name"
  private static let killedAndReplaced = "SIGKILL, then immediately another worker of the name"
}

extension Array {
  /// Returns the elements in a random order that depends on the stage's seed.
  func shuffled(by stage: Stage) -> [Element] {
    var rest = self
    return indices.map { _ in rest.remove(at: stage.random(0...(rest.count - 1))) }
  }
}
